"""One headless Chromium for all tests of a pytest worker, started when it is first needed.

Pages of tests and the headless hosts of forked commands are opened in it, each in contexts of its own. Run as
a script it has the browser, and plays the hosts of those who connect to its socket; `SharedChromium` is its
user's side.
"""

import asyncio
import atexit
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserType, CDPSession, Playwright

HOST_RELAY = str(Path(__file__).with_name("host_relay.py"))
ADDRESS = "address"
"""Asks for the browser's; any other first line is the address of a host's page."""


class SharedChromium:
    """The process of the browser, as the tests of this process see it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def socket_path(self) -> str:
        """Where hosts are played, and the browser's address is told."""
        if self._folder is None or self._process is None or self._process.poll() is not None:
            self._folder = tempfile.TemporaryDirectory()
            with socket.socket(socket.AF_UNIX) as listener:
                listener.bind(f"{self._folder.name}/hosts")
                listener.listen()
                self._process = subprocess.Popen(
                    [sys.executable, __file__, str(listener.fileno())],
                    pass_fds=[listener.fileno()],
                    stdin=subprocess.PIPE,
                    start_new_session=True,
                )
            atexit.register(self.close)
        return f"{self._folder.name}/hosts"

    def address(self) -> str:
        """Where Playwright connects to it; started anew if it has ended."""
        return _address_at(self.socket_path())

    def close(self) -> None:
        """End it, if it was started."""
        if self._process is not None:
            # The end of its stdin ends it.
            self._process.communicate(timeout=30)
            self._process = None
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None


SHARED = SharedChromium()


def share_chromium(path: str, replace: Callable[[object, str, object], None] = setattr) -> None:
    """Have commands of this process open pages in the browser of the socket at `path`, whatever the switches.

    Hosts are played there too, but for those whose pages see their heap. A browser, its driver and the host's
    process take two seconds of CPU to start.
    """
    from playwright.async_api import BrowserType

    from attract.browser import process
    from attract.browser.chromium import EXPOSE_HEAP

    async def connect(chromium: BrowserType, **_switches: object) -> "Browser":
        return await connect_to(chromium, await asyncio.to_thread(_address_at, path))

    async def start_host(*command: str, **more: Any) -> asyncio.subprocess.Process:
        if EXPOSE_HEAP not in command:
            command = (sys.executable, "-I", "-S", HOST_RELAY, path)
        return await asyncio.create_subprocess_exec(*command, **more)

    replace(BrowserType, "launch", connect)
    replace(process, "asyncio", SimpleNamespace(**vars(asyncio) | {"create_subprocess_exec": start_host}))


async def connect_to(chromium: "BrowserType", address: str) -> "Browser":
    """The browser there; closing it closes its pages, as if it were a browser of one's own.

    Playwright closes what it opened itself. Contexts that a session opened go with the session, which would
    outlive the connection: a host's page would play on, and look for its server, until the last test is over.
    """
    browser = await chromium.connect(address)
    sessions: list[CDPSession] = []
    open_session, disconnect = browser.new_browser_cdp_session, browser.close

    async def new_browser_cdp_session() -> "CDPSession":
        sessions.append(await open_session())
        return sessions[-1]

    async def close() -> None:
        for session in sessions:
            with contextlib.suppress(Exception):
                await session.detach()
        await disconnect()

    browser.new_browser_cdp_session = new_browser_cdp_session
    browser.close = close
    return browser


def _address_at(path: str) -> str:
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(path)
        server.sendall(f"{ADDRESS}\n".encode())
        return server.makefile().readline().strip()


class _Server:
    """The script's side: the browser and its hosts."""

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None
        self._address = ""
        self._playwright: Playwright | None = None
        self._lock = asyncio.Lock()

    async def run(self, listener: socket.socket) -> None:
        over = asyncio.Event()
        stdin = sys.stdin.fileno()
        asyncio.get_running_loop().add_reader(stdin, lambda: None if os.read(stdin, 1) else over.set())
        async with await asyncio.start_unix_server(self._hear, sock=listener):
            await over.wait()
        if self._process is not None and self._process.returncode is None:
            # Playwright's command runs Node.js below it, which ends the browser.
            os.killpg(self._process.pid, signal.SIGTERM)
            await self._process.wait()

    async def _hear(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = (await reader.readline()).decode().strip()
        if line == ADDRESS:
            writer.write(f"{await self._chromium()}\n".encode())
        elif line:
            await self._play(line, reader, writer)
        writer.close()

    async def _play(self, url: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """As `python -m attract.browser`."""
        from playwright.async_api import BrowserType, async_playwright

        from attract.browser import host

        def report(kind: str, detail: dict[str, Any]) -> None:
            writer.write(json.dumps({"event": kind, **detail}).encode() + b"\n")

        async def connect(chromium: "BrowserType", **_switches: object) -> "Browser":
            return await connect_to(chromium, await self._chromium())

        @contextlib.asynccontextmanager
        async def playwright() -> AsyncGenerator["Playwright"]:
            async with self._lock:
                if self._playwright is None:
                    self._playwright = await async_playwright().start()
            yield self._playwright

        BrowserType.launch = connect
        host.async_playwright = playwright
        stop = asyncio.Event()
        hears = asyncio.create_task(_heard_end(reader, stop))
        await host.HeadlessHost(url, report).run(stop)
        report("closed", {})
        await hears

    async def _chromium(self) -> str:
        async with self._lock:
            if self._process is None or self._process.returncode is not None:
                await self._start()
        return self._address

    async def _start(self) -> None:
        from attract.browser.chromium import launch_switches, require_chromium
        from attract.server.links import lan_address

        # A server of a test may be had by this machine's address in its network, too.
        lan = lan_address()
        switches = [switch.replace("MAP * ", f"MAP {lan}:* {lan}, MAP * ") for switch in launch_switches()]
        options = {
            "executablePath": require_chromium().path,
            "args": switches,
            "headless": True,
            "host": "127.0.0.1",
        }
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "options.json"
            file.write_text(json.dumps(options))
            command = [sys.executable, "-m", "playwright", "launch-server", "--browser", "chromium"]
            self._process = await asyncio.create_subprocess_exec(
                *command, "--config", file, stdout=asyncio.subprocess.PIPE, start_new_session=True
            )
            assert self._process.stdout is not None
            self._address = (await self._process.stdout.readline()).decode().strip()
        assert self._address.startswith("ws://"), "Playwright started no browser"


async def _heard_end(reader: asyncio.StreamReader, stop: asyncio.Event) -> None:
    with contextlib.suppress(ConnectionError):
        await reader.read()
    stop.set()


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as inherited:
        asyncio.run(_Server().run(inherited))
