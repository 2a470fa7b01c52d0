import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from attract.errors import ConfigurationError, RunActiveError, UnknownRunError
from attract.run.progress import RunResult
from attract.runs.directory import is_locked
from attract.runs.metrics import MetricsStore
from attract.schema import learner as ipc
from attract.schema.api import EvaluationView, GameReport, MetricsRow, PolicyView, RunView
from attract.schema.messages import GameFailed
from attract.schema.philox import derive_seed
from fake_learner import FakeLearner
from gateway_world import SMALL, GatewayWorld, gateway

WAIT_SECONDS = 20.0


async def finished(world: GatewayWorld) -> RunResult:
    return await asyncio.wait_for(world.service.wait_finished(), WAIT_SECONDS)


def trained(learner: FakeLearner) -> list[ipc.Train]:
    """Every order to train that it heard."""
    return [message for message in learner.heard if isinstance(message, ipc.Train)]


async def until_update(world: GatewayWorld, update: int) -> None:
    """Until that update's row was announced to pages."""
    reached = asyncio.Event()

    def hear(kind: str, body: Any) -> None:
        if isinstance(body, MetricsRow) and body.update >= update:
            reached.set()

    unsubscribe = world.service.subscribe(hear)
    await asyncio.wait_for(reached.wait(), WAIT_SECONDS)
    unsubscribe()


def kinds(world: GatewayWorld, kind: str) -> list[Any]:
    return [body for name, body in world.events if name == kind]


@pytest.mark.alone  # Two workers that are equally fast get equal leases.
async def test_a_run_trains_to_its_step_count_saves_exports_and_ends(tmp_path: Path):
    async with gateway(tmp_path) as world, world.fleet().joined() as fleet:
        view = await world.start(total_steps=320)
        result = await finished(world)
        # 2 workers x 4 instances x 8 steps = 64 steps an update, so 5 updates.
        assert (result.agent_steps, result.updates, result.policy_version) == (320, 5, 5)
        assert (result.state, result.goal_reached, result.episode_return_mean) == ("finished", False, 10.0)
        assert result.wall_seconds > 0
        assert result.steps_per_second == pytest.approx(320 / result.wall_seconds)
        run_dir = world.runs_dir / view.run_id
        assert (run_dir / "export" / "policy.onnx").read_bytes() == b"onnx 5"
        assert (run_dir / "latest").readlink() == Path("checkpoints/5")
        assert not is_locked(run_dir)
        assert list(run_dir.glob("events.out.tfevents.*"))
        assert isinstance(world.learner.heard[-1], ipc.Shutdown)
        assert fleet.runs_ended == [view.run_id]
        store = MetricsStore(run_dir / "metrics.db")
        metrics = store.query(view.run_id, ["rollout/ep_rew_mean", "train/loss"])
        series = metrics.series
        assert metrics.steps_of("train/loss") == [64.0, 128.0, 192.0, 256.0, 320.0]
        assert series[1].values == [1.0, 2.0, 3.0, 4.0, 5.0]
        assert series[0].values[-1] == 10.0
        store.close()


async def test_no_update_begins_after_the_one_that_reaches_the_step_count(tmp_path: Path):
    async with gateway(tmp_path) as world, world.fleet().joined() as fleet:
        world.learner.hold.clear()
        await world.start(total_steps=64)
        # Warm-up, first batch, and the second, full before the first update is done: 2 blocks each.
        async with asyncio.timeout(WAIT_SECONDS), fleet.changed:
            await fleet.changed.wait_for(lambda: len(fleet.accepted) >= 6)
        world.learner.hold.set()
        result = await finished(world)
        assert (result.updates, result.agent_steps) == (1, 64)


async def test_D1_a_run_whose_last_version_is_lost_with_its_learner_trains_it_anew(tmp_path: Path):
    async with gateway(tmp_path) as world, world.fleet().joined():
        world.learner.hold_disk.clear()
        await world.start(total_steps=64)
        await asyncio.wait_for(world.learner.holding.wait(), WAIT_SECONDS)
        await world.learner.die()
        world.learner.hold_disk.set()
        result = await finished(world)
        assert (result.state, result.policy_version, result.agent_steps) == ("finished", 1, 64)


