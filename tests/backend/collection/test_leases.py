from collections.abc import Callable
from typing import Any

from attract.collection import effects, inputs
from attract.collection.leases import Lease, LeaseBook
from attract.schema.messages import Goodbye, LeaseVoid, Observe, PolicyAck, Progress, Seed
from driven_core import DrivenCore, small_config


def issued(book: LeaseBook, now: float = 0.0) -> Lease:
    lease = Lease(
        worker_id=0, purpose="train", version=0, first_slot=0, num_slots=3, num_segments=2, local=True
    )
    return book.issue(lease, now)


def test_C1_ids_rise_and_a_spent_lease_is_told_from_an_unknown_one() -> None:
    book = LeaseBook()
    first, second = issued(book), issued(book)
    assert second.lease_id > first.lease_id
    book.spend(first)
    assert book.get(first.lease_id) is None
    assert book.is_spent(first.lease_id)
    assert not book.is_spent(second.lease_id)
    assert not book.is_spent(second.lease_id + 1)
    assert issued(book).lease_id > second.lease_id
    assert len(book) == 2


def test_C3_silence_is_three_median_segments_but_15_seconds_at_least() -> None:
    book = LeaseBook()
    assert book.silence_seconds == 15.0
    for seconds in (2.0, 20.0, 200.0):  # of two segments each: 1, 10, 100 a segment
        lease = issued(book)
        lease.bring_to_front(0.0)
        book.played(lease, seconds)
    assert book.silence_seconds == 30.0


def test_C3_a_queued_lease_does_not_lapse_before_it_is_in_play() -> None:
    book = LeaseBook()
    lease = issued(book)
    assert book.deadline(lease) is None
    lease.bring_to_front(100.0)
    assert book.deadline(lease) == 115.0
    lease.last_seen_at = 110.0
    lease.bring_to_front(200.0)
    assert book.deadline(lease) == 125.0


def test_remaining_counts_what_may_still_come() -> None:
    lease = issued(LeaseBook())
    assert lease.remaining == 6
    lease.received[0, :] = True
    lease.remaining -= 3
    assert lease.remaining == 3


def test_a_finished_lease_tells_how_long_after_its_issue_it_closed() -> None:
    driven = DrivenCore.started()
    driven.now = 3.0
    driven.play(10)
    driven.now = 5.0
    driven.play(10)
    # both were issued at 0: the second waited behind the first
    assert [closed.seconds for closed in driven.wanted(effects.LeaseClosed)] == [3.0, 5.0]


def test_overlap_keeps_one_lease_ahead_and_never_two() -> None:
    driven = DrivenCore.started()
    assert len(driven.leases(10)) == 2
    assert len(driven.leases(11)) == 2
    driven.play(10)
    driven.play(11)
    assert driven.updating
    # Segments of version 0 would now be too old for the update after the next: nobody gets a third.
    assert len(driven.leases()) == 4
    driven.publish()
    assert [lease.seats[0].policy_version for lease in driven.leases()[4:]] == [1, 1]


def test_C3_a_silent_lease_lapses_after_15_seconds_and_is_issued_anew() -> None:
    driven = DrivenCore.started(schedule="sync")
    driven.play(11)
    first = driven.leases(10)[0]
    driven.wait(14.9)
    assert not driven.messages(LeaseVoid)
    driven.wait(0.2)
    assert [message.lease_id for message in driven.messages(LeaseVoid, 10)] == [first.lease_id]
    again = driven.leases()[-1]
    assert again.lease_id > first.lease_id
    driven.play(11)
    assert len(driven.trains) == 1
    assert driven.core.fleet_view(driven.now).leases_lapsed == 1


