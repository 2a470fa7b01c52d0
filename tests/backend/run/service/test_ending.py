"""How a run ends: by its goal, its steps, a stop, an abort, a failure."""

import asyncio
from pathlib import Path
from typing import Any

from attract.runs.disk import is_locked
from attract.schema import learner as ipc
from fake_learner import FakeLearner
from gateway_world import WAIT_SECONDS, finished, gateway, kinds, start_run, trained, until_update


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
        await start_run(world.service, "", {"total_steps": 192}, run_id=view.run_id, resume=True)
        assert (await finished(world)).state == "finished"


async def test_shutting_down_stops_the_run_and_ends_the_learner(tmp_path: Path):
    async with gateway(tmp_path) as world, world.fleet().joined():
        view = await world.start()
        await until_update(world, 1)
    assert isinstance(world.learner.heard[-1], ipc.Shutdown)
    assert not is_locked(world.runs_dir / view.run_id)
    assert world.service.view(view.run_id).state == "stopped"