async def test_D1_no_update_begins_while_the_goals_version_is_written(tmp_path: Path):
    async with gateway(tmp_path) as world, world.fleet().joined() as fleet:
        world.learner.hold_disk.clear()
        await world.start(total_steps=64)
        async with asyncio.timeout(WAIT_SECONDS), fleet.changed:
            await fleet.changed.wait_for(lambda: len(fleet.accepted) >= 6)
        await asyncio.wait_for(world.learner.holding.wait(), WAIT_SECONDS)
        await asyncio.sleep(0.2)
        assert world.service.active is not None and world.service.active.view().updates == 0, (
            "not before it is durable"
        )
        world.learner.hold_disk.set()
        assert (await finished(world)).updates == 1
        assert len(trained(world.learner)) == 1


async def test_P7_the_warm_up_is_not_counted_and_sets_the_statistics_first(tmp_path: Path):
    async with gateway(tmp_path) as world, world.fleet().joined():
        await world.start(total_steps=64)
        result = await finished(world)
        assert result.agent_steps == 64
        order = [type(message).__name__ for message in world.learner.heard]
        assert order[:3] == ["Begin", "Warmup", "Train"]
        warmup = next(message for message in world.learner.heard if isinstance(message, ipc.Warmup))
        assert len(warmup.rows) == 8  # 64 steps of 8 each


async def test_D1_a_version_reaches_workers_and_pages_only_when_its_row_is_committed(tmp_path: Path):
    async with gateway(tmp_path) as world, world.fleet().joined() as fleet:
        seen: list[tuple[int, int]] = []
        view = await world.start(total_steps=640)
        store = MetricsStore(world.runs_dir / view.run_id / "metrics.db")

        def hear(kind: str, body: Any) -> None:
            if isinstance(body, PolicyView):
                seen.append((body.policy_version, store.last_version() or 0))

        world.service.subscribe(hear)
        played: list[tuple[int, int]] = []

        class Policies(list[int]):
            def append(self, version: int) -> None:
                played.append((version, store.last_version() or 0))
                super().append(version)

        fleet.policies = Policies()
        await finished(world)
        store.close()
        assert len({version for version, _ in played}) >= 9
        assert all(committed >= version for version, committed in [*seen, *played])


async def test_the_goal_is_confirmed_by_an_evaluation_of_one_version(tmp_path: Path):
    async with gateway(tmp_path) as world, world.fleet(evaluation_return=9.5).joined() as fleet:
        await world.start(until_return=9.0)
        result = await finished(world)
        assert result.goal_reached
        assert result.episode_return_mean == 9.5
        assert len(set(fleet.evaluated)) == 1
        assert result.policy_version == fleet.evaluated[0]
        run_dir = world.runs_dir / result.run_id
        assert (run_dir / "best").readlink().name == str(result.policy_version)
        assert (run_dir / "export" / "policy.onnx").read_bytes() == b"onnx %d" % result.policy_version
        states = [view.state for view in kinds(world, "status")]
        assert states[-1] == "finished"
        assert "evaluating" in states


async def test_an_evaluation_that_falls_short_goes_on_training_and_tries_again(tmp_path: Path):
    async with gateway(tmp_path) as world, world.fleet(evaluation_return=1.0).joined() as fleet:
        await world.start(until_return=9.0)

        def hear(kind: str, body: Any) -> None:
            if len(set(fleet.evaluated)) == 3:
                fleet.evaluation_return = 10.0

        world.service.subscribe(hear)
        result = await finished(world)
        assert result.goal_reached
        evaluated = sorted(set(fleet.evaluated))
        assert len(evaluated) >= 3
        assert result.episode_return_mean == 10.0


async def test_a_goal_out_of_reach_ends_with_the_steps_and_says_so(tmp_path: Path):
    async with gateway(tmp_path) as world, world.fleet().joined():
        await world.start(until_return=475.0, total_steps=192)
        result = await finished(world)
        assert (result.state, result.goal_reached, result.agent_steps) == ("finished", False, 192)


async def test_stop_finishes_the_update_under_way_saves_and_exports(tmp_path: Path):
    async with gateway(tmp_path) as world, world.fleet().joined():
        view = await world.start()
        await until_update(world, 2)
        world.learner.hold.clear()
        await asyncio.wait_for(world.learner.holding.wait(), WAIT_SECONDS)
        stopping = asyncio.create_task(world.service.stop(view.run_id))
        await asyncio.sleep(0)
        assert not stopping.done()
        world.learner.hold.set()
        stopped = await asyncio.wait_for(stopping, WAIT_SECONDS)
        assert stopped.state == "stopped"
        assert stopped.updates == len(trained(world.learner)) == stopped.policy_version
        run_dir = world.runs_dir / view.run_id
        assert (run_dir / "export" / "policy.onnx").read_bytes() == b"onnx %d" % stopped.policy_version
        assert world.service.active is None


