from typing import Any

import pytest

from attract.collection.fleet import Host, Worker
from attract.collection.leases import Lease, LeaseBook
from attract.collection.pipelining import (
    AsyncSchedule,
    CollectionStatus,
    LeaseGrant,
    OverlapSchedule,
    Schedule,
    SyncSchedule,
    segments_by_speed,
)


def worker(worker_id: int, version: int | None = 0, num_leases: int = 0) -> Worker:
    book = LeaseBook()
    made = Worker("k", Host("h", 0), worker_id, "local", worker_id, 0.0, worker_id=worker_id)
    made.sent_version = version
    for _ in range(num_leases):
        lease = Lease(worker_id, "train", version=0, first_slot=0, num_slots=1, num_segments=1, local=True)
        made.leases.append(book.issue(lease, 0.0))
    return made


def progress(**changes: Any) -> CollectionStatus:
    values: dict[str, Any] = {
        "version": 0,
        "busy": False,
        "pooled": 0,
        "promised": (),
        "target": 6,
        "boundary": False,
    }
    return CollectionStatus(**(values | changes))


def next_order(schedule: Schedule, stands: CollectionStatus, workers: list[Worker]) -> LeaseGrant | None:
    return next(schedule.orders(stands, workers, lambda: workers), None)


def test_S1_a_batch_is_predicted_to_close_at_the_lease_that_fills_it() -> None:
    assert progress().batches_ahead == 0
    assert progress(promised=(3, 2)).batches_ahead == 0
    assert progress(promised=(3, 3)).batches_ahead == 1
    assert progress(promised=(100, 3)).batches_ahead == 1, "the surplus trains too"
    assert progress(promised=(6, 6)).batches_ahead == 2
    assert progress(pooled=5, promised=(1,)).batches_ahead == 1
    assert progress(pooled=6, promised=(5,)).batches_ahead == 1


def test_overlap_issues_nothing_whose_segments_would_be_too_old() -> None:
    schedule = OverlapSchedule(1, 1)
    workers = [worker(0), worker(1, num_leases=1)]
    order = next_order(schedule, progress(promised=(3,)), workers)
    assert order is not None
    assert order.worker is workers[0], "who has none comes first"
    # one batch promised: the next one begins at version 1, which may use version 0
    assert next_order(schedule, progress(promised=(3, 3)), workers) is not None
    # two promised: the third begins at version 2
    assert next_order(schedule, progress(promised=(6, 6)), workers) is None
    # the learner is in the update of version 0: a full batch promised is all it may use of version 0
    assert next_order(schedule, progress(busy=True, promised=(3, 3)), workers) is None
    assert next_order(schedule, progress(busy=True, promised=(3,)), workers) is not None
    # who was not sent the newest version yet has less time
    assert next_order(schedule, progress(version=1, promised=(3, 3)), [worker(0, version=0)]) is None
    assert next_order(schedule, progress(), [worker(0, version=None)]) is None
    assert next_order(schedule, progress(), [worker(0, num_leases=2)]) is None


def test_overlap_with_lag_0_waits_for_the_learner() -> None:
    schedule = OverlapSchedule(1, 0)
    assert next_order(schedule, progress(busy=True), [worker(0)]) is None
    assert next_order(schedule, progress(promised=(6,)), [worker(0)]) is None
    assert next_order(schedule, progress(promised=(5,)), [worker(0)]) is not None


def test_C4_overlap_asks_fast_workers_for_more() -> None:
    schedule = OverlapSchedule(4, 1)
    fast, slow = worker(0), worker(1)
    fast.steps_per_second, slow.steps_per_second = 150.0, 50.0
    order = next_order(schedule, progress(), [fast, slow])
    assert order is not None
    assert (order.worker, order.num_segments) == (fast, 6)
    fast.leases = worker(0, num_leases=1).leases
    order = next_order(schedule, progress(), [fast, slow])
    assert order is not None
    assert (order.worker, order.num_segments) == (slow, 2)


def test_S1_overlap_starts_at_a_boundary_with_enough() -> None:
    schedule = OverlapSchedule(1, 1)
    assert schedule.may_start(progress(pooled=6, boundary=True))
    assert not schedule.may_start(progress(pooled=6))
    assert not schedule.may_start(progress(pooled=5, boundary=True))
    assert not schedule.may_start(progress(pooled=6, boundary=True, busy=True))


