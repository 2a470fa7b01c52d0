"""A run that goes on has its own settings and counters, and streams of its own."""

import asyncio
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from attract.errors import ConfigurationError
from attract.runs.metrics import MetricsStore
from attract.schema.philox import derive_seed
from attract.schema.spaces import DiscreteSpace
from gateway_world import GatewayWorld, finished, gateway, start_run, until_update
from socket_fleet import DESCRIPTION


async def test_D2_a_resumed_run_goes_on_with_its_own_settings_and_counters(tmp_path: Path):
    async with gateway(tmp_path) as world, world.fleet().joined():
        first = await world.start(total_steps=128)
        # A block that arrives with the last of a batch is part of it.
        earlier = await finished(world)
        view = await start_run(world.service, "", {"total_steps": 320}, run_id=first.run_id, resume=True)
        assert (view.run_id, view.game, view.seed) == (first.run_id, "counting", 1)
        assert view.settings["ppo"]["horizon"] == 8
        result = await finished(world)
        assert (earlier.updates, result.updates) == (2, 5)
        assert 128 <= earlier.agent_steps < 192 and 320 <= result.agent_steps < 384
        own = result.agent_steps - earlier.agent_steps
        assert result.steps_per_second == pytest.approx(own / result.wall_seconds)
        store = MetricsStore(world.runs_dir / first.run_id / "metrics.db")
        assert store.query("r", ["train/loss"]).series[0].values == [1.0, 2.0, 3.0, 4.0, 5.0]
        store.close()


async def test_D2_correctness_R1_no_two_starts_of_a_run_play_the_same_streams(tmp_path: Path):
    async with gateway(tmp_path) as world, world.fleet().joined() as fleet:
        first = await world.start(total_steps=128)
        await finished(world)
        for total_steps in (256, 384):
            more = {"total_steps": total_steps}
            await start_run(world.service, "", more, run_id=first.run_id, resume=True)
            await finished(world)
        seeds = list(dict.fromkeys(lease.seed for lease in fleet.leases if lease.purpose == "train"))
        assert seeds == [derive_seed(1, name) for name in ("run", "run/2.0", "run/4.0")]


async def test_C1_no_two_starts_of_a_run_give_leases_of_one_id(tmp_path: Path):
    # A browser outlives its server. It plays no lease of an id that it has played, and sends again what it
    # holds: with ids from 1 in each start, new leases lapsed unplayed, and an old block passed for a new one.
    async with gateway(tmp_path) as world, world.fleet().joined() as fleet:
        first = await world.start(total_steps=128)
        await finished(world)
        before = {lease.lease_id for lease in fleet.leases}
        fleet.leases.clear()
        await start_run(world.service, "", {"total_steps": 256}, run_id=first.run_id, resume=True)
        await finished(world)
        assert fleet.leases and before.isdisjoint(lease.lease_id for lease in fleet.leases)


async def test_D2_only_another_module_is_asked_again_what_it_is(tmp_path: Path):
    async with gateway(tmp_path) as world, world.fleet().joined() as fleet:
        first = await world.start(total_steps=128)
        await finished(world)
        assert fleet.num_described == 1
        again = {"run_id": first.run_id, "resume": True}
        await start_run(world.service, "", {"total_steps": 256}, **again)
        await finished(world)
        assert fleet.num_described == 1
        recorded = world.runs_dir / first.run_id / "game.json"
        document = json.loads(recorded.read_text())
        document["described_sha256"] = "0" * 64
        recorded.write_text(json.dumps(document))
        await start_run(world.service, "", {"total_steps": 384}, **again)
        result = await finished(world)
        assert (fleet.num_described, result.agent_steps) == (2, 384)
        sha256 = json.loads(recorded.read_text())["reference"]["sha256"]
        assert json.loads(recorded.read_text())["described_sha256"] == sha256


def hashes(folder: Path) -> dict[str, str]:
    """SHA-256 of every file of a run, and where its links lead."""
    return {
        str(path.relative_to(folder)): str(path.readlink())
        if path.is_symlink()
        else hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_symlink() or path.is_file()
    }


async def still_works(world: GatewayWorld, run_id: str) -> None:
    """The run is evaluated, exported and gone on with."""
    async with world.fleet().joined():
        assert (await world.service.evaluate(run_id, episodes=2)).policy_version == 2
        await world.service.export(run_id, str(world.runs_dir.parent / "out"))
        steps = world.service.view(run_id).agent_steps
        await start_run(world.service, "", {"total_steps": steps + 64}, run_id=run_id, resume=True)
        assert (await finished(world)).state == "finished"


