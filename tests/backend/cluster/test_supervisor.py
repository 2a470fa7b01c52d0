"""What a supervisor does when processes end, are killed, are lost or move."""

import asyncio
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pytest

from attract.cluster import supervisor as module
from attract.cluster.keeper import Line, Said
from attract.cluster.plan import ChildOrder, ClusterPlan, Place
from attract.cluster.supervisor import MAX_REFUSALS, MAX_RESTARTS, Supervisor
from attract.errors import AwayError, ClusterError


class ScriptedProcess:
    """A `RemoteProcess` without any process."""

    def __init__(self, address: str, *, has_room: bool) -> None:
        self.address = address
        self.preferred: list[tuple[int, ...]] = []
        self.orders: list[ChildOrder] = []
        self.signals: list[int] = []
        self.is_stopped = False
        self.is_away = False
        self.placed = asyncio.Event()
        if has_room:
            self.placed.set()
        self._said: asyncio.Queue[Said] = asyncio.Queue()
        self._started = asyncio.Semaphore(0)

    async def place(self, preferred: Sequence[int]) -> Place:
        await self.placed.wait()
        self._check()
        self.preferred.append(tuple(preferred))
        ports = (*preferred, 7001, 7002)
        return Place(self.address, ports[0], ports[1])

    async def start(self, order: ChildOrder) -> None:
        self._check()
        self.orders.append(order)
        self._said = asyncio.Queue()
        self._started.release()

    async def read(self) -> Said:
        self._check()
        return await self._said.get()

    async def signal(self, number: int) -> None:
        self._check()
        self.signals.append(number)

    async def stop(self) -> None:
        # As an actor that Ray has not placed yet, which answers nothing.
        await self.placed.wait()
        self.is_stopped = True

    def _check(self) -> None:
        if self.is_away:
            raise AwayError("away")

    # --- what a test does ---

    async def started(self) -> ChildOrder:
        """The next order that it is started with."""
        await asyncio.wait_for(self._started.acquire(), 10)
        return self.orders[-1]

    def says(self, text: str) -> None:
        """It writes a line."""
        self._said.put_nowait(Said((("stdout", text),)))

    def ends(self, code: int) -> None:
        """It ends."""
        self._said.put_nowait(Said(code=code))

    def is_lost(self, address: str | None = None) -> None:
        """Its keeper is another one from now on, maybe on another node."""
        self.address = address or self.address
        self._said.put_nowait(Said(is_there=False))


class ScriptedCluster:
    """A `Cluster` of such processes, on nodes of addresses of their own."""

    def __init__(self, *, has_room: bool = True) -> None:
        self._has_room = has_room
        self.cells: list[ScriptedProcess] = []
        self.hosts: list[ScriptedProcess] = []
        self.bundles: list[list[dict[str, float]]] = []

    def pack(self, bundles: Sequence[Mapping[str, float]]) -> ScriptedProcess:
        self.bundles.append([dict(bundle) for bundle in bundles])
        self.cells.append(ScriptedProcess(f"10.0.0.{len(self.cells)}", has_room=self._has_room))
        return self.cells[-1]

    def spread(self, num_cpus: int) -> ScriptedProcess:
        self.bundles.append([{"CPU": float(num_cpus)}])
        self.hosts.append(ScriptedProcess(f"10.0.1.{len(self.hosts)}", has_room=self._has_room))
        return self.hosts[-1]


PLAN = ClusterPlan(
    game="cartpole",
    words=(),
    run_id="r",
    runs_dir="/runs",
    folder="/",
    environment={},
    cells=2,
    hosts=2,
    workers=1,
    has_browsers=False,
    gpus=0,
    token="the-token-of-the-fleet",
)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWAY_SECONDS", "AGAIN_SECONDS"):
        monkeypatch.setattr(module, name, 0.01)
    monkeypatch.setattr(module, "TOGETHER_SECONDS", 0.1)
    monkeypatch.setattr(module, "PENDING_SECONDS", 0.02)


async def until(holds: Callable[[], bool]) -> None:
    """Wait for what other tasks of this loop do."""
    for _ in range(100_000):
        if holds():
            return
        await asyncio.sleep(0)
    raise AssertionError("it never came to be")


class Running:
    """A supervisor at work, with what it wrote and said."""

    def __init__(self, plan: ClusterPlan = PLAN, *, has_room: bool = True) -> None:
        self._plan = plan
        self.cluster = ScriptedCluster(has_room=has_room)
        self.written: list[Line] = []
        self.said: list[str] = []
        self.supervisor = Supervisor(plan, self.cluster, write=self.written.append, say=self.said.append)
        self.task = asyncio.ensure_future(self.supervisor.run())

    async def code(self) -> int:
        return await asyncio.wait_for(self.task, 10)

    async def all_asked_for(self) -> None:
        await until(lambda: len(self.cluster.bundles) == self._plan.cells + self._plan.hosts)

    async def all_started(self) -> None:
        await self.all_asked_for()
        for process in (*self.cluster.cells, *self.cluster.hosts):
            await process.started()