def test_C3_progress_keeps_a_lease_alive_and_other_signs_do_not() -> None:
    driven = DrivenCore.started(schedule="sync")
    lease = driven.leases(10)[0]
    other = driven.leases(11)[0]
    for steps in range(1, 5):
        driven.wait(10.0)
        driven.say(10, Progress(run_id="run-1", lease_id=lease.lease_id, steps=steps))
        driven.say(11, PolicyAck(run_id="run-1", policy_id="main", policy_version=0, create_ms=1.0))
    void = {message.lease_id for message in driven.messages(LeaseVoid)}
    assert other.lease_id in void
    assert lease.lease_id not in void


def talk(driven: DrivenCore, seconds: float, steps: Callable[[int], int], connection_id: int = 10) -> None:
    """Report every 5 s that so many steps of the lease in play are done, whatever it is."""
    for count in range(1, round(seconds / 5) + 1):
        driven.wait(5.0)
        leases = driven.workers[connection_id].leases
        if leases:
            progress = Progress(run_id="run-1", lease_id=leases[0].lease_id, steps=steps(count))
            driven.say(connection_id, progress)


def test_hostile_03_C3_the_same_words_again_renew_nothing() -> None:
    driven = DrivenCore.started(schedule="sync", rollout_segments=4)
    driven.play(10)
    lease = driven.leases(10)[0]
    talk(driven, 15.0, lambda _: 4)
    assert not driven.messages(LeaseVoid, 10), "its steps grew once, to 4"
    talk(driven, 10.0, lambda _: 4)
    assert [message.lease_id for message in driven.messages(LeaseVoid, 10)] == [lease.lease_id]


def test_hostile_03_C3_more_steps_than_the_lease_has_are_no_progress() -> None:
    driven = DrivenCore.started(schedule="sync", rollout_segments=4)
    driven.play(10)
    lease = driven.leases(10)[0]
    talk(driven, 30.0, lambda count: 1_000_000 + count)
    assert [message.lease_id for message in driven.messages(LeaseVoid, 10)] == [lease.lease_id]


def lapsed(driven: DrivenCore, connection_id: int) -> set[int]:
    return {message.lease_id for message in driven.messages(LeaseVoid, connection_id)}


def test_hostile_D5_C3_steps_told_of_without_a_block_last_as_long_as_five_segments() -> None:
    driven = DrivenCore.started(schedule="sync", horizon=1_000)
    for connection_id in (10, 11):
        driven.wait(4.0)
        driven.play(connection_id)  # segments of 4 and 8 s: a median of 6, five of them are 30 s
    driven.publish()
    lease = driven.leases(10)[-1]
    talk(driven, 25.0, lambda count: count)
    assert lease.lease_id not in lapsed(driven, 10)
    talk(driven, 5.0, lambda count: 100 + count)
    assert lease.lease_id in lapsed(driven, 10)


def test_C3_a_slow_worker_has_five_of_its_own_segments_of_time() -> None:
    book = LeaseBook()
    for _ in range(3):
        lease = issued(book)
        lease.bring_to_front(0.0)
        book.played(lease, 20.0)  # 10 s a segment

    def seconds(own_seconds: float) -> float:
        lease = issued(book)
        lease.own_seconds = own_seconds
        return book.block_seconds(lease)

    assert seconds(0.0) == seconds(4.0) == 50.0
    assert seconds(40.0) == 200.0
    assert seconds(5000.0) == 500.0, "no worker makes itself slower than ten times the others"


def test_C3_who_has_never_played_has_a_minute_for_its_first_block_whatever_it_says() -> None:
    driven = DrivenCore.started(schedule="sync")
    driven.wait(1.0)
    driven.play(11)
    lease = driven.leases(10)[0]
    talk(driven, 55.0, lambda count: count)
    assert lease.lease_id not in lapsed(driven, 10)
    talk(driven, 10.0, lambda count: 100 + count)
    assert lease.lease_id in lapsed(driven, 10)