async def test_abort_ends_although_batches_fill_up(tmp_path: Path):
    async with gateway(tmp_path) as world, world.fleet().joined():
        await world.start(total_steps=10_000_000)
        await until_update(world, 2)
        # No batch may begin for a learner that is gone: nobody would end that update.
        await asyncio.wait_for(world.service.abort(), WAIT_SECONDS)
        assert world.service.active is None


async def test_abort_ends_at_once_even_within_a_stop_and_keeps_what_is_durable(tmp_path: Path):
    async with gateway(tmp_path) as world, world.fleet().joined():
        view = await world.start()
        await until_update(world, 2)
        world.learner.hold.clear()
        await asyncio.wait_for(world.learner.holding.wait(), WAIT_SECONDS)
        # The version before the update that waits may still be on its way to the disk.
        written = len(trained(world.learner)) - 1
        if world.service.view(view.run_id).updates < written:
            await until_update(world, written)
        stopping = asyncio.create_task(world.service.stop(view.run_id))
        await asyncio.sleep(0)
        await asyncio.wait_for(world.service.abort(), WAIT_SECONDS)
        stopped = await stopping
        assert stopped.state == "stopped"
        assert stopped.updates >= 2
        assert (world.runs_dir / view.run_id / "latest").readlink().name == str(stopped.policy_version)
        assert not (world.runs_dir / view.run_id / "export" / "policy.onnx").exists()
        assert not is_locked(world.runs_dir / view.run_id)


async def test_one_run_at_a_time(tmp_path: Path):
    async with gateway(tmp_path) as world:
        first = await world.start()
        with pytest.raises(RunActiveError, match=first.run_id):
            await world.start()
        await world.service.stop(first.run_id)
        with pytest.raises(UnknownRunError):
            await world.service.stop(first.run_id)
        second = await world.start()
        assert second.run_id != first.run_id


async def test_bad_settings_and_names_leave_nothing_behind(tmp_path: Path):
    async with gateway(tmp_path) as world:
        for game, settings, run_id in (
            ("countin", {}, None),
            ("counting", {"ppo": {"learning_rat": 1.0}}, None),
            ("counting", {}, "../out"),
        ):
            with pytest.raises(ConfigurationError):
                await world.service.start_run(game, settings, run_id=run_id)
        assert world.service.summaries() == []
        assert not world.runs_dir.exists() or not list(world.runs_dir.iterdir())
        assert world.learner.lives == 0
        await world.start()


async def test_a_failed_export_fails_the_run_and_keeps_what_was_trained(tmp_path: Path):
    learner = FakeLearner()
    learner.fail_export = True
    async with gateway(tmp_path, learner) as world, world.fleet().joined():
        view = await world.start(total_steps=128)
        result = await finished(world)
        assert (result.state, result.export, result.agent_steps) == ("failed", None, 128)
        assert result.error == "the export failed: C9: they disagree"
        assert not result.refused
        assert world.service.view(view.run_id).state == "failed"
        learner.fail_export = False
        await world.service.start_run("", {"total_steps": 192}, run_id=view.run_id, resume=True)
        assert (await finished(world)).state == "finished"


async def test_what_only_the_game_can_tell_is_refused_as_wrong_use(tmp_path: Path):
    for wrong in ({"parameters": {"sise": 3}}, {"collection": {**SMALL["collection"], "seats": ["a", "b"]}}):
        async with gateway(tmp_path) as world, world.fleet().joined():
            await world.start(**wrong)
            result = await finished(world)
            assert (result.state, result.refused, result.updates) == ("failed", True, 0)


async def test_what_cannot_be_leaves_no_run_and_starts_no_learner(tmp_path: Path):
    async with gateway(tmp_path) as world, world.fleet().joined():
        first = await world.start(total_steps=128)
        await finished(world)
        lives, start = world.learner.lives, world.service.start_run
        other = {**SMALL, "policy": {"hidden_sizes": [8]}}
        attempts = [
            start("counting", other, initialize_from=first.run_id),
            start("counting", SMALL, initialize_from="gone"),
            start("", {"total_steps": 128}, run_id="latest", resume=True),
            start("", {"policy": {"hidden_sizes": [8]}}, run_id=first.run_id, resume=True),
            start("counting", SMALL, run_id="latest"),
        ]
        for attempt in attempts:
            with pytest.raises(ConfigurationError):
                await attempt
        assert [path.name for path in world.runs_dir.iterdir() if path.is_dir()] == [first.run_id]
        assert world.learner.lives == lives