async def test_cell_0_is_heard_and_its_exit_code_is_that_of_all():
    running = Running()
    await running.all_started()
    cells, hosts = running.cluster.cells, running.cluster.hosts
    cells[0].says("update 1")
    cells[1].says("of the other")
    hosts[1].says("joined")
    await until(lambda: len(running.said) == 6)
    cells[0].ends(3)
    assert await running.code() == 3
    assert running.written == [("stdout", "update 1")]
    assert {"cell 1: of the other", "host 1: joined", "host 1 is on 10.0.1.1, for cell 1"} <= set(
        running.said
    )
    assert all(process.is_stopped for process in (*cells, *hosts))
    assert [host.orders[0].stdin.partition("/join")[0] for host in hosts] == [
        "http://10.0.0.0:8000",
        "http://10.0.0.1:7001",
    ]
    assert cells[1].orders[0].environment["MASTER_ADDR"] == "10.0.0.0"


async def test_a_cell_that_is_killed_goes_on_at_its_address_and_not_for_ever():
    running = Running(replace(PLAN, cells=1, hosts=0))
    await running.all_asked_for()
    (cell,) = running.cluster.cells
    assert "--resume-auto" not in (await cell.started()).words
    for _ in range(MAX_RESTARTS):
        cell.ends(-9)
        assert "--resume-auto" in (await cell.started()).words
    assert cell.preferred == [(8000,), *[(8000, 7001)] * MAX_RESTARTS]
    assert "cell 0 was killed by SIGKILL; it goes on" in running.said
    cell.ends(-9)
    with pytest.raises(ClusterError, match="cell 0 was killed by SIGKILL, 4 times"):
        await running.code()


async def test_where_cell_0_moves_the_others_and_its_hosts_follow_it():
    running = Running()
    await running.all_started()
    cells, hosts = running.cluster.cells, running.cluster.hosts
    cells[0].is_lost("10.0.0.9")
    assert "--resume-auto" in (await cells[0].started()).words
    assert (await cells[1].started()).environment["MASTER_ADDR"] == "10.0.0.9"
    assert (await hosts[0].started()).stdin.startswith("http://10.0.0.9:8000/")
    # The host of cell 1 stays: that one is where it was.
    assert len(hosts[1].orders) == 1 and len(cells[1].orders) == 2
    assert "cell 0 is on 10.0.0.9" in running.said
    cells[0].ends(0)
    assert await running.code() == 0


async def test_a_host_that_is_lost_joins_anew_from_where_it_is_placed():
    running = Running()
    await running.all_started()
    host = running.cluster.hosts[0]
    host.is_lost("10.0.1.9")
    assert (await host.started()).stdin == host.orders[0].stdin
    assert "host 0 is on 10.0.1.9, for cell 0" in running.said
    running.cluster.cells[0].ends(0)
    assert await running.code() == 0


async def test_who_does_not_answer_for_a_moment_is_left_alone():
    running = Running()
    await running.all_started()
    cell = running.cluster.cells[0]
    cell.is_away = True
    cell.says("still here")
    await asyncio.sleep(0.05)
    cell.is_away = False
    cell.says("and now")
    cell.ends(0)
    assert await running.code() == 0
    assert len(cell.orders) == 1 and ("stdout", "and now") in running.written


async def test_a_host_that_is_never_let_in_ends_all():
    running = Running()
    await running.all_started()
    for _ in range(MAX_REFUSALS):
        running.cluster.hosts[1].ends(2)
        await running.cluster.hosts[1].started()
    running.cluster.hosts[1].ends(2)
    with pytest.raises(ClusterError, match="host 1 ended with exit code 2, 6 times"):
        await running.code()
    assert all(cell.is_stopped for cell in running.cluster.cells)


async def test_a_cell_that_fails_by_itself_ends_all_and_is_named():
    running = Running()
    await running.all_started()
    running.cluster.cells[1].ends(1)
    with pytest.raises(ClusterError, match="cell 1 ended with exit code 1"):
        await running.code()


async def test_an_end_that_is_asked_for_is_cell_0_s_to_make():
    running = Running()
    await running.all_started()
    await running.supervisor.end(130)
    assert running.cluster.cells[0].signals == [signal.SIGINT]
    # Another cell may notice first.
    running.cluster.cells[1].ends(1)
    running.cluster.cells[0].ends(130)
    assert await running.code() == 130


async def test_what_waits_for_a_node_says_so_and_ends_when_it_is_asked_to():
    running = Running(replace(PLAN, cells=1, hosts=0), has_room=False)
    await running.all_asked_for()
    await until(lambda: bool(running.said))
    assert running.said == [
        "cell 0 waits for a node with enough free resources: `ray status` shows the requests"
    ]
    await running.supervisor.end(143)
    assert await running.code() == 143
