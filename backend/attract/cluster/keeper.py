"""Keeps one process on the node where it runs itself, and hands on what that writes."""

import asyncio
import contextlib
import dataclasses
import json
import os
import signal
import socket
import sys
from asyncio.subprocess import PIPE, Process, create_subprocess_exec
from collections.abc import Sequence
from typing import Final, Literal

from attract.cluster.child import END_SECONDS
from attract.cluster.plan import ChildOrder, Place, child_environment

READ_SECONDS: Final = 5.0
"""How long a reader waits for the next line before it gets none."""
PIPE_SECONDS: Final = 5.0
"""Limit for reading the last output of a process."""
MAX_LINE_BYTES: Final = 1 << 22
LOOPBACK: Final = "127.0.0.1"

Line = tuple[Literal["stdout", "stderr"], str]


@dataclasses.dataclass(frozen=True)
class Said:
    """Output of a process since the last call, and its state."""

    lines: tuple[Line, ...] = ()
    code: int | None = None
    """Its exit code, once all it wrote was read; below 0: the signal that killed it."""
    is_there: bool = True
    """False: no process was started here; its keeper is another one than before."""


class ProcessKeeper:
    """Starts one `attract` command after another; a Ray actor is made of it.

    Owner: its caller, on one event loop. When it is gone, for whatever reason, its process ends.
    """

    def __init__(self, address: str = LOOPBACK) -> None:
        """`address`: of this node, by which others reach it."""
        self._address = address
        self._process: Process | None = None
        self._lines: list[Line] = []
        self._readers: list[asyncio.Task[None]] = []
        self._news = asyncio.Event()
        self._code: int | None = None

    async def place(self, preferred: Sequence[int]) -> Place:
        """Its node's address with two ports that are free now: those preferred where they are."""
        first, second = _free_ports(preferred)
        return Place(self._address, first, second)

    async def start(self, order: ChildOrder) -> None:
        """Run a command; it replaces the one that ran."""
        await self.stop()
        self._process = process = await create_subprocess_exec(
            *(sys.executable, "-m", "attract.cluster.child"),
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            limit=MAX_LINE_BYTES,
            env=child_environment(os.environ, order),
            start_new_session=True,
        )
        assert process.stdin is not None
        job = {"words": order.words, "folder": order.folder, "stdin": order.stdin}
        process.stdin.write(json.dumps(job).encode() + b"\n")
        self._lines, self._code = [], None
        self._readers = [
            asyncio.create_task(self._read(process.stdout, "stdout")),
            asyncio.create_task(self._read(process.stderr, "stderr")),
        ]
        self._readers.append(asyncio.create_task(self._wait(process, self._readers[:2])))
        with contextlib.suppress(ConnectionError):
            await process.stdin.drain()

    async def read(self) -> Said:
        """Output since the last call; waits a while for its first line, or for the end."""
        if self._process is None:
            return Said(is_there=False)
        if not self._lines and self._code is None:
            self._news.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._news.wait(), READ_SECONDS)
        lines, self._lines = tuple(self._lines), []
        return Said(lines, self._code)

    async def signal(self, number: int) -> None:
        """Send the process a signal, if it still runs."""
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(number)

    async def stop(self) -> None:
        """End the process in order, or at once with all its children if it takes longer than 30 s."""
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None
        process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), END_SECONDS)
        except TimeoutError:
            pass
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
        await asyncio.gather(*self._readers, return_exceptions=True)

    async def _read(self, stream: asyncio.StreamReader | None, name: Literal["stdout", "stderr"]) -> None:
        assert stream is not None
        async for line in stream:
            self._lines.append((name, line.decode(errors="replace").rstrip("\n")))
            self._news.set()

    async def _wait(self, process: Process, readers: Sequence[asyncio.Task[None]]) -> None:
        code = await process.wait()
        # Processes that outlive it may hold its pipes: do not wait for those.
        await asyncio.wait(readers, timeout=PIPE_SECONDS)
        for reader in readers:
            reader.cancel()
        self._code = code
        self._news.set()


def _free_ports(preferred: Sequence[int]) -> list[int]:
    """Two ports that are free, both held during the search so that they differ."""
    found: list[int] = []
    with contextlib.ExitStack() as stack:
        for wanted in (*preferred, 0, 0):
            if len(found) == 2:
                break
            probe = stack.enter_context(socket.socket())
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with contextlib.suppress(OSError):
                probe.bind(("", wanted))
                found.append(probe.getsockname()[1])
    return found