async def test_latest_works_wherever_a_run_id_does(tmp_path: Path):
    async with gateway(tmp_path) as world, world.fleet(evaluation_return=8.0).joined():
        with pytest.raises(ConfigurationError, match="there is no latest run"):
            await world.service.export("latest", str(tmp_path / "out"))
        first = await world.start(total_steps=128)
        await finished(world)
        assert (await world.service.evaluate("latest", episodes=5)).policy_version == 2
        exported = await world.service.export("latest", str(tmp_path / "out"))
        assert (tmp_path / "out" / "policy.onnx").read_bytes() == b"onnx %d" % exported
        view = await world.service.start_run("", {"total_steps": 192}, run_id="latest", resume=True)
        assert view.run_id == first.run_id
        assert (await finished(world)).agent_steps == 192
        second = await world.service.start_run(
            "counting", {**SMALL, "total_steps": 64}, initialize_from="latest"
        )
        assert second.run_id != first.run_id
        await finished(world)
        assert world.service.view("latest").run_id == second.run_id


async def test_a_host_that_waits_plays_the_next_run_and_the_one_after(tmp_path: Path):
    async with gateway(tmp_path) as world, world.fleet().joined() as fleet:
        await asyncio.wait_for(fleet.idle.wait(), WAIT_SECONDS)
        first = await world.start(total_steps=64)
        await finished(world)
        second = await world.start(total_steps=64)
        result = await finished(world)
        assert result.run_id == second.run_id
        assert fleet.runs_ended == [first.run_id, second.run_id]


async def test_a_dead_learner_is_replaced_and_sockets_outlive_it(tmp_path: Path):
    async with gateway(tmp_path) as world, world.fleet().joined() as fleet:
        await world.start(total_steps=640)
        await until_update(world, 2)
        await world.learner.die()
        result = await finished(world)
        # What was collected while there was no learner trains in one larger batch (S1).
        assert (result.agent_steps >= 640, result.updates >= 5, result.state) == (True, True, "finished")
        assert world.learner.lives == 2
        begins = [message for message in world.learner.heard if isinstance(message, ipc.Begin)]
        assert [begin.resume for begin in begins] == [False, True]
        assert fleet.refused == []
        store = MetricsStore(world.runs_dir / result.run_id / "metrics.db")
        (steps,) = store.query("r", ["time/total_timesteps"]).series
        assert steps.values == sorted(set(steps.values))
        assert steps.values[-1] == result.agent_steps
        assert store.last_update() == result.updates
        assert result.policy_version == result.updates
        store.close()


async def test_a_learner_that_cannot_begin_fails_the_run_with_its_words(tmp_path: Path):
    learner = FakeLearner()
    learner.fail_begin = True
    async with gateway(tmp_path, learner) as world, world.fleet().joined():
        view = await world.start()
        result = await finished(world)
        assert result.state == "failed"
        assert result.error is not None
        assert "no such thing" in result.error
        assert learner.lives == 3
        assert result.export is None
        # Where to look is said, and the learner's stack is there.
        logs = world.runs_dir / view.run_id / "logs"
        assert str(logs) in result.error
        kept = (logs / "gateway.log").read_text()
        assert "Traceback ..." in kept
        assert f"run {view.run_id} ends: failed" in kept.splitlines()[-1]
        assert world.service.view(view.run_id).state == "failed"


async def test_P8_three_undone_updates_in_a_row_pause_the_run(tmp_path: Path):
    learner = FakeLearner()
    async with gateway(tmp_path, learner) as world, world.fleet().joined():
        view = await world.start(total_steps=6400)
        await until_update(world, 1)
        learner.drop_updates = 3
        paused = asyncio.Event()

        def hear(kind: str, body: Any) -> None:
            if isinstance(body, RunView) and body.state == "paused":
                paused.set()

        world.service.subscribe(hear)
        await asyncio.wait_for(paused.wait(), WAIT_SECONDS)
        now = world.service.view(view.run_id)
        assert "3 updates" in (now.error or "")
        (report,) = kinds(world, "report")[-1:]
        assert (report.kind, report.count) == ("update", 3)
        await world.service.resume(view.run_id)
        await until_update(world, now.updates + 1)