def test_C3_where_the_whole_fleet_gets_slower_the_time_for_a_block_doubles() -> None:
    driven = DrivenCore.started(schedule="sync", num_workers=1, horizon=1_000, batch_segments=3)
    driven.wait(1.0)
    driven.play(10)
    driven.publish()
    talk(
        driven, 100.0, lambda count: count
    )  # 15 s after 1 s a segment, then 30 s; the next would be after 60
    assert len(lapsed(driven, 10)) == 2
    driven.play(10)
    assert driven.updating


def test_C3_who_has_never_played_may_load_for_a_minute() -> None:
    driven = DrivenCore.started(schedule="sync")
    lease = driven.leases(10)[0]
    talk(driven, 65.0, lambda _: 0)
    assert not driven.messages(LeaseVoid, 10)
    talk(driven, 10.0, lambda _: 0)
    assert [message.lease_id for message in driven.messages(LeaseVoid, 10)] == [lease.lease_id]


def test_C3_where_segments_take_longer_than_anybody_knew_the_bound_doubles() -> None:
    driven = DrivenCore.started(schedule="sync", num_workers=1, horizon=8_000)
    talk(driven, 1790.0, lambda count: count)
    assert len(driven.messages(LeaseVoid, 10)) == 1  # after 600 s; the next would be after 1,200 more
    driven.play(10)
    assert driven.updating


def test_C3_an_evaluation_is_renewed_by_its_steps() -> None:
    driven = DrivenCore.started(num_workers=1)
    while driven.workers[10].leases:
        driven.play(10)
    driven.publish()
    while driven.workers[10].leases:
        driven.play(10)
    driven.publish()
    driven.give(inputs.request_evaluation, 40, True, Seed(low=1, high=2))
    while driven.workers[10].leases[0].purpose != "evaluate":
        driven.play(10)
    before = len(driven.messages(LeaseVoid))
    talk(driven, 250.0, lambda count: count)  # of at most 8 x 7 steps
    assert len(driven.messages(LeaseVoid)) == before
    talk(driven, 20.0, lambda _: 50)
    assert len(driven.messages(LeaseVoid)) == before + 1


def look(driven: DrivenCore) -> Observe:
    """An answer to an act, as far as the core looks at it."""
    return Observe.model_construct(outcome=None)


def test_C3_under_central_inference_only_who_owes_an_answer_lapses() -> None:
    driven = DrivenCore.started(num_groups=1)
    for connection_id in (10, 11):
        driven.core.asked(connection_id, driven.now)
    driven.wait(10.0)
    driven.core.answered(11, look(driven), driven.now)
    talk(driven, 20.0, lambda count: count)  # who steps for the server has nothing to say for himself
    assert driven.messages(LeaseVoid, 10)
    assert not driven.messages(LeaseVoid, 11), "it waits for the server, however long"


def test_C3_a_slow_fleet_has_three_median_segments_of_time() -> None:
    driven = DrivenCore.started(schedule="sync")
    for _ in range(2):
        for steps in (1, 2):
            driven.wait(10.0)
            for connection_id in (10, 11):
                lease_id = driven.workers[connection_id].leases[0].lease_id
                driven.say(connection_id, Progress(run_id="run-1", lease_id=lease_id, steps=steps))
        driven.play(10)
        driven.play(11)
        driven.publish()
    # Segments took 20 s: silence lasts 60 s now.
    driven.wait(59.9)
    assert not driven.messages(LeaseVoid)
    driven.wait(0.2)
    assert driven.messages(LeaseVoid)


def test_C3_a_closed_socket_lapses_its_lease_after_two_seconds() -> None:
    driven = DrivenCore.started(schedule="sync")
    driven.play(11)
    driven.close(10)
    driven.wait(1.9)
    assert driven.core.fleet_view(driven.now).leases_lapsed == 0
    driven.wait(0.2)
    assert driven.core.fleet_view(driven.now).leases_lapsed == 1
    driven.play(11)
    assert len(driven.trains) == 1, "the other worker made up for it"


def test_C3_goodbye_lapses_at_once() -> None:
    driven = DrivenCore.started()
    driven.say(10, Goodbye())
    assert driven.core.fleet_view(driven.now).leases_lapsed == 2


