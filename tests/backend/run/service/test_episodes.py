"""A run keeps episodes of its evaluations and of training; whoever evaluates a past run can have them all."""

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from attract.runs.episodes import FOLDER, EpisodeStore, NewEpisode
from attract.schema.game_messages import GameFailed
from attract.schema.recorded_episode import EpisodeEntry, RecordedEpisode
from gateway_world import SMALL, WAIT_SECONDS, GatewayWorld, finished, gateway, kinds, start_run
from recorded_episodes import recorded

RETURNS = [4.0, 1.0, 9.0]


def kept(world: GatewayWorld, run_id: str, source: str) -> list[EpisodeEntry]:
    """Oldest first."""
    return [entry for entry in world.service.episodes.entries(run_id)[::-1] if entry.source == source]


async def test_evaluations_and_training_leave_their_best_worst_and_median(tmp_path: Path):
    async with gateway(tmp_path) as world, world.fleet(recorded=RETURNS, evaluation_return=3.0).joined():
        view = await world.start(
            total_steps=320,
            callbacks={"evaluation": {"every_steps": 64, "episodes": 6}},
            recording={"every_updates": 2},
            collection={**SMALL["collection"], "schedule": "sync"},
        )
        result = await finished(world)
        evaluated = kept(world, view.run_id, "evaluation")
        roles = [(entry.role, entry.episode_return) for entry in evaluated[:3]]
        # The evaluation's own median is 3: 4 is nearer to it than another 1.
        assert sorted(roles) == [("best", 9.0), ("median", 4.0), ("worst", 1.0)]
        assert {entry.policy_version for entry in evaluated} <= set(range(result.policy_version + 1))
        trained = kept(world, view.run_id, "training")
        # The run may end before the last lease of version 4 does.
        first = [entry for entry in trained if entry.policy_version != 4]
        assert [entry.policy_version for entry in first] == [0, 0, 0, 2, 2, 2]
        chosen = {(entry.role, entry.episode_return) for entry in first[:3]}
        assert chosen == {("best", 9.0), ("worst", 1.0), ("median", 4.0)}
        published = [entry for entry in kinds(world, "episode") if isinstance(entry, EpisodeEntry)]
        assert {entry.id for entry in published} == {entry.id for entry in (*evaluated, *trained)}
        episode = world.service.episodes.get(view.run_id, trained[0].id)
        reference = world.service.view(view.run_id).game_reference
        assert reference is not None
        assert (episode.run_id, episode.game_sha256) == (view.run_id, reference.sha256)
        listed = (await world.client.get(f"/api/runs/{view.run_id}/episodes")).json()
        assert [entry["id"] for entry in listed][:1] == [world.service.episodes.entries(view.run_id)[0].id]


async def test_a_run_that_keeps_nothing_asks_for_nothing(tmp_path: Path):
    async with gateway(tmp_path) as world, world.fleet(recorded=RETURNS).joined() as fleet:
        view = await world.start(
            total_steps=128,
            callbacks={"evaluation": {"every_steps": 64, "episodes": 6}},
            recording={"max_bytes": 0},
        )
        await finished(world)
        assert {lease.record for lease in fleet.leases} == {"none"}
        assert fleet.evaluated and not (world.runs_dir / view.run_id / FOLDER).exists()


async def test_who_asks_gets_every_episode_and_the_past_run_stays_as_it_is(tmp_path: Path):
    async with gateway(tmp_path) as world:
        run_id = await world.trained()
        taken: list[RecordedEpisode] = []
        async with world.fleet(recorded=[float(place) for place in range(20)]).joined() as fleet:
            view = await asyncio.wait_for(
                world.service.evaluate(run_id, episodes=6, take=taken.extend), WAIT_SECONDS
            )
            plain = await asyncio.wait_for(world.service.evaluate(run_id, episodes=6), WAIT_SECONDS)
        assert (view.episodes, plain.episodes) == (6, 6)
        assert sorted(episode.mean_return for episode in taken) == [0.0, 0.0, 1.0, 1.0, 2.0, 2.0]
        assert {episode.run_id for episode in taken} == {run_id} and taken[0].created_at
        asked = [lease.record for lease in fleet.leases if lease.purpose == "evaluate"]
        assert asked == ["all", "all", "none", "none"]
        assert not (world.runs_dir / run_id / FOLDER).exists()


async def test_a_failure_is_kept_and_its_report_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    add = EpisodeStore.add

    def add_slowly(store: EpisodeStore, episodes: Sequence[NewEpisode]) -> list[EpisodeEntry]:
        time.sleep(0.5)
        return add(store, episodes)

    # The run ends before its failure is on the disk.
    monkeypatch.setattr(EpisodeStore, "add", add_slowly)
    async with gateway(tmp_path) as world, world.fleet().joined() as fleet:
        fleet.failure = GameFailed(
            run_id="any",
            kind="throw",
            name="TypeError",
            text="boom 1",
            stack=None,
            worker_index=0,
            recorded=recorded(error="boom 1"),
        )
        view = await world.start(total_steps=128)
        await finished(world)
        (entry,) = kept(world, view.run_id, "failure")
        reports = [report for report in world.service.view(view.run_id).reports if report.kind == "throw"]
        assert [(report.episode_id, report.count) for report in reports] == [(entry.id, 2)]
        assert entry.error == "TypeError: boom 1"


async def test_a_resumed_run_with_another_build_keeps_the_older_one(tmp_path: Path):
    async with gateway(tmp_path) as world, world.fleet(recorded=RETURNS).joined():
        view = await world.start(total_steps=128)
        await finished(world)
        first = world.service.view(view.run_id).game_reference
        assert first is not None
        (tmp_path / "web" / "games" / "counting.js").write_text("export default 2;\n")
        await start_run(world.service, "", {"total_steps": 192}, run_id=view.run_id, resume=True)
        await finished(world)
        second = world.service.view(view.run_id).game_reference
        assert second is not None and second.sha256 != first.sha256
        builds = {
            world.service.episodes.get(view.run_id, entry.id).game_sha256
            for entry in world.service.episodes.entries(view.run_id)
        }
        assert first.sha256 in builds
    async with gateway(tmp_path) as world:
        entries = world.service.episodes.entries(view.run_id)
        oldest = world.service.episodes.get(view.run_id, entries[-1].id)
        assert oldest.game_sha256 == first.sha256
        served = await world.client.get(f"/games/{first.sha256}.js")
        assert (served.status_code, served.text) == (200, "export default 1;\n")
