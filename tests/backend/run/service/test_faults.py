"""What breaks while a run trains, and what the run makes of it."""

import asyncio
from pathlib import Path
from typing import Any

from attract.runs.metrics import MetricsStore
from attract.schema import learner as ipc
from attract.schema.api import GameReport, RunView
from attract.schema.messages import GameFailed
from fake_learner import FakeLearner
from gateway_world import WAIT_SECONDS, finished, gateway, kinds, until_update

BROKEN = GameFailed(
    run_id="set by the host",
    kind="load",
    name="SyntaxError",
    text="Unexpected token",
    stack="SyntaxError: Unexpected token\n at games/x.js:1:1",
)


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


async def test_a_game_that_cannot_be_loaded_fails_the_run_with_a_report(tmp_path: Path):
    async with gateway(tmp_path) as world, world.fleet(broken=BROKEN).joined():
        await world.start()
        result = await finished(world)
        assert (result.state, result.refused) == ("failed", True)
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
