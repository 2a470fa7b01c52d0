"""Fleets with guests who lie: who is caught, who never is, and what is trained meanwhile (rule C10)."""

import itertools
import random
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from attract.schema.episode_results import EpisodeColumns
from attract.schema.messages import Block, FromBrowser, RolloutClose, Tensor
from attract.schema.tensor import DTYPES, from_numpy
from driven_core import changed
from fake_worker import Lie, Peer, counting_description
from fleet_simulation import Simulation, small_config

Change = Callable[[Block], Block]


def _array(tensor: Tensor) -> np.ndarray[Any, Any]:
    return np.frombuffer(tensor.data, DTYPES[tensor.dtype]).reshape(tensor.shape).copy()


def _changing(change: Change) -> Lie:
    def lie(peer: Peer, said: list[FromBrowser]) -> list[FromBrowser]:
        return [
            change(message) if isinstance(message, Block) and _is_training(peer, message) else message
            for message in said
        ]

    return lie


def _is_training(peer: Peer, block: Block) -> bool:
    # The lease of the block is the one in play, or the one just closed.
    return peer.worker.last_lease is not None and peer.worker.last_lease.purpose == "train"


def forged_numbers(block: Block) -> Block:
    """Observations that the game never showed."""
    return block.model_copy(
        update={"observation": {"obs": from_numpy(-_array(block.observation["obs"]) - 1)}}
    )


def rewards_times_100(block: Block) -> Block:
    """Every reward a hundredfold."""
    return block.model_copy(update={"reward": from_numpy(_array(block.reward) * np.float32(100))})


def erased_ends(block: Block) -> Block:
    """No episode ever ends."""
    return block.model_copy(
        update={
            "truncated": from_numpy(np.zeros_like(_array(block.truncated))),
            "final_observations": None,
            "episodes": EpisodeColumns(),
        }
    )


def _old_again() -> Lie:
    """What was played once is sent under every later lease."""
    kept: dict[int, Block] = {}

    def change(block: Block) -> Block:
        first = int(_array(block.slot_id)[0])
        old = kept.setdefault(first, block)
        names = ("lease_id", "segment_index", "block_index", "policy_version", "first_step")
        return old.model_copy(update={name: getattr(block, name) for name in names})

    return _changing(change)


def _stale() -> Lie:
    """Each segment carries what was played two before it, and says that it is new."""
    kept: dict[int, deque[Block]] = {}

    def change(block: Block) -> Block:
        first = int(_array(block.slot_id)[0])
        past = kept.setdefault(first, deque(maxlen=3))
        past.append(block)
        names = ("lease_id", "segment_index", "block_index", "policy_version", "first_step")
        return past[0].model_copy(update={name: getattr(block, name) for name in names})

    return _changing(change)


def _withheld() -> Lie:
    """Half of the blocks never come, and the lease is closed as if they had."""
    draw = random.Random(5)

    def lie(peer: Peer, said: list[FromBrowser]) -> list[FromBrowser]:
        if peer.worker.last_lease is None or peer.worker.last_lease.purpose != "train":
            return said
        return [message for message in said if not isinstance(message, Block) or draw.random() < 0.5]

    return lie


def progress_only(peer: Peer, said: list[FromBrowser]) -> list[FromBrowser]:
    """Never a block and never a close: only signs of life."""
    return [
        message for message in said if not isinstance(message, Block | RolloutClose)
    ] + peer.worker.progress()


def liars() -> dict[str, Callable[[], Lie]]:
    """A maker of each kind that sends segments, by name."""
    return {
        "forged numbers": lambda: _changing(forged_numbers),
        "rewards x 100": lambda: _changing(rewards_times_100),
        "erased ends": lambda: _changing(erased_ends),
        "replays": _old_again,
        "stale": _stale,
        "withheld": _withheld,
    }


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
        standing = simulation.core.require_described().audit.of(peer.identity)
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


def _sleeper() -> Lie:
    """True until its guest is proven, then every reward a hundredfold."""
    numbers = itertools.count()
    return _changing(lambda block: block if next(numbers) < 40 else rewards_times_100(block))


@pytest.mark.parametrize("seed", range(4))
def test_C10_who_lies_once_it_is_proven_is_caught_and_what_it_counted_is_said(seed: int) -> None:
    simulation = fleet(seed, [], num_honest=2)
    simulation.add_guest("sleeper@192.0.9.1", _sleeper())
    simulation.run(400.0, until=simulation.left_out)
    (caught,) = simulation.caught
    assert caught.identity.startswith("sleeper") and caught.has_counted
    (peer,) = (peer for peer in simulation.peers if peer.lie is not None)
    wrong = [sum(key in peer.untrue for key in keys) for keys in simulation.update_keys]
    # One segment in twenty is played again: a few updates at most, of 20 fleets five.
    assert sum(map(bool, wrong)) <= 6
