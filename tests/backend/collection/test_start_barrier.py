from attract.collection.fleet import Fleet
from attract.collection.start_barrier import StartBarrier
from driven_core import small_config
from fake_worker import FakeWorker, host_hello


def fleet_of(num_workers: int, max_workers: int) -> Fleet:
    fleet = Fleet(4)
    fleet.connect_host(1, host_hello("a" * 32, max_workers=max_workers), "local")
    for index in range(num_workers):
        fake = FakeWorker("run-1", host_id="a" * 32, worker_index=index, worker_key=f"{index:032x}")
        fleet.connect_worker(10 + index, fake.hello(), "local", 0.0)
    return fleet


def test_C8_it_opens_when_the_expected_fleet_is_there() -> None:
    for schedule in ("sync", "overlap"):
        barrier = StartBarrier(small_config(num_workers=2, schedule=schedule))
        fleet = fleet_of(1, 2)
        barrier.changed(fleet, 0.0)
        assert not barrier.try_open(fleet, 0.1)
        assert barrier.try_open(fleet_of(2, 2), 0.2)
        assert barrier.deadline(fleet) is None


def test_C2_overlap_does_not_wait_for_workers_nobody_promised() -> None:
    barrier = StartBarrier(small_config(num_workers=4, join_seconds=60.0))
    fleet = fleet_of(1, max_workers=1)
    barrier.changed(fleet, 10.0)
    assert barrier.deadline(fleet) == 13.0
    assert not barrier.try_open(fleet, 12.9)
    assert barrier.try_open(fleet, 13.0)


def test_C2_overlap_waits_for_promised_workers_until_the_deadline() -> None:
    barrier = StartBarrier(small_config(num_workers=4, join_seconds=60.0))
    fleet = fleet_of(1, max_workers=4)
    barrier.changed(fleet, 10.0)
    assert barrier.deadline(fleet) == 70.0
    assert not barrier.try_open(fleet, 69.9)
    assert barrier.try_open(fleet, 70.0)


def test_sync_has_no_deadline_and_nobody_opens_nothing() -> None:
    sync = StartBarrier(small_config(num_workers=4, schedule="sync"))
    sync.changed(fleet_of(1, 1), 0.0)
    assert sync.deadline(fleet_of(1, 1)) is None
    empty = StartBarrier(small_config(num_workers=1))
    empty.changed(Fleet(4), 0.0)
    assert empty.deadline(Fleet(4)) is None
    assert not empty.try_open(Fleet(4), 1e9)
