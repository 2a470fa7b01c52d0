"""What can be started, from what, and what is refused before anything is left behind."""

import asyncio
import functools
import json
from pathlib import Path

import pytest

from attract.errors import ConfigurationError, RunActiveError, UnknownRunError
from attract.schema import learner as ipc
from attract.schema.api import EvaluationView
from gateway_world import SMALL, WAIT_SECONDS, finished, gateway, start_run


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
                await start_run(world.service, game, settings, run_id=run_id)
        assert world.service.catalogue.list("is:all").runs == []
        assert not world.runs_dir.exists() or not list(world.runs_dir.iterdir())
        assert world.learner.lives == 0
        await world.start()


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
        lives, start = world.learner.lives, functools.partial(start_run, world.service)
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
        assert (await world.service.evaluate("latest", episodes=5, version=2)).policy_version == 2
        kept = world.service.models.versions(first.run_id)
        # The fake learner's checkpoints hold no tensors, from which an older version's model is made.
        with pytest.raises(UnknownRunError, match=r"version 1 of run .* cannot be played"):
            await world.service.evaluate("latest", episodes=5, version=1)
        assert world.service.models.versions(first.run_id) == kept
        exported = await world.service.export("latest", str(tmp_path / "out"))
        assert (tmp_path / "out" / "policy.onnx").read_bytes() == b"onnx %d" % exported
        view = await start_run(world.service, "", {"total_steps": 192}, run_id="latest", resume=True)
        assert view.run_id == first.run_id
        assert (await finished(world)).agent_steps == 192
        second = await start_run(
            world.service, "counting", {**SMALL, "total_steps": 64}, initialize_from="latest"
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


async def test_D3_a_run_is_never_overwritten_without_force(tmp_path: Path):
    async with gateway(tmp_path) as world, world.fleet().joined():
        await start_run(world.service, "counting", {**SMALL, "total_steps": 64}, run_id="mine")
        await finished(world)
        with pytest.raises(ConfigurationError, match="--force"):
            await start_run(world.service, "counting", SMALL, run_id="mine")
        await start_run(world.service, "counting", {**SMALL, "total_steps": 64}, run_id="mine", force=True)
        assert (await finished(world)).updates == 1
        assert len(list((world.runs_dir / ".trash").iterdir())) == 1


async def test_a_run_starts_from_the_newest_policy_of_another(tmp_path: Path):
    async with gateway(tmp_path) as world, world.fleet().joined():
        first = await world.start(total_steps=128)
        await finished(world)
        await start_run(world.service, "counting", {**SMALL, "total_steps": 64}, initialize_from=first.run_id)
        begins = []
        await finished(world)
        begins = [message for message in world.learner.heard if isinstance(message, ipc.Begin)]
        assert begins[-1].initialize_from == str(
            (world.runs_dir / first.run_id / "checkpoints" / "2").resolve()
        )
        with pytest.raises(ConfigurationError):
            await start_run(world.service, "counting", SMALL, initialize_from="gone")


async def test_a_past_run_is_evaluated_and_exported_without_training(tmp_path: Path):
    async with gateway(tmp_path) as world, world.fleet(evaluation_return=8.0).joined() as fleet:
        run = await world.start(total_steps=128)
        await finished(world)
        updates = len([message for message in world.learner.heard if isinstance(message, ipc.Train)])
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
            returns=[8.0] * 5,
        )
        assert set(fleet.evaluated) == {2}
        out = tmp_path / "out"
        version = await asyncio.wait_for(world.service.export(run.run_id, str(out)), WAIT_SECONDS)
        assert len(list((world.runs_dir / run.run_id).glob("events.out.tfevents.*"))) == 1
        assert json.loads((out / "policy.json").read_text())["policy_version"] == version
        assert len([message for message in world.learner.heard if isinstance(message, ipc.Train)]) == updates
        assert world.service.view(run.run_id).state == "finished"
        assert world.service.active is None
