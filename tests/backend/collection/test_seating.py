import numpy as np
import pytest

from attract.collection.config import check_satisfiable
from attract.collection.effects import SendPolicy
from attract.collection.seating import GameSeats, Seating
from attract.errors import ConfigurationError, ProtocolError
from attract.schema.messages import Block, PolicyAck, Seat
from driven_core import DrivenCore, small_config
from fake_worker import counting_description

SEATS = ("hunter", "prey", "prey")
TEAM = counting_description(num_agents=3)


def started(schedule: str = "overlap") -> DrivenCore:
    """Two workers of two games of three agents, played by two policies."""
    driven = DrivenCore(small_config(seats=SEATS, instances_per_worker=2, schedule=schedule), TEAM)
    driven.host()
    driven.join(10, 0)
    driven.join(11, 1)
    driven.ready()
    return driven


def acknowledge(driven: DrivenCore, connection_id: int, policy_id: str, version: int = 0) -> None:
    for answer in driven.workers[connection_id].take_policy(version, policy_id):
        driven.say(connection_id, answer)


def test_each_policy_has_an_index_in_the_order_of_its_first_seat() -> None:
    seating = Seating(SEATS)
    assert seating.policy_ids == ("hunter", "prey")
    assert seating.index_of(np.arange(6)).tolist() == [0, 1, 1, 0, 1, 1]
    assert seating.owns("hunter", np.array([0, 3]))
    assert not seating.owns("hunter", np.array([0, 1]))
    assert not seating.owns("main", np.array([0]))
    assert Seating(("main", "main")).owns("main", np.arange(4))


def test_seats_that_do_not_fit_the_game_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="2 seats for the 3 agents"):
        check_satisfiable(small_config(seats=("a", "b")).fitted(TEAM))
    check_satisfiable(small_config(seats=SEATS).fitted(TEAM))


def test_E9_a_lease_names_the_policy_of_each_agent() -> None:
    lease = started().leases(10)[0]
    assert [(seat.policy_id, seat.policy_version) for seat in lease.seats] == [
        ("hunter", 0),
        ("prey", 0),
        ("prey", 0),
    ]


def test_E9_policies_are_published_one_at_a_time_and_a_lease_waits_for_the_last() -> None:
    driven = DrivenCore(small_config(seats=SEATS, instances_per_worker=2, num_workers=1), TEAM)
    driven.hold_acks = True
    driven.host()
    driven.join(10, 0)
    driven.ready()

    def sent() -> list[tuple[str, int]]:
        return [(sent.policy_id, sent.policy_version) for sent in driven.wanted(SendPolicy)]

    assert sent() == [("hunter", 0)]
    assert not driven.leases(10), "the other policy is not there yet"
    acknowledge(driven, 10, "hunter")
    assert sent() == [("hunter", 0), ("prey", 0)]
    assert driven.leases(10), "it goes before the lease on the same socket"
    for _ in range(2):
        driven.play(10)
    assert driven.updating
    driven.publish()
    assert sent() == [("hunter", 0), ("prey", 0)], "the last one is not acknowledged yet"
    acknowledge(driven, 10, "prey")
    assert sent()[2:] == [("hunter", 1)]
    acknowledge(driven, 10, "hunter", 1)
    assert sent()[2:] == [("hunter", 1), ("prey", 1)]


def test_a_worker_that_comes_back_in_between_gets_every_policy_again() -> None:
    driven = DrivenCore(small_config(seats=SEATS, instances_per_worker=2, num_workers=1), TEAM)
    driven.hold_acks = True
    driven.host()
    driven.join(10, 0)
    driven.ready()
    worker = driven.close(10)
    driven.hold_acks = False
    driven.rejoin(20, worker)
    again = [sent.policy_id for sent in driven.wanted(SendPolicy) if sent.connection_id == 20]
    assert again == ["hunter", "prey"]
    assert driven.leases(20)


def test_E9_a_block_holds_the_slots_of_the_policy_it_names() -> None:
    driven = started()
    blocks = [message for message in driven.workers[10].play() if isinstance(message, Block)]
    assert [block.policy_id for block in blocks] == ["hunter", "prey"]
    for policy_id in ("prey", "main"):
        with pytest.raises(ProtocolError, match="policy_id"):
            driven.core.offer_block(10, blocks[0].model_copy(update={"policy_id": policy_id}), 0.0)
    assert all(driven.block(10, block).accepted for block in blocks)


@pytest.mark.parametrize("schedule", ["sync", "overlap"])
def test_S1_a_batch_has_whole_segments_of_every_policy(schedule: str) -> None:
    driven = started(schedule)
    driven.play(10)
    driven.play(11)
    train = driven.trains[0]
    # four games: slots 0 to 11, of which 0, 3, 6 and 9 are hunters
    hunters = [train.rows[slot] for slot in (0, 3, 6, 9)]
    assert train.rows_by_policy["hunter"] == hunters
    assert sorted(train.rows_by_policy["prey"] + hunters) == sorted(train.rows)
    assert len(train.rows) == 12


def test_one_policy_needs_no_rows_of_its_own() -> None:
    driven = DrivenCore.started()
    driven.play(10)
    driven.play(11)
    assert driven.trains[0].rows_by_policy == {}
    assert [sent.policy_id for sent in driven.wanted(SendPolicy)] == ["main", "main"]


def test_an_acknowledgement_of_an_older_version_sends_nothing_on() -> None:
    driven = started()
    for connection_id in (10, 11):
        driven.play(connection_id)
    driven.hold_acks = True
    driven.publish()
    before = len(driven.wanted(SendPolicy))
    old = PolicyAck(run_id="run-1", policy_id="prey", policy_version=0, create_ms=1.0)
    driven.say(10, old)
    assert len(driven.wanted(SendPolicy)) == before


def test_E9_a_batch_has_a_share_for_each_policy() -> None:
    trio = counting_description(num_agents=3)
    shared, alone = small_config(seats=("a", "b", "b")).fitted(trio), small_config().fitted(trio)
    targets = shared.batch_targets
    assert targets["b"] == 2 * targets["a"] and sum(targets.values()) == shared.batch_target()
    assert alone.batch_targets == {"main": alone.batch_target()}
    assert Seating(("a", "b", "b")).agents_of("b") == [1, 2]


def test_games_in_turn_have_seats_of_their_own() -> None:
    past, own = Seat(policy_version=1, learns=False), Seat(policy_version=2)
    seats = GameSeats((past, own, own, past), 2, first_instance=64)
    assert [seats.of(instance) for instance in (64, 65, 66)] == [(past, own), (own, past), (past, own)]
    assert [seats.learning(instance) for instance in (64, 65)] == [(1,), (0,)]
    # Slots 128 to 133: agents 1, 0 and 1 of the three games.
    assert seats.reporting(np.array([64, 65, 66])).tolist() == [129, 130, 133]


def test_an_opponent_s_acknowledgement_is_none_of_the_newest_version() -> None:
    driven = DrivenCore(small_config(num_workers=1))
    driven.hold_acks = True
    driven.host()
    driven.join(10, 0)
    driven.ready()
    worker = driven.core.fleet.by_id(0)
    other = PolicyAck(run_id="run-1", policy_id="other", policy_version=0, create_ms=1.0)
    driven.say(10, other)
    assert not worker.acknowledged
    acknowledge(driven, 10, "main")
    assert worker.acknowledged