OTHER_SETTINGS: list[tuple[dict[str, Any], str]] = [
    ({"algorithm": "dqn"}, "has ppo, asked for is dqn\n.*--initialize-from RUN"),
    ({"policy": {"cnn": "impala"}}, "policy.cnn: run RUN has small"),
    ({"ppo": {"normalize_observations": False}}, "normalize_observations"),
    ({"collection": {"seats": ["a", "b"]}}, "--initialize-from"),
]


async def test_D2_settings_that_the_checkpoint_does_not_fit_change_nothing_of_the_run(tmp_path: Path):
    async with gateway(tmp_path) as world:
        run_id = await world.trained(128)
        async with world.fleet().joined():
            before, lives = hashes(world.runs_dir / run_id), world.learner.lives
            for given, said in OTHER_SETTINGS:
                with pytest.raises(ConfigurationError, match=said.replace("RUN", run_id)):
                    await start_run(world.service, "", given, run_id=run_id, resume=True)
            assert hashes(world.runs_dir / run_id) == before
            assert world.learner.lives == lives
        await still_works(world, run_id)


async def test_D2_another_game_changes_nothing_of_the_run(tmp_path: Path):
    async with gateway(tmp_path) as world:
        run_id = await world.trained(128)
        async with world.fleet().joined() as fleet:
            before = hashes(world.runs_dir / run_id)
            (tmp_path / "web" / "games" / "other.js").write_text("export default 2;\n")
            fleet.description = DESCRIPTION.model_copy(update={"action": DiscreteSpace(n=3)})
            await start_run(world.service, "other", {}, run_id=run_id, resume=True)
            result = await finished(world)
            assert (result.state, result.refused) == ("failed", True)
            assert result.error is not None and "action" in result.error and run_id in result.error
            assert hashes(world.runs_dir / run_id) == before
        await still_works(world, run_id)


async def test_D2_a_resumed_run_that_cannot_begin_stays_what_it_was(tmp_path: Path):
    async with gateway(tmp_path) as world:
        run_id = await world.trained(128)
        async with world.fleet().joined():
            folder = world.runs_dir / run_id
            before = hashes(folder)
            (tmp_path / "web" / "games" / "counting.js").write_text("export default 2;\n")
            world.learner.fail_begin = world.learner.failure_is_final = True
            await start_run(world.service, "", {"total_steps": 999}, run_id=run_id, resume=True)
            assert (await finished(world)).state == "failed"
            world.learner.fail_begin = False
            # Only its logs, which say what was tried, are others.
            assert {name: value for name, value in hashes(folder).items() if not name.startswith("logs")} == {
                name: value for name, value in before.items() if not name.startswith("logs")
            }
        await still_works(world, run_id)


async def test_the_numbers_of_a_resumed_run_are_those_it_had_until_there_are_newer_ones(tmp_path: Path):
    async with gateway(tmp_path) as world:
        run_id = await world.trained(128)

        def numbers() -> tuple[Any, ...]:
            view = world.service.view(run_id)
            (row,) = world.service.catalogue.list().runs
            assert (row.updates, row.agent_steps, row.episode_return_mean) == (
                view.updates,
                view.agent_steps,
                view.episode_return_mean,
            )
            return (*view.model_dump(include=NUMBERS).values(), view.policy_version)

        before = numbers()
        assert before[0] == 128 and 10.0 in before
        for end in (world.service.stop, lambda _: world.service.abort()):
            # No browser comes: the learner alone gets ready.
            await start_run(world.service, "", {"total_steps": 999}, run_id=run_id, resume=True)
            assert numbers() == before
            await end(run_id)
            result = await finished(world)
            assert (result.agent_steps, result.steps_per_second) == (128, 0.0)
            assert numbers() == before
        async with world.fleet(episode_return=4.0).joined():
            await start_run(world.service, "", {"total_steps": 999}, run_id=run_id, resume=True)
            await asyncio.wait_for(until_update(world, 3), 20)
            assert numbers()[0] > 128
            await world.service.stop(run_id)


NUMBERS = {"agent_steps", "collected_steps", "updates", "episodes", "elapsed_seconds", "episode_return_mean"}
