"""Starts and ends headless host processes from an asyncio program."""

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from attract.browser.chromium import EXPOSE_HEAP


class HostProcess:
    """A `python -m attract.browser` child in a session of its own; closing its stdin ends it.

    Owner: the command line, on its event loop.
    """

    def __init__(
        self, process: asyncio.subprocess.Process, on_event: Callable[[dict[str, Any]], None]
    ) -> None:
        self._process = process
        self._on_event = on_event
        self._reader = asyncio.create_task(self._read())

    @classmethod
    async def start(
        cls, url: str, on_event: Callable[[dict[str, Any]], None], *, exposes_heap: bool = False
    ) -> "HostProcess":
        """Start a host for `url`; `on_event` is called with each object it prints.

        Args:
            url: of the page it opens.
            on_event: called on this event loop.
            exposes_heap: see `launch_switches`.
        """
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "attract.browser",
            *([EXPOSE_HEAP] if exposes_heap else []),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
        assert process.stdin is not None
        process.stdin.write(url.encode() + b"\n")
        await process.stdin.drain()
        return cls(process, on_event)

    @property
    def pid(self) -> int:
        """Process id; also the id of its session and process group, which its browser shares."""
        return self._process.pid

    async def stop(self, timeout_seconds: float = 5.0) -> None:
        """Ask it to end; after the timeout its whole process group is killed."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            await asyncio.wait_for(self._process.wait(), timeout_seconds)
        except TimeoutError:
            pass
        finally:
            # Also after an orderly end: a crashed Playwright leaves browser processes in the group.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
            await self._process.wait()
            await self._reader

    async def _read(self) -> None:
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            with contextlib.suppress(json.JSONDecodeError):
                self._on_event(json.loads(line))
        code = await self._process.wait()
        self._on_event({"event": "exit", "code": code})
