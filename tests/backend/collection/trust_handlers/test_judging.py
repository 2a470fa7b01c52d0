import pytest

from attract.collection import inputs, trust_handlers
from attract.collection.effects import Note, Unconfirmed
from attract.collection.trust.verdict import PROVEN
from attract.collection.trust_handlers import leave_out
from attract.schema.learner import RejectedRow
from attract.schema.messages import LeaseVoid
from driven_core import DrivenCore


def refuse(driven: DrivenCore, connection_id: int, count: int, *, is_blamed: bool = True) -> None:
    """Play a batch; the learner refuses so many segments of one worker."""
    for player in (10, 11):
        if driven.workers[player].leases:
            driven.play(player)
    worker_id = connection_id - 10
    batch = driven.core.learner.batch
    assert batch is not None
    rows = [row for row in batch.rows if batch.worker_of(row) == worker_id][:count]
    driven.publish([RejectedRow(row=row, largest_difference=1.0, is_blamed=is_blamed) for row in rows])


def left_out(driven: DrivenCore) -> list[str | None]:
    (host,) = driven.core.fleet_view(driven.now).hosts
    return [worker.left_out for worker in host.workers]


def invited() -> DrivenCore:
    driven = DrivenCore.started(schedule="sync")
    for worker in driven.core.fleet.workers.values():
        worker.tier = "invited"
        worker.host_identity = f"3f2a9c01@192.0.2.{worker.worker_index}"
    return driven


def test_hostile_07_C7_a_stranger_that_stays_wrong_is_left_out_with_the_reason() -> None:
    driven = invited()
    refuse(driven, 11, 2)
    assert left_out(driven) == [None, None]
    refuse(driven, 11, 1)
    assert left_out(driven) == [None, "3 results differed when recomputed"]
    (note,) = [note for note in driven.wanted(Note) if note.kind == "quarantine"]
    assert note.text.startswith("the browser 3f2a9c01@192.0.2.1 (worker 1) is banned: 3 results")
    assert driven.core.fleet_view(driven.now).hosts[0].workers[1].state == "left_out"
    before = len(driven.leases(11))
    for _ in range(3):
        while driven.workers[10].leases:
            driven.play(10)
        driven.publish()
    assert len(driven.leases(11)) == before, "the other plays on alone"
    assert len(driven.trains) >= 5


def test_hostile_07_whoever_is_left_out_is_let_in_by_hand() -> None:
    driven = invited()
    refuse(driven, 11, 3)
    before = len(driven.leases(11))
    with pytest.raises(KeyError):
        driven.core.handle(trust_handlers.let_in, driven.now, "somebody")
    driven.give(trust_handlers.let_in, "3f2a9c01@192.0.2.1")
    assert left_out(driven) == [None, None]
    while driven.workers[10].leases:
        driven.play(10)
    driven.publish()
    assert len(driven.leases(11)) > before


def test_hostile_07_or_after_five_minutes_and_its_segments_wait_for_their_replays_again() -> None:
    driven = invited()
    audit = driven.core.require_described().audit
    audit.of("3f2a9c01@192.0.2.1").valid = PROVEN
    refuse(driven, 11, 3)
    driven.wait(299.0)
    assert driven.core.fleet_view(driven.now).hosts[0].workers[1].state == "left_out"
    driven.wait(2.0)
    assert left_out(driven) == [None, None]
    assert not audit.of("3f2a9c01@192.0.2.1").is_proven


def test_hostile_07_a_worker_of_ones_own_is_left_out_after_three_updates_alone() -> None:
    driven = DrivenCore.started(schedule="sync")
    for _ in range(2):
        refuse(driven, 11, 2)
        assert left_out(driven) == [None, None]
    refuse(driven, 11, 2)
    assert left_out(driven)[0] is None
    assert left_out(driven)[1] is not None


def test_hostile_07_a_version_that_the_learner_has_forgotten_is_nobodys_lie() -> None:
    driven = invited()
    for _ in range(4):
        refuse(driven, 11, 3, is_blamed=False)
    assert left_out(driven) == [None, None]


def test_hostile_07_C7_where_nobody_can_be_confirmed_nobody_is_blamed_and_the_run_pauses() -> None:
    driven = DrivenCore.started(schedule="sync")
    for update in range(3):
        assert not driven.core.paused, update
        for connection_id in (10, 11):
            driven.play(connection_id)
        batch = driven.core.learner.batch
        assert batch is not None
        driven.publish([RejectedRow(row=row, largest_difference=1.0) for row in batch.verify_rows])
    assert driven.core.paused
    assert left_out(driven) == [None, None]
    assert len(driven.wanted(Unconfirmed)) == 1


def test_what_is_left_of_the_play_of_who_is_left_out_is_thrown_away() -> None:
    driven = DrivenCore.started(batch_segments=100)
    driven.play(10)
    driven.play(11)
    acceptance = driven.core.require_described().acceptance
    before = acceptance.rows.num_free
    assert acceptance.pool.num_segments == 6
    state, identity = driven.core, "0" * 32 + "/1"
    why = state.conduct.leave_out(identity, "its replays do not fit", driven.now, is_final=True)
    leave_out(state, identity, why, driven.now)
    driven.give(inputs.tick)
    assert acceptance.pool.num_segments == 3
    assert acceptance.rows.num_free == before + 3
    assert driven.messages(LeaseVoid, 11)
    driven.wait(10_000.0)
    assert driven.core.fleet_view(driven.now).hosts[0].workers[1].state == "left_out"
