"""Starts all cells and hosts of a training, prints the output of cell 0, and restarts what was lost."""

import asyncio
import contextlib
import dataclasses
import signal
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from attract.cluster.child import END_SECONDS
from attract.cluster.keeper import Line, Said
from attract.cluster.plan import ClusterPlan, Place
from attract.cluster.remote import Cluster, RemoteProcess
from attract.errors import AwayError, ClusterError
from attract.processes.exit_codes import DONE, FAILED, GOAL_MISSED

AWAY_SECONDS: Final = 0.5
"""Between two checks for what Ray has restarted elsewhere."""
PENDING_SECONDS: Final = 10.0
"""Time without a place after which the wait is reported."""
AGAIN_SECONDS: Final = 5.0
"""Before a host that ended is started again."""
TOGETHER_SECONDS: Final = 20.0
"""Time for the others to end by themselves after cell 0."""
STOP_SECONDS: Final = END_SECONDS + 10
MAX_RESTARTS: Final = 3
"""Restarts of one cell whose process was killed while its node stayed: the cause will kill it again."""
MAX_REFUSALS: Final = 5
"""Refusals of one host in a row after which it is given up: it will never be accepted."""
ORDERLY: Final = (DONE, GOAL_MISSED)

Answer = TypeVar("Answer")