async def test_pause_stops_the_training_and_resume_goes_on(tmp_path: Path):
    async with gateway(tmp_path) as world, world.fleet().joined():
        view = await world.start(total_steps=64_000)
        await until_update(world, 2)
        paused = await world.service.pause(view.run_id)
        assert paused.state == "paused"
        await world.service.resume(view.run_id)
        now = world.service.view(view.run_id)
        assert now.state == "running"
        await until_update(world, now.updates + 2)


BROKEN = GameFailed(
    run_id="set by the host",
    kind="load",
    name="SyntaxError",
    text="Unexpected token",
    stack="SyntaxError: Unexpected token\n at games/x.js:1:1",
)


async def test_a_game_that_cannot_be_loaded_fails_the_run_with_a_report(tmp_path: Path):
    async with gateway(tmp_path) as world, world.fleet(broken=BROKEN).joined():
        await world.start()
        result = await finished(world)
        assert result.state == "failed"
        assert "SyntaxError: Unexpected token" in (result.error or "")
        (report,) = kinds(world, "report")
        assert isinstance(report, GameReport)
        assert (report.kind, report.name, report.text) == ("load", "SyntaxError", "Unexpected token")


async def test_a_malformed_block_costs_its_sender_the_socket_and_the_run_nothing(tmp_path: Path):
    async with gateway(tmp_path) as world, world.fleet(max_workers=3).joined() as fleet:
        await world.start(total_steps=640)
        await until_update(world, 1)
        fleet.block_error = b"\x81\xa4type\xa5block"
        result = await finished(world)
        assert result.agent_steps >= 640
        assert [refused.code for refused in fleet.refused] == ["malformed"]


async def test_D2_a_resumed_run_goes_on_with_its_own_settings_and_counters(tmp_path: Path):
    async with gateway(tmp_path) as world, world.fleet().joined():
        first = await world.start(total_steps=128)
        await finished(world)
        view = await world.service.start_run("", {"total_steps": 320}, run_id=first.run_id, resume=True)
        assert (view.run_id, view.game, view.seed) == (first.run_id, "counting", 1)
        assert view.settings["ppo"]["horizon"] == 8
        result = await finished(world)
        assert (result.agent_steps, result.updates) == (320, 5)
        # Of this session: 320 - 128 steps.
        assert result.steps_per_second == pytest.approx(192 / result.wall_seconds)
        store = MetricsStore(world.runs_dir / first.run_id / "metrics.db")
        assert store.query("r", ["train/loss"]).series[0].values == [1.0, 2.0, 3.0, 4.0, 5.0]
        store.close()


async def test_D2_correctness_R1_no_two_starts_of_a_run_play_the_same_streams(tmp_path: Path):
    async with gateway(tmp_path) as world, world.fleet().joined() as fleet:
        first = await world.start(total_steps=128)
        await finished(world)
        for total_steps in (256, 384):
            more = {"total_steps": total_steps}
            await world.service.start_run("", more, run_id=first.run_id, resume=True)
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
        await world.service.start_run("", {"total_steps": 256}, run_id=first.run_id, resume=True)
        await finished(world)
        assert fleet.leases and before.isdisjoint(lease.lease_id for lease in fleet.leases)


UNPAID = {"rollout/reward_min": 0.0, "rollout/reward_max": 0.0}
"""Of every step of the fake learner's updates."""


async def test_what_keeps_a_run_from_learning_is_told_once_kept_and_in_its_result(tmp_path: Path):
    async with gateway(tmp_path) as world, world.fleet().joined():
        world.learner.metrics = UNPAID
        view = await world.start(total_steps=640)
        result = await finished(world)
        (told,) = kinds(world, "finding")
        # From 80 steps on, an eighth of the run: seen with update 2, said with the third that shows it.
        assert (told.finding_id, told.value, told.first_agent_steps) == ("reward-constant", 0.0, 128)
        assert "256 steps" in told.text
        (held,) = result.findings
        # A batch is a target (S1): the last one may be larger.
        assert held.finding_id == told.finding_id and f"{result.agent_steps} steps" in held.text
        kept = (await world.client.get(f"/api/runs/{view.run_id}")).json()["findings"]
        assert kept == [held.model_dump(mode="json")]
        shown = [body for body in kinds(world, "status") if body.findings and body.state == "running"]
        assert shown, "pages do not hear of it while the run goes on"
        store = MetricsStore(world.runs_dir / view.run_id / "metrics.db")
        assert [one.kind for one in store.events_after(0)].count("finding") == 1
        store.close()


