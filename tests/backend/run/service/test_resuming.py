"""A run that goes on has its own settings and counters, and streams of its own."""

import json
from pathlib import Path

import pytest

from attract.runs.metrics import MetricsStore
from attract.schema.philox import derive_seed
from gateway_world import gateway
from service_run import finished
from started_run import start_run


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
        assert json.loads(recorded.read_text())["described_sha256"] == "0" * 64, "told of before it was asked"
