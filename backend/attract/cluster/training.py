"""A training on a cluster: places its members, prints what they write, and ends with the trainer."""

import asyncio
import contextlib
import signal
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Final

from attract.cluster.child import END_SECONDS
from attract.cluster.engine import RayActor, RayCluster, here
from attract.cluster.member import LOST, TRAINER, Line, Member
from attract.cluster.plan import ClusterPlan
from attract.errors import ClusterError
from attract.processes.exit_codes import DONE, GOAL_MISSED

PENDING_SECONDS: Final = 10.0
"""Time without a place after which the wait is reported."""
TOGETHER_SECONDS: Final = 20.0
"""Time for the others to end by themselves after the trainer."""
STOP_SECONDS: Final = END_SECONDS + 10
ORDERLY: Final = (DONE, GOAL_MISSED)


class Training:
    """The actors of one `attract cluster`; owned by the command, on its event loop."""

    def __init__(self, plan: ClusterPlan, cluster: RayCluster, write: Callable[[Line], None]) -> None:
        """`write` gets each line as it comes, to a stream or `cluster`."""
        self._plan = plan
        self._cluster = cluster
        self._write = write
        self._lines = cluster.queue()
        self._ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._placed: dict[str, RayActor] = {}
        self._ending: int | None = None

    async def run(self) -> int:
        """Train until the trainer has ended; its exit code.

        In the end all are stopped, which takes up to half a minute; cancelled, they are left to Ray.

        Raises: ClusterError: when the cluster does not run what it was asked for.
        """
        plan, start = self._plan, self._start
        trainer = start(TRAINER, **self._cluster.packed(plan.bundles()))
        spread = {"scheduling_strategy": "SPREAD", "num_cpus": plan.workers}
        hosts = {name: start(name, **spread) for name in (f"host {i}" for i in range(plan.hosts))}
        minding = [self._mind(TRAINER, trainer, None)]
        minding += [self._mind(name, host, trainer) for name, host in hosts.items()]
        tasks = [self._task(member) for member in minding]
        printing = self._task(self._print())
        try:
            code = await self._ended
            if code in ORDERLY:
                # They end with the trainer, and write what they have to.
                await asyncio.wait(tasks, timeout=TOGETHER_SECONDS)
            return code
        except asyncio.CancelledError:
            self._placed.clear()
            raise
        finally:
            for task in tasks:
                task.cancel()
            # What was never placed answers nothing, and what is lost by now does not either.
            stops = [self._task(member.call("stop", is_repeated=False)) for member in self._placed.values()]
            await asyncio.wait([*tasks, *stops], timeout=STOP_SECONDS)
            await asyncio.wait([self._task(self._lines.put_async(None)), printing], timeout=STOP_SECONDS)

    async def end(self, code: int) -> None:
        """Ask the trainer for an orderly end of all; where it does not run, this is the end, by `code`."""
        self._ending = code
        lead = self._placed.get(TRAINER)
        with contextlib.suppress(ClusterError):
            if lead and await lead.call("signal", signal.SIGINT, is_repeated=False):
                return
        self._finish(code)

    def _start(self, name: str, **options: Any) -> RayActor:
        where = partial(here, is_local=self._cluster.is_local)
        return self._cluster.start(Member, self._plan, name, where, **options)

    async def _mind(self, name: str, member: RayActor, target: RayActor | None) -> None:
        waits = f"{name} waits for a node with enough free resources: `ray status` shows the requests"
        pending = asyncio.get_running_loop().call_later(PENDING_SECONDS, self._write, ("cluster", waits))
        try:
            await member.call("place")
        finally:
            pending.cancel()
        self._placed[name] = member
        end = await member.call("run", target, self._lines)
        if isinstance(end, str):
            raise ClusterError(end)
        if target is None:
            self._finish(end)

    async def _print(self) -> None:
        while (line := await self._lines.get_async()) is not None:
            if line[0] != "lost":
                self._write(line)
                continue
            self._write(("cluster", LOST))
            if self._ending is not None and line[1] == TRAINER:
                # It was asked to end, and nobody asks it again.
                self._finish(self._ending)

    def _finish(self, code: int) -> None:
        if not self._ended.done():
            self._ended.set_result(code)

    def _task(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        task = asyncio.create_task(work)
        task.add_done_callback(self._task_ended)
        return task

    def _task_ended(self, task: "asyncio.Task[None]") -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None and not self._ended.done():
            self._ended.set_exception(error)
