"""Fleets with guests who lie: who is caught, who never is, and what is trained meanwhile (rule C10)."""

import random

import pytest

from driven_core import changed
from fake_worker import counting_description
from fleet_simulation import Simulation, small_config
from liars import liars
from simulated_peer import Peer

KINDS = list(liars())


def fleet(seed: int, lies: list[str], num_honest: int, schedule: str = "overlap") -> Simulation:
    """One worker of the admin's own, honest guests, and one guest for each lie."""
    draw = random.Random(seed)
    config = changed(
        small_config(schedule=schedule, num_workers=11, instances_per_worker=draw.choice([3, 8])),
        horizon=draw.choice([4, 5, 16]),
        secret=seed + 1,
        join_seconds=0.2,
    )
    team = counting_description(num_agents=draw.choice([1, 1, 2]))
    simulation = Simulation(config, seed=seed, description=team, segment_seconds=(0.2,), draws_returns=True)
    simulation.start(1)
    kinds = liars()
    order = [("honest", None)] * num_honest + [(name, kinds[name]()) for name in lies]
    draw.shuffle(order)
    for number, (name, lie) in enumerate(order):
        simulation.add_guest(f"{name} {number}@192.0.{number}.1", lie)
    return simulation


def trained_of(simulation: Simulation, peer: Peer) -> int:
    """Segments of a worker that updates were given."""
    slots = set(peer.worker.slot_ids)
    return sum(slot in slots for keys in simulation.update_keys for _, slot, _ in keys)


SHORT = [(1, "overlap"), (4, "sync"), (3, "async")]
LONG = [(seed, schedule) for seed in range(20) for schedule in ("overlap", "sync", "async")]


@pytest.mark.parametrize(
    ("seed", "schedule"),
    [*SHORT, *(pytest.param(*case, marks=pytest.mark.soak) for case in LONG if case not in SHORT)],
)
def test_C10_of_a_fleet_with_30_percent_liars_they_alone_are_left_out(seed: int, schedule: str) -> None:
    lies = random.Random(seed).sample(KINDS, 3)
    simulation = fleet(seed, lies, num_honest=7, schedule=schedule)
    simulation.run(60.0, until=lambda: len(simulation.left_out()) == 3 and len(simulation.updates) > 15)
    # Some lies are seen without a replay: the block cannot have happened, and its socket is closed. Who is
    # put off so may begin anew and only be late: that agrees with itself, and is for the learner (rule C7).
    left_out = {name.split(" ")[0] for name in simulation.left_out()}
    late = {lie.split(" ")[0] for lie in lies} - left_out
    assert late <= {"stale"} and "honest" not in left_out, [caught.what for caught in simulation.caught]
    assert len(simulation.updates) > 15
    trained = {key for keys in simulation.update_keys for key in keys}
    for peer in simulation.peers:
        standing = simulation.core._state.require_described().audit.of(peer.identity)
        if peer.identity.split(" ")[0] in late:
            continue
        if peer.lie is not None:
            assert not trained & peer.untrue, f"{peer.identity}: of a new guest nothing untrue is trained"
            if standing.caught is None:
                continue
            true = (peer.left_out_after or 0) - len({key for key in peer.untrue if key not in trained})
            assert standing.judged <= 10 + max(0, true), peer.identity
        elif peer.is_guest:
            assert trained_of(simulation, peer), f"{peer.identity} was honest for nothing"
            assert standing.caught is None


def test_C10_a_fleet_of_guests_alone_says_once_that_nothing_is_audited() -> None:
    simulation = Simulation(small_config(num_workers=2), seed=3, segment_seconds=(0.2,), local=False)
    simulation.start()
    simulation.run(60.0, until=lambda: len(simulation.updates) > 3)
    said = [note.text for note in simulation.notes if note.kind == "audit"]
    assert said == ["what visitors play is not verified while no browser of your own is connected"]
