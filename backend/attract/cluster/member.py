"""The trainer or a host of a training: an actor that keeps its command running; Ray restarts it elsewhere."""

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
"""Restarts of a trainer whose process was killed while its node stayed: the cause will kill it again."""
MAX_REFUSALS: Final = 5
"""Refusals of one host in a row after which it is given up: it will never be accepted."""
MAX_LINE_BYTES: Final = 1 << 22
TRAINER: Final = "trainer"
"""Name of the member that is none of the hosts."""
LOST: Final = "a process was lost with its node or its supervisor: Ray restarts it elsewhere"

Line = tuple[str, str]
"""What the trainer writes to `stdout` or `stderr`, or what the `cluster` says."""


class Member:
    """Runs the command of the trainer or of a host; again when it is killed, or when the trainer has moved.

    Owner: its caller, on one event loop. When it is gone, for whatever reason, its process ends.
    """

    _target: RayActor | None = None
    _lines: Any = None

    def __init__(self, plan: ClusterPlan, name: str, here: Callable[[], tuple[str, bool]]) -> None:
        """Take a place on this node.

        Args:
            plan: of the training. name: as messages call it.
            here: gives the address by which others reach this node, and whether Ray restarted the actor.
        """
        self._plan = plan
        self._name = name
        self._address, self._is_begun = here()
        self._is_host = name != TRAINER
        self._place = self._free_place(plan.first_port)
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
            target: the trainer that a host plays for; None: it is the trainer.
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
        await self._say(f"{self._name} is on {self._address}")
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
            place = self._free_place(self._place.port)
            async with self._moved:
                self._place = place
                self._moved.notify_all()

    def _free_place(self, preferred: int) -> Place:
        """A free port: that preferred where it is free, so that who knows it finds the trainer again."""
        if not self._is_host and self._plan.port:
            return Place(self._address, self._plan.port)
        for port in (preferred, 0):
            with contextlib.suppress(OSError), socket.socket() as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(("", port))
                return Place(self._address, int(probe.getsockname()[1]))
        raise OSError(f"no port is free on {self._address}")

    async def _follow(self) -> int | None:
        """Run the command to its end; its exit code, or None when the trainer has moved."""
        at = self._place if self._target is None else await self._target.call("place")
        order = self._plan.host(at) if self._is_host else self._plan.trainer(at, again=self._is_begun)
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
        # Ray repeats the call where the trainer is restarted: the answer is its new place.
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
            await (
                self._lines.put_async((name, text))
                if not self._is_host
                else self._say(f"{self._name}: {text}")
            )

    async def _say(self, text: str) -> None:
        await self._lines.put_async(("cluster", text))
