"""Seats that programs outside play: who may ask them, and that leases stand still meanwhile."""

from typing import Any

import numpy as np
import pytest

from attract.collection import inputs
from attract.collection.leases import SILENCE_SECONDS
from attract.errors import ProtocolError
from attract.schema.messages import Answer, Ask, Lease, LeaseVoid, Seat, Seed
from attract.schema.tensor import from_numpy
from driven_core import DrivenCore, small_config
from fake_worker import counting_description

PAIR = counting_description(num_agents=2)


def played(tier: str = "local") -> DrivenCore:
    """One worker with a lease whose other seat `outside:bot` plays."""
    driven = DrivenCore(
        small_config(num_workers=1, self_play={"seats": "newest,outside:bot"}), PAIR, tier=tier
    )
    driven.host(max_workers=1)
    driven.join(10)
    driven.ready()
    return driven


def ask(lease: Lease, rows: int = 1, **changes: Any) -> Ask:
    return Ask(
        run_id="run-1",
        order_id=lease.lease_id,
        policy_id="outside:bot",
        agent=[1] * rows,
        observation={"obs": from_numpy(np.zeros((rows, 4), np.float32))},
    ).model_copy(update=changes)


def voided(driven: DrivenCore) -> int:
    return len(driven.messages(LeaseVoid))


def test_a_lease_names_who_is_asked_and_no_policy_is_sent_for_it() -> None:
    driven = played()
    (lease, *_) = driven.leases(10)
    seats = {(seat.policy_id, seat.script, seat.learns) for seat in lease.seats}
    assert seats == {("main", None, True), ("outside:bot", "outside", False)}
    assert not any(policy_id == "outside:bot" for policy_id, _ in driven.core.fleet.by_id(0).opponents_sent)


def test_C3_a_lease_stands_still_while_a_program_thinks() -> None:
    driven = played()
    (lease, *_) = driven.leases(10)
    assert driven.core.asked_outside(10, ask(lease), driven.now)
    driven.wait(4000.0)
    assert voided(driven) == 0
    driven.core.answered_outside(10, ask(lease), driven.now)
    driven.wait(SILENCE_SECONDS - 0.1)
    assert voided(driven) == 0
    driven.wait(0.2)
    assert voided(driven) > 0, "and not a moment longer"


def test_a_worker_that_comes_back_asks_again() -> None:
    driven = played()
    (lease, *_) = driven.leases(10)
    assert driven.core.asked_outside(10, ask(lease), driven.now)
    worker = driven.close(10)
    driven.rejoin(20, worker)
    assert driven.core.asked_outside(20, ask(lease), driven.now)
    # What was asked on the old socket is answered: the new question is still open.
    driven.core.answered_outside(10, ask(lease), driven.now)
    driven.wait(4000.0)
    assert voided(driven) == 0


def test_nobody_answers_for_a_lease_that_is_over() -> None:
    driven = played()
    (lease, *_) = driven.leases(10)
    driven.wait(SILENCE_SECONDS + 4000)
    assert voided(driven) > 0
    assert not driven.core.asked_outside(10, ask(lease), driven.now)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"policy_id": "outside:other"}, "ask who plays a seat of the lease"),
        ({"policy_id": "main"}, "ask who plays a seat of the lease"),
        ({"agent": [1] * 7}, "the lease has 6 slots"),
    ],
)
def test_a_worker_may_not_ask_that(change: dict[str, Any], says: str) -> None:
    driven = played()
    (lease, *_) = driven.leases(10)
    with pytest.raises(ProtocolError, match=says):
        driven.core.asked_outside(10, ask(lease, **change), driven.now)


def test_an_evaluation_asks_for_as_many_games_as_it_has_episodes() -> None:
    driven = played()
    seats = (
        Seat(script="random", learns=False),
        Seat(policy_id="outside:bot", script="outside", learns=False),
    )
    seed = Seed(low=1, high=0)
    driven.give(inputs.pause)
    driven.give(inputs.request_evaluation, 40, False, seed, seats=seats)
    driven.play(10, 2)
    (lease,) = [lease for lease in driven.leases(10) if lease.purpose == "evaluate"]
    assert len(lease.episodes) == 8, "more than the worker's three games"
    assert driven.core.asked_outside(10, ask(lease, 8), driven.now)


def test_a_worker_has_one_open_question() -> None:
    driven = played()
    (lease, *_) = driven.leases(10)
    assert driven.core.asked_outside(10, ask(lease), driven.now)
    with pytest.raises(ProtocolError, match="another is open"):
        driven.core.asked_outside(10, ask(lease), driven.now)


def test_a_guest_never_reaches_a_program() -> None:
    driven = played(tier="invited")
    (lease, *_) = driven.leases(10)
    assert {seat.policy_id for seat in lease.seats} == {"main"}
    with pytest.raises(ProtocolError, match="this machine's own"):
        driven.core.asked_outside(10, ask(lease), driven.now)
    assert not driven.messages(Answer)
