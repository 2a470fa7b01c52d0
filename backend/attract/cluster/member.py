"""A cell or a host of a training: an actor that keeps its command running; Ray restarts it elsewhere."""

import asyncio
import contextlib
import json
import os
import signal
import socket
import sys
from asyncio.subprocess import PIPE, create_subprocess_exec
from collections.abc import Callable
from typing import Any, Final

from attract.cluster.child import END_SECONDS
from attract.cluster.engine import RayActor
from attract.cluster.plan import ClusterPlan, Place, child_environment
from attract.processes.exit_codes import DONE

COMMAND: Final = (sys.executable, "-m", "attract.cluster.child")
AGAIN_SECONDS: Final = 5.0
"""Before a host that ended is started again."""
PIPE_SECONDS: Final = 5.0
"""Limit for reading the last output of a process."""
MAX_RESTARTS: Final = 3
"""Restarts of one cell whose process was killed while its node stayed: the cause will kill it again."""
MAX_REFUSALS: Final = 5
"""Refusals of one host in a row after which it is given up: it will never be accepted."""
MAX_LINE_BYTES: Final = 1 << 22
LOST: Final = "a process was lost with its node or its supervisor: Ray restarts it elsewhere"

Line = tuple[str, str]
"""What cell 0 writes to `stdout` or `stderr`, or what another process, by its name, or the `cluster` says."""


class Member:
    """Runs the command of a cell or host; again when it is killed, or when the cell it depends on moved.

    Owner: its caller, on one event loop. When it is gone, for whatever reason, its process ends.
    """

    _target: RayActor | None = None
    _lines: Any = None

    def __init__(
        self, plan: ClusterPlan, name: str, number: int, here: Callable[[], tuple[str, bool]]
    ) -> None:
        """Take a place on this node.

        Args:
            plan: of the training. name: as messages call it. number: a cell's rank, a host's number.
            here: gives the address by which others reach this node, and whether Ray restarted the actor.
        """
        self._plan = plan
        self._name = name
        self._number = number
        self._address, self._is_begun = here()
        self._is_host = name.startswith("host")
        self._leads = name == "cell 0"
        self._place = self._free_place([plan.first_port] if self._leads else [])
        self._moved = asyncio.Condition()
        self._running: asyncio.Task[int | str] | None = None
        self._process: asyncio.subprocess.Process | None = None

    async def place(self, other_than: Place | None = None) -> Place:
        """Where it is; waits until that is elsewhere than `other_than`."""
        async with self._moved:
            await self._moved.wait_for(lambda: self._place != other_than)
        return self._place

    async def run(self, target: RayActor | None, lines: Any) -> int | str:
        """The exit code of its command once that has ended by itself, or why it was given up.

        A call that Ray repeats, since the first got no answer, joins the first.

        Args:
            target: the cell that a host plays for; cell 0 for another cell.
            lines: a queue of Ray's for each `Line`.
        """
        self._target, self._lines = target, lines
        self._running = self._running or asyncio.create_task(self._run())
        return await asyncio.shield(self._running)

    async def signal(self, number: int) -> bool:
        """Send the process a signal; whether it runs."""
        if self._process is None or self._process.returncode is not None:
            return False
        self._process.send_signal(number)
        return True

    async def stop(self) -> None:
        """End the process in order, or at once with all its children if it takes longer than 30 s."""
        if self._running is not None:
            self._running.cancel()
            await asyncio.wait([self._running])

    async def _run(self) -> int | str:
        if self._is_begun:
            await self._lines.put_async(("lost", self._name))
        of = f", for cell {self._number % self._plan.cells}" if self._is_host else ""
        await self._say(f"{self._name} is on {self._address}{of}")
        failures = 0
        while True:
            code = await self._follow()
            self._is_begun = True
            if code is None:
                failures = 0
            elif code == DONE or (code > 0 and not self._is_host):
                return code
            else:
                failures += 1
                if self._is_host:
                    if failures > MAX_REFUSALS:
                        return f"{self._name} ended with exit code {code}, {failures} times"
                    await asyncio.sleep(AGAIN_SECONDS)
                else:
                    killed = f"{self._name} was killed by {signal.Signals(-code).name}"
                    if failures > MAX_RESTARTS:
                        return f"{killed}, {failures} times in all"
                    await self._say(f"{killed}; it goes on")
            place = self._free_place([self._place.port, self._place.master_port])
            async with self._moved:
                self._place = place
                self._moved.notify_all()

    def _free_place(self, preferred: list[int]) -> Place:
        """Two free ports: those preferred where they are free, so that who knows them finds it again."""
        found: list[int] = []
        with contextlib.ExitStack() as stack:
            for port in (*preferred, 0, 0):
                # Held during the search, so that they differ.
                probe = stack.enter_context(socket.socket())
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                with contextlib.suppress(OSError):
                    probe.bind(("", port))
                    found.append(probe.getsockname()[1])
        return Place(self._address, (self._plan.port if self._leads else None) or found[0], found[1])

    async def _follow(self) -> int | None:
        """Run the command to its end; its exit code, or None when the cell that it depends on has moved."""
        at = self._place if self._target is None else await self._target.call("place")
        if self._is_host:
            order = self._plan.host(at)
        else:
            order = self._plan.cell(self._number, self._place, at, again=self._is_begun)
        self._process = process = await create_subprocess_exec(
            *COMMAND,
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            limit=MAX_LINE_BYTES,
            env=child_environment(os.environ, order),
            start_new_session=True,
        )
        assert process.stdin is not None
        job = {"words": order.words, "folder": self._plan.folder, "stdin": order.stdin}
        process.stdin.write(json.dumps(job).encode() + b"\n")
        ended = asyncio.create_task(process.wait())
        streams = {"stdout": process.stdout, "stderr": process.stderr}
        readers = [asyncio.create_task(self._hand_on(*stream)) for stream in streams.items()]
        # Ray repeats the call where the cell is restarted: the answer is its new place.
        moved = [asyncio.create_task(self._target.call("place", at))] if self._target else []
        try:
            await asyncio.wait([ended, *moved], return_when=asyncio.FIRST_COMPLETED)
            if not ended.done():
                return None
            # Processes that outlive it may hold its pipes: do not wait for those.
            await asyncio.wait(readers, timeout=PIPE_SECONDS)
            return ended.result()
        finally:
            process.stdin.close()
            try:
                await asyncio.wait([ended], timeout=END_SECONDS)
            finally:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)
                for task in (*readers, *moved):
                    task.cancel()

    async def _hand_on(self, name: str, stream: asyncio.StreamReader | None) -> None:
        assert stream is not None
        async for line in stream:
            text = line.decode(errors="replace").rstrip("\n")
            await (self._lines.put_async((name, text)) if self._leads else self._say(f"{self._name}: {text}"))

    async def _say(self, text: str) -> None:
        await self._lines.put_async(("cluster", text))