class Supervisor:
    """Supervises the processes of one `attract cluster`; owned by the command, on its event loop."""

    def __init__(
        self,
        plan: ClusterPlan,
        cluster: Cluster,
        *,
        write: Callable[[Line], None],
        say: Callable[[str], None],
    ) -> None:
        """`write` gets each line of cell 0 as it comes, `say` the messages about the others."""
        self._plan = plan
        self._cluster = cluster
        self._write = write
        self._say = say
        self._places: dict[int, Place] = {}
        self._moved = asyncio.Condition()
        self._ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._begun: set[RemoteProcess] = set()
        self._lead: RemoteProcess | None = None
        self._ending: int | None = None

    async def run(self) -> int:
        """Train until cell 0 has ended; its exit code, or 1 when it cannot be kept up.

        Cancelled, it ends everything, which takes up to half a minute.

        Raises: ClusterError: when the cluster does not run what it was asked for.
        """
        cells = [asyncio.create_task(self._mind_cell(rank)) for rank in range(self._plan.cells)]
        hosts = [asyncio.create_task(self._mind_host(number)) for number in range(self._plan.hosts)]
        for task in (*cells, *hosts):
            task.add_done_callback(self._task_ended)
        code = FAILED
        try:
            code = await self._ended
            if code in ORDERLY:
                # They end with cell 0, and write what they have to.
                await asyncio.wait([*cells, *hosts], timeout=TOGETHER_SECONDS)
            return code
        finally:
            for task in (*cells, *hosts):
                task.cancel()
            await asyncio.gather(*cells, *hosts, return_exceptions=True)
            # What was never placed answers nothing, and what is lost by now may not either.
            stops = [asyncio.wait_for(process.stop(), STOP_SECONDS) for process in self._begun]
            await asyncio.gather(*stops, return_exceptions=True)

    async def end(self, code: int) -> None:
        """Ask cell 0 for an orderly end, of all; where it does not run, that is the end, with this code."""
        self._ending = code
        if self._lead is None:
            self._finish(code)
            return
        with contextlib.suppress(AwayError):
            await self._lead.signal(signal.SIGINT)
            return
        self._finish(code)

    def _finish(self, code: int) -> None:
        if not self._ended.done():
            self._ended.set_result(code)

    def _task_ended(self, task: "asyncio.Task[None]") -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None and not self._ended.done():
            self._ended.set_exception(error)

    # --- cells ---

    async def _mind_cell(self, rank: int) -> None:
        name = f"cell {rank}"
        process = self._cluster.pack(self._plan.bundles())
        place: Place | None = None
        is_begun, restarts = False, 0
        while True:
            known = place
            place = await self._placed(process, name, self._preferred(rank, known))
            if rank == 0 and self._plan.port is not None:
                place = dataclasses.replace(place, port=self._plan.port)
            if known is None or place.address != known.address:
                self._say(f"{name} is on {place.address}")
            async with self._moved:
                self._places[rank] = place
                self._moved.notify_all()
            master = place if rank == 0 else await self._place_of(0)
            order = self._plan.cell(rank, place, master, again=is_begun)
            self._begun.add(process)
            if not await _is_done(process.start(order)):
                continue
            is_begun = True
            if rank == 0:
                self._lead = process
            code = await self._follow(
                process,
                self._write if rank == 0 else self._labelled_output(name),
                0 if rank else None,
                master,
            )
            if rank == 0:
                self._lead = None
            if code is None:
                if rank == 0 and self._ending is not None:
                    self._finish(self._ending)
                    return
                continue
            if code >= 0:
                if rank == 0:
                    self._finish(code)
                elif code not in ORDERLY and self._ending is None:
                    raise ClusterError(f"{name} ended with exit code {code}")
                return
            restarts += 1
            killed = f"{name} was killed by {signal.Signals(-code).name}"
            if restarts > MAX_RESTARTS:
                raise ClusterError(f"{killed}, {restarts} times in all")
            self._say(f"{killed}; it goes on")

    def _preferred(self, rank: int, known: Place | None) -> tuple[int, ...]:
        """The ports that it had, so that who knows them finds it again."""
        if known is not None:
            return (known.port, known.master_port)
        return () if rank else (self._plan.first_port,)

    # --- hosts ---

    async def _mind_host(self, number: int) -> None:
        name = f"host {number}"
        cell = number % self._plan.cells
        process = self._cluster.spread(self._plan.workers)
        where: str | None = None
        refusals = 0
        while True:
            place = await self._placed(process, name, ())
            if place.address != where:
                where = place.address
                self._say(f"{name} is on {where}, for cell {cell}")
            target = await self._place_of(cell)
            self._begun.add(process)
            if not await _is_done(process.start(self._plan.host(target))):
                continue
            code = await self._follow(process, self._labelled_output(name), cell, target)
            if code is None:
                refusals = 0
                continue
            if code == DONE:
                return
            refusals += 1
            if refusals > MAX_REFUSALS:
                raise ClusterError(f"{name} ended with exit code {code}, {refusals} times")
            await asyncio.sleep(AGAIN_SECONDS)

    # --- both ---

    async def _placed(self, process: RemoteProcess, name: str, preferred: tuple[int, ...]) -> Place:
        """Wait until it has a place; report once if that takes long."""
        pending = asyncio.get_running_loop().call_later(
            PENDING_SECONDS,
            self._say,
            f"{name} waits for a node with enough free resources: `ray status` shows the requests",
        )
        try:
            while True:
                place = await _unless_away(process.place(preferred))
                if place is not None:
                    return place
                await asyncio.sleep(AWAY_SECONDS)
        finally:
            pending.cancel()

    async def _place_of(self, rank: int) -> Place:
        async with self._moved:
            await self._moved.wait_for(lambda: rank in self._places)
            return self._places[rank]

    async def _follow(
        self, process: RemoteProcess, write: Callable[[Line], None], watched: int | None, known: Place
    ) -> int | None:
        """Hand on what it writes until it ends; its exit code.

        None: it has to be restarted, since it is lost or the cell `watched` is not where it was `known`.
        """
        moved = None if watched is None else asyncio.create_task(self._leaves(watched, known))
        try:
            while True:
                reading = asyncio.create_task(_read(process))
                await asyncio.wait(
                    [reading] if moved is None else [reading, moved], return_when=asyncio.FIRST_COMPLETED
                )
                if moved is not None and moved.done():
                    reading.cancel()
                    return None
                said = reading.result()
                if said is None:
                    await asyncio.sleep(AWAY_SECONDS)
                    continue
                for line in said.lines:
                    write(line)
                if not said.is_there:
                    self._say("a process was lost with its node or its supervisor: Ray restarts it elsewhere")
                    return None
                if said.code is not None:
                    return said.code
        finally:
            if moved is not None:
                moved.cancel()

    async def _leaves(self, rank: int, known: Place) -> None:
        async with self._moved:
            await self._moved.wait_for(lambda: self._places[rank] != known)

    def _labelled_output(self, name: str) -> Callable[[Line], None]:
        return lambda line: self._say(f"{name}: {line[1]}")


async def _read(process: RemoteProcess) -> Said | None:
    return await _unless_away(process.read())


async def _unless_away(call: Awaitable[Answer]) -> Answer | None:
    try:
        return await call
    except AwayError:
        return None


async def _is_done(call: Awaitable[None]) -> bool:
    try:
        await call
    except AwayError:
        return False
    return True