def test_C8_sync_starts_when_nobody_plays_any_more() -> None:
    schedule = SyncSchedule(1, 3)
    assert schedule.may_start(progress(pooled=6))
    # a lease whose segments have all come may still be open: its close decides
    assert not schedule.may_start(progress(pooled=6, promised=(0,)))
    assert not schedule.may_start(progress(pooled=5))


def test_C8_a_sync_round_waits_until_everybody_has_the_version() -> None:
    schedule = SyncSchedule(1, 3)
    assert next_order(schedule, progress(version=1), [worker(0, 1), worker(1, 0)]) is None
    ready = [worker(0, 1), worker(1, 1)]
    orders = [next_order(schedule, progress(version=1), ready) for _ in range(2)]
    assert [(order.worker.worker_id, order.num_segments) for order in orders if order] == [(0, 1), (1, 1)]


def test_S1_sync_orders_anew_what_a_lapsed_lease_owed() -> None:
    schedule = SyncSchedule(1, 3)
    workers = [worker(0), worker(1)]
    for _ in workers:
        next_order(schedule, progress(), workers)
    # worker 1 is gone with its lease: worker 0, idle again, makes up for its 3 segments
    order = next_order(schedule, progress(pooled=3), [workers[0]])
    assert order is not None
    assert order.num_segments == 1
    assert next_order(schedule, progress(pooled=3, promised=(3,)), [workers[0]]) is None


def test_prefetch_is_how_many_leases_wait_behind_the_one_in_play() -> None:
    for prefetch in (0, 1, 3):
        schedule = OverlapSchedule(1, 1, prefetch)
        assert next_order(schedule, progress(), [worker(0, num_leases=prefetch)]) is not None
        assert next_order(schedule, progress(), [worker(0, num_leases=prefetch + 1)]) is None


def test_async_seals_a_full_pool_that_waits_if_newest_leases_fit_the_batch_after_it() -> None:
    waiting = progress(busy=True, boundary=True, pooled=6)
    # In training v -> v + 1, the pool is batch v + 1, what comes now is batch v + 2: played by v, lag 2.
    assert AsyncSchedule(1, 2).may_seal(waiting)
    assert not AsyncSchedule(1, 1).may_seal(waiting), "that is overlap: its surplus trains too"
    assert not AsyncSchedule(1, 2).may_seal(progress(busy=True, pooled=6)), "only at a lease boundary (S1)"
    assert not AsyncSchedule(1, 2).may_seal(progress(boundary=True, pooled=6)), "the learner is free"
    assert not AsyncSchedule(1, 9).may_seal(progress(busy=True, boundary=True, pooled=6, sealed=1))
    assert AsyncSchedule(1, 2).may_start(progress(sealed=1))
    assert not AsyncSchedule(1, 2).may_start(progress(sealed=1, busy=True))


def test_async_issues_leases_while_a_batch_waits_and_no_more_than_that() -> None:
    idle = [worker(0)]
    # the learner works at version 0 and a batch is promised: overlap would wait
    assert next_order(OverlapSchedule(1, 1), progress(busy=True, promised=(6,)), idle) is None
    for ahead in ({"promised": (6,)}, {"sealed": 1}, {"pooled": 6}):
        assert next_order(AsyncSchedule(1, 2), progress(busy=True, **ahead), idle) is not None
        assert next_order(AsyncSchedule(1, 9), progress(busy=True, **ahead), idle) is not None
    # two are the most, however large the lag
    assert next_order(AsyncSchedule(1, 9), progress(busy=True, sealed=1, promised=(6,)), idle) is None
    # a worker that has an older version only gets what will not be too old
    assert next_order(AsyncSchedule(1, 2), progress(version=2, busy=True, sealed=1), [worker(0, 1)]) is None
    assert (
        next_order(AsyncSchedule(1, 3), progress(version=2, busy=True, sealed=1), [worker(0, 1)]) is not None
    )


@pytest.mark.parametrize(
    ("usual", "speed", "speeds", "expected"),
    [
        (4, 100.0, [100.0, 100.0], 4),
        (4, 150.0, [150.0, 50.0], 6),  # 4 x 150 / 100
        (4, 50.0, [150.0, 50.0], 2),
        (1, 10.0, [100.0, 10.0], 1),  # never less than one segment per slot
        (1, 1000.0, [1000.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], 4),  # 8 would be too many at once
        (4, None, [100.0], 4),
        (4, None, [], 4),
    ],
)
def test_C4_shares_follow_measured_speed(
    usual: int, speed: float | None, speeds: list[float], expected: int
) -> None:
    assert segments_by_speed(usual, speed, speeds) == expected
