"""A run from its first lease to its last update: what is announced and when."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from attract.runs.disk import is_locked
from attract.runs.metrics import MetricsStore
from attract.schema import learner as ipc
from attract.schema.api import PolicyView
from gateway_world import WAIT_SECONDS, finished, gateway, trained


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