async def test_what_was_found_before_still_holds_after_a_resume_and_is_not_said_again(tmp_path: Path):
    async with gateway(tmp_path) as world, world.fleet().joined():
        world.learner.metrics = UNPAID
        first = await world.start(total_steps=640)
        await finished(world)
        await world.service.start_run("", {"total_steps": 704}, run_id=first.run_id, resume=True)
        result = await finished(world)
        assert result.updates == 11
        assert [one.first_agent_steps for one in result.findings] == [128]
        assert len(kinds(world, "finding")) == 1


async def test_a_finding_is_withdrawn_when_it_no_longer_holds(tmp_path: Path):
    async with gateway(tmp_path) as world, world.fleet().joined():
        world.learner.metrics = UNPAID
        await world.start(total_steps=64 * 40)
        await until_update(world, 10)
        world.learner.metrics = {**UNPAID, "rollout/reward_max": 1.0}
        result = await finished(world)
        assert [one.withdrawn for one in kinds(world, "finding")] == [False, True]
        # Whoever reads the result alone is told of it, too.
        assert [(one.finding_id, one.withdrawn) for one in result.findings] == [("reward-constant", True)]


async def test_D3_a_run_is_never_overwritten_without_force(tmp_path: Path):
    async with gateway(tmp_path) as world, world.fleet().joined():
        await world.service.start_run("counting", {**SMALL, "total_steps": 64}, run_id="mine")
        await finished(world)
        with pytest.raises(ConfigurationError, match="--force"):
            await world.service.start_run("counting", SMALL, run_id="mine")
        await world.service.start_run("counting", {**SMALL, "total_steps": 64}, run_id="mine", force=True)
        assert (await finished(world)).updates == 1
        assert len(list((world.runs_dir / ".trash").iterdir())) == 1


async def test_a_run_starts_from_the_newest_policy_of_another(tmp_path: Path):
    async with gateway(tmp_path) as world, world.fleet().joined():
        first = await world.start(total_steps=128)
        await finished(world)
        await world.service.start_run("counting", {**SMALL, "total_steps": 64}, initialize_from=first.run_id)
        begins = []
        await finished(world)
        begins = [message for message in world.learner.heard if isinstance(message, ipc.Begin)]
        assert begins[-1].initialize_from == str(
            (world.runs_dir / first.run_id / "checkpoints" / "2").resolve()
        )
        with pytest.raises(ConfigurationError):
            await world.service.start_run("counting", SMALL, initialize_from="gone")


async def test_a_past_run_is_evaluated_and_exported_without_training(tmp_path: Path):
    async with gateway(tmp_path) as world, world.fleet(evaluation_return=8.0).joined() as fleet:
        run = await world.start(total_steps=128)
        await finished(world)
        updates = len([one for one in world.learner.heard if isinstance(one, ipc.Train)])
        view = await asyncio.wait_for(
            world.service.evaluate(run.run_id, episodes=5, deterministic=False, seed=3), WAIT_SECONDS
        )
        assert view == EvaluationView(
            policy_version=2,
            episodes=5,
            return_mean=8.0,
            return_std=0.0,
            length_mean=10.0,
            deterministic=False,
        )
        assert set(fleet.evaluated) == {2}
        out = tmp_path / "out"
        version = await asyncio.wait_for(world.service.export(run.run_id, str(out)), WAIT_SECONDS)
        assert len(list((world.runs_dir / run.run_id).glob("events.out.tfevents.*"))) == 1
        assert json.loads((out / "policy.json").read_text())["policy_version"] == version
        assert len([one for one in world.learner.heard if isinstance(one, ipc.Train)]) == updates
        assert world.service.view(run.run_id).state == "finished"
        assert world.service.active is None


async def test_shutting_down_stops_the_run_and_ends_the_learner(tmp_path: Path):
    async with gateway(tmp_path) as world, world.fleet().joined():
        view = await world.start()
        await until_update(world, 1)
    assert isinstance(world.learner.heard[-1], ipc.Shutdown)
    assert not is_locked(world.runs_dir / view.run_id)
    assert world.service.view(view.run_id).state == "stopped"
