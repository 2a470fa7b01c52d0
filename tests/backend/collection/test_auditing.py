"""Fleets with guests who lie: who is caught, who never is, and what is trained meanwhile (rule C10)."""

import random
from dataclasses import replace

import pytest

from attract.collection.effects import ForgerCaught
from fake_worker import counting_description
from fleet_simulation import Simulation, small_config
from liars import liars


def fleet(seed: int, lies: list[str], num_honest: int, schedule: str = "overlap") -> Simulation:
    """One worker of the admin's own, honest guests, and one guest for each lie."""
    draw = random.Random(seed)
    config = replace(
        small_config(schedule=schedule, num_workers=1, instances_per_worker=draw.choice([3, 8])),
        horizon=draw.choice([4, 5, 16]),
        secret=seed + 1,
        join_seconds=0.2,
        batch_segments=24,
    )
    team = counting_description(num_agents=draw.choice([1, 1, 2]))
    simulation = Simulation(config, seed=seed, description=team, segment_seconds=(0.2,), draws_returns=True)
    simulation.start()
    kinds = liars()
    order = [("honest", None)] * num_honest + [(name, kinds[name]()) for name in lies]
    draw.shuffle(order)
    for number, (name, lie) in enumerate(order):
        simulation.add_guest(f"{name} {number}@192.0.{number}.1", lie)
    return simulation


@pytest.mark.parametrize("schedule", ["overlap", "sync", "async"])
@pytest.mark.parametrize("seed", range(2))
def test_C10_liars_are_left_out_within_ten_segments_and_honest_guests_never(seed: int, schedule: str) -> None:
    simulation = fleet(
        seed, ["rewards x 100", "forged numbers", "erased ends"], num_honest=7, schedule=schedule
    )
    simulation.run(60.0)
    names = {one.identity.split(" ")[0] for one in simulation.caught}
    assert "honest" not in names, [one.what for one in simulation.caught]
    assert len(simulation.caught) == 3
    assert len(simulation.updates) > 5
