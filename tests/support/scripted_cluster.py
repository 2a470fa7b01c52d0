"""Processes of a cluster that a test moves by hand: what they say, how they end, where they move."""

import asyncio
from collections.abc import Mapping, Sequence

from attract.cluster.keeper import Said
from attract.cluster.plan import ChildOrder, Place
from attract.errors import AwayError


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
