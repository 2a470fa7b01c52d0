"""One headless Chromium for all tests of a pytest worker; each test connects to it, with its own contexts."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from playwright.async_api import Browser, BrowserType

from attract.browser.chromium import launch_switches, require_chromium
from attract.server.links import lan_address


class SharedChromium:
    """The process of the browser. Started by the first test that asks for its address."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._address = ""

    def address(self) -> str:
        """Where Playwright connects to it; started anew if it has ended."""
        if self._process is None or self._process.poll() is not None:
            self._start()
        return self._address

    def connect_launches(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Have `BrowserType.launch` connect to it, whatever the switches."""

        async def connect(chromium: BrowserType, **_switches: object) -> Browser:
            return await chromium.connect(self.address())

        monkeypatch.setattr(BrowserType, "launch", connect)

    def close(self) -> None:
        """End it, if it was started."""
        if self._process is None:
            return
        # Playwright's command runs Node.js below it, which ends the browser.
        os.killpg(self._process.pid, signal.SIGTERM)
        self._process.communicate(timeout=30)
        self._process = None

    def _start(self) -> None:
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
            self._process = subprocess.Popen(
                [*command, "--config", str(file)], stdout=subprocess.PIPE, text=True, start_new_session=True
            )
            assert self._process.stdout is not None
            self._address = self._process.stdout.readline().strip()
        assert self._address.startswith("ws://"), "Playwright started no browser"