def test_C3_a_thawed_worker_is_asked_again_once_it_is_heard() -> None:
    driven = DrivenCore.started()
    driven.hold_acks = True
    driven.wait(15.0)
    count = len(driven.leases(10))
    driven.wait(100.0)
    assert len(driven.leases(10)) == count, "a frozen tab gets no more leases"
    pushed = [sent for sent in driven.wanted(effects.SendPolicy) if sent.connection_id == 10]
    assert len(pushed) == 2, "one policy to begin with, one to ask whether it lives"
    driven.hold_acks = False
    for answer in driven.workers[10].take_policy(0):
        driven.say(10, answer)
    assert len(driven.leases(10)) > count


def test_never_more_than_one_unacknowledged_policy_and_the_latest_wins() -> None:
    driven = DrivenCore.started(batch_segments=3)
    driven.hold_acks = True
    for _ in range(4):
        driven.play(10)
        if driven.updating:
            driven.publish()
            driven.wait(0.1)  # until nobody waits for worker 10's session any more
    pushed = [sent.policy_version for sent in driven.wanted(effects.SendPolicy) if sent.connection_id == 10]
    assert pushed == [0, 1]
    newest = driven.version
    assert newest > 1
    for answer in driven.workers[10].take_policy(1):
        driven.say(10, answer)
    pushed = [sent.policy_version for sent in driven.wanted(effects.SendPolicy) if sent.connection_id == 10]
    assert pushed == [0, 1, newest]


def idle_at_a_new_version(num_hosts: int = 1, **changes: Any) -> DrivenCore:
    """Two workers with nothing to play are sent version 1, and have not yet acknowledged it."""
    driven = DrivenCore(small_config(batch_segments=6, **changes))
    for host in range(num_hosts):
        driven.host(1 + host, f"{host:032x}")
    for index in range(2):
        driven.join(10 + index, index, host_id=f"{index % num_hosts:032x}")
    driven.ready()
    while driven.workers[10].leases or driven.workers[11].leases:
        for connection_id in (10, 11):
            if driven.workers[connection_id].leases:
                driven.play(connection_id)
    assert driven.updating
    driven.hold_acks = True
    driven.publish()
    return driven


def leased(driven: DrivenCore) -> list[int]:
    """Connections that were given a lease of version 1."""
    newest = [
        [lease.seats[0].policy_version for lease in driven.leases(connection_id)][-1]
        for connection_id in (10, 11)
    ]
    return [connection_id for connection_id, version in zip((10, 11), newest, strict=True) if version == 1]


def acknowledge(driven: DrivenCore, connection_id: int) -> None:
    (answer,) = driven.workers[connection_id].take_policy(1)
    driven.say(connection_id, answer)


def test_idle_workers_of_a_host_begin_together_once_all_have_their_session() -> None:
    driven = idle_at_a_new_version()
    assert leased(driven) == []
    acknowledge(driven, 10)
    assert leased(driven) == [], "it would keep the other from making its session"
    acknowledge(driven, 11)
    assert leased(driven) == [10, 11]


def test_nobody_waits_for_a_session_that_takes_too_long() -> None:
    driven = idle_at_a_new_version()
    acknowledge(driven, 10)
    look = driven.wanted(effects.WakeAfter)[-1]
    driven.wait(look.seconds - 0.001)
    assert leased(driven) == []
    driven.wait(0.001)
    assert leased(driven) == [10, 11]


def test_nobody_waits_for_sessions_on_another_host() -> None:
    driven = idle_at_a_new_version(num_hosts=2)
    assert leased(driven) == [10, 11]
    assert not driven.wanted(effects.WakeAfter)


def test_C8_in_sync_leases_follow_the_policy_at_once() -> None:
    driven = idle_at_a_new_version(schedule="sync")
    assert leased(driven) == [10, 11]
