import pytest

from attract.collection.fleet import MAX_GONE, MAX_IDLE_SHOWN, Fleet, Worker
from fake_worker import FakeWorker, host_hello


def joined(fleet: Fleet, connection_id: int, index: int, host_id: str = "a" * 32) -> Worker:
    fake = FakeWorker("run-1", host_id=host_id, worker_index=index, worker_key=f"{connection_id:032x}")
    return fleet.connect_worker(connection_id, fake.hello(), "local", 0.0)[0]


def test_C8_seats_follow_from_host_and_index() -> None:
    fleet = Fleet(4)
    fleet.connect_host(1, host_hello("b" * 32), "local")
    fleet.connect_host(2, host_hello("a" * 32), "local")
    for connection_id, index, host in ((13, 1, "a"), (12, 0, "a"), (11, 1, "b"), (10, 0, "b")):
        joined(fleet, connection_id, index, host * 32)
    assert [worker.connection_id for worker in fleet.waiting_for_admission()] == [10, 11, 12, 13]


def test_C1_ids_are_never_given_twice() -> None:
    fleet = Fleet(4)
    first, second = joined(fleet, 10, 0), joined(fleet, 11, 1)
    for worker in (first, second):
        fleet.admit(worker)
    fleet.disconnect(10, 1.0)
    third = joined(fleet, 12, 0)
    fleet.admit(third)
    assert [list(worker.instance_ids) for worker in (first, second, third)] == [
        [0, 1, 2, 3],
        [4, 5, 6, 7],
        [8, 9, 10, 11],
    ]
    assert [worker.worker_id for worker in fleet.present()] == [1, 2]
    assert fleet.newest_of(third.host, 0) is third


def test_a_replaced_socket_speaks_for_nobody() -> None:
    fleet = Fleet(4)
    worker = joined(fleet, 10, 0)
    fake = FakeWorker("run-1", host_id="a" * 32, worker_key=f"{10:032x}")
    again, replaced = fleet.connect_worker(20, fake.hello(), "local", 1.0)
    assert again is worker
    assert replaced == 10
    assert fleet.of(10) is None
    assert fleet.disconnect(10, 2.0) is None
    assert worker.connection_id == 20


def test_C4_speed_is_smoothed_over_leases() -> None:
    worker = joined(Fleet(4), 10, 0)
    worker.measured(1000, 1.0)
    assert worker.steps_per_second == 1000.0
    worker.measured(2000, 1.0)
    assert worker.steps_per_second == pytest.approx(1300.0)  # 1000 + 0.3 x 1000
    worker.measured(2000, 0.0)
    assert worker.steps_per_second == pytest.approx(1300.0)


def test_who_left_is_shown_for_half_a_minute() -> None:
    fleet = Fleet(4)
    fleet.connect_host(1, host_hello("a" * 32), "local")
    joined(fleet, 10, 0)
    fleet.disconnect(10, 5.0)
    shown = fleet.view(34.0, leases_open=0, leases_lapsed=0, blocks_refused=0)
    assert [worker.state for worker in shown.hosts[0].workers] == ["gone"]
    later = fleet.view(36.0, leases_open=0, leases_lapsed=0, blocks_refused=0)
    assert later.hosts[0].workers == []


def test_scale_03_how_long_ago_the_last_worker_left() -> None:
    fleet = Fleet(4)
    assert fleet.last_left(5.0) is None
    first, second = joined(fleet, 10, 0), joined(fleet, 11, 1)
    assert fleet.last_left(5.0) is None
    fleet.disconnect(10, 7.0)
    assert fleet.last_left(9.0) is None
    # The network is down: no socket closes, the lease of the other lapses in silence.
    second.last_seen = 8.0
    fleet.set_silent(second, True)
    assert fleet.last_left(30.0) == 22.0
    # The server's ping has no answer, and the socket closes: nobody has come meanwhile, and nobody left now.
    fleet.disconnect(11, 40.0)
    assert fleet.last_left(41.0) == 33.0
    joined(fleet, 12, 0)
    assert fleet.last_left(30.0) is None
    assert first.disconnected_at == 7.0


