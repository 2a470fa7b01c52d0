"""A headless host whose garbage is collected on demand, so that its memory shows only what is kept."""

import asyncio
import contextlib
import itertools
import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import psutil
from websockets.asyncio.client import ClientConnection, connect

from attract.browser.chromium import launch_switches, require_chromium

LISTENING = "DevTools listening on "
ANSWER_SECONDS = 20.0


class InspectedChromium:
    """A Chromium with one page, and a DevTools session with it and each of its workers, nested or not."""

    def __init__(self, pid: int, socket: ClientConnection) -> None:
        self._pid = pid
        self._socket = socket
        self._ids = itertools.count(1)
        self._answers: dict[int, asyncio.Future[None]] = {}
        self._sessions: dict[str, str] = {}
        """Session id to the kind of its target."""

    @property
    def num_workers(self) -> int:
        """Workers that answer now, supervisors among them."""
        return sum(kind == "worker" for kind in self._sessions.values())

    async def collect_garbage(self) -> None:
        """Run a full collection in every worker. Raises: TimeoutError: when one does not answer."""
        async with asyncio.timeout(ANSWER_SECONDS):
            await asyncio.gather(
                *(
                    self._ask("HeapProfiler.collectGarbage", session=session)
                    for session, kind in self._sessions.items()
                    if kind == "worker"
                )
            )

    def renderer_bytes(self) -> int:
        """Resident bytes of all renderers."""
        total = 0
        for process in psutil.Process(self._pid).children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                if "--type=renderer" in process.cmdline():
                    total += process.memory_info().rss
        return total

    async def open(self, url: str) -> None:
        """Open a page."""
        await self._ask("Target.createTarget", {"url": url}, session=None)

    async def attach(self, session: str | None = None) -> None:
        """Have every target there is, and every later one, attached to."""
        order = {"autoAttach": True, "waitForDebuggerOnStart": False, "flatten": True}
        await self._ask("Target.setAutoAttach", order, session=session)

    async def read(self) -> None:
        """Hear answers and new targets until the browser ends."""
        async with asyncio.TaskGroup() as attaching:
            async for text in self._socket:
                message: dict[str, Any] = json.loads(text)
                if (
                    answer := self._answers.pop(message.get("id", 0), None)
                ) is not None and not answer.done():
                    answer.set_result(None)
                if message.get("method") == "Target.attachedToTarget":
                    session: str = message["params"]["sessionId"]
                    self._sessions[session] = message["params"]["targetInfo"]["type"]
                    attaching.create_task(self.attach(session))
                elif message.get("method") == "Target.detachedFromTarget":
                    self._sessions.pop(message["params"]["sessionId"], None)

    async def _ask(
        self, method: str, parameters: dict[str, Any] | None = None, *, session: str | None
    ) -> None:
        number = next(self._ids)
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        message = {"id": number, "method": method, "params": parameters or {}}
        await self._socket.send(json.dumps(message if session is None else message | {"sessionId": session}))
        await answer


@contextlib.asynccontextmanager
async def inspected_chromium(url: str, profile: Path) -> AsyncGenerator[InspectedChromium]:
    """Open `url` with the switches of a headless host; the browser ends with the block.

    Args:
        url: of the host page.
        profile: an empty folder for the browser's own files.
    """
    process = await asyncio.create_subprocess_exec(
        require_chromium().path,
        *launch_switches(url),
        "--headless",
        "--remote-debugging-port=0",
        f"--user-data-dir={profile}",
        "about:blank",
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        address = await _address(process)
        async with connect(address, max_size=None) as socket:
            browser = InspectedChromium(process.pid, socket)
            reading = asyncio.create_task(browser.read())
            await browser.attach()
            await browser.open(url)
            yield browser
        await reading
    finally:
        for child in psutil.Process(process.pid).children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                child.kill()
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def _address(process: asyncio.subprocess.Process) -> str:
    assert process.stderr is not None
    lines: list[str] = []
    async for line in process.stderr:
        lines.append(line.decode(errors="replace"))
        if lines[-1].startswith(LISTENING):
            return lines[-1].removeprefix(LISTENING).strip()
    raise AssertionError(f"Chromium did not start: {''.join(lines)}")