def test_conduct_counts_for_who_stands_behind_the_socket_whatever_a_page_calls_itself() -> None:
    fleet = Fleet(4)
    strangers: list[Worker] = []
    for connection_id, host in ((10, "a"), (11, "b")):
        hello = FakeWorker("run-1", host_id=host * 32, worker_key=f"{connection_id:032x}").hello()
        strangers.append(fleet.connect_worker(connection_id, hello, "invited", 0.0, "3f2a9c01@192.0.2.7")[0])
        fleet.connect_host(20 + connection_id, host_hello(host * 32), "invited", "3f2a9c01@192.0.2.7")
    assert {stranger.identity for stranger in strangers} == {"3f2a9c01@192.0.2.7"}
    assert {host.identity for host in fleet.hosts.values()} == {"3f2a9c01@192.0.2.7"}
    own = [joined(fleet, connection_id, index) for connection_id, index in ((12, 0), (13, 1))]
    assert [worker.identity for worker in own] == ["a" * 32 + "/0", "a" * 32 + "/1"]


def test_hostile_B_of_1020_lives_with_one_token_only_the_last_are_remembered() -> None:
    fleet = Fleet(4)
    honest = joined(fleet, 1, 0)
    fleet.admit(honest)
    for number in range(1020):
        host_id = f"{number:032x}"
        fleet.connect_host(5000 + number, host_hello(host_id), "invited")
        guest = joined(fleet, 10 + number, 0, host_id)
        fleet.admit(guest)
        for connection_id in (10 + number, 5000 + number):
            fleet.disconnect(connection_id, float(number))
        fleet.leave(guest)
    assert len(fleet.workers) == MAX_GONE + 1
    assert len(fleet.hosts) <= 3 * MAX_GONE
    assert guest.worker_id == 1020, "ids are not given again"
    assert fleet.by_id(honest.worker_id) is honest and fleet.by_id(1020) is guest
    assert fleet.present() == [honest]
    # What is left of a forgotten one, say in an update under way, counts for nobody.
    assert not fleet.by_id(1).present
    fleet.by_id(1).episodes += 1
    # One that comes back after that is a stranger: it gets ids of its own.
    again = joined(fleet, 9999, 0, f"{0:032x}")
    fleet.admit(again)
    assert again.worker_id == 1021


def test_a_worker_that_comes_back_in_time_is_not_forgotten() -> None:
    fleet = Fleet(4)
    worker = joined(fleet, 10, 0)
    fleet.admit(worker)
    fleet.disconnect(10, 0.0)
    fleet.leave(worker)
    assert joined(fleet, 10, 0) is worker
    for number in range(MAX_GONE + 1):
        guest = joined(fleet, 100 + number, 1)
        fleet.disconnect(100 + number, 1.0)
        fleet.leave(guest)
    assert fleet.by_id(worker.worker_id) is worker and fleet.present() == [worker]


def test_0048_of_1530_pages_without_workers_the_view_names_a_few_and_counts_all() -> None:
    fleet = Fleet(4)
    for number in range(1530):
        fleet.connect_host(5000 + number, host_hello(f"{number:032x}"), "invited")
    for connection_id, host in ((10, 1529), (11, 3)):
        joined(fleet, connection_id, 0, f"{host:032x}")
    view = fleet.view(0.0, leases_open=0, leases_lapsed=0, blocks_refused=0)
    assert [int(host.host_id, 16) for host in view.hosts] == [*range(MAX_IDLE_SHOWN + 1), 1529]
    assert [int(host.host_id, 16) for host in view.hosts if host.workers] == [3, 1529]
    assert view.num_hosts == 1530
    for number in range(1529):
        fleet.disconnect(5000 + number, 1.0)
    fleet.disconnect(10, 1.0)
    later = fleet.view(2.0, leases_open=0, leases_lapsed=0, blocks_refused=0)
    # One worker's page is gone but it plays on, the other's page is here without it.
    assert ([len(host.workers) for host in later.hosts], later.num_hosts) == ([1, 1], 2)


def test_0048_the_view_of_many_pages_looks_at_each_worker_once() -> None:
    seen: list[str] = []

    class Counted(Worker):
        def __getattribute__(self, name: str) -> object:
            if name == "disconnected_at":
                seen.append(name)
            return super().__getattribute__(name)

    fleet = Fleet(4)
    for number in range(100):
        fleet.connect_host(5000 + number, host_hello(f"{number:032x}"), "local")
        worker = joined(fleet, 10 + number, 0, f"{number:032x}")
        worker.__class__ = Counted
    fleet.view(0.0, leases_open=0, leases_lapsed=0, blocks_refused=0)
    assert len(seen) == len(fleet.workers)
