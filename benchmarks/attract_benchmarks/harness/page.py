"""The benchmark's page in a real headless Chromium, served on loopback for as long as it is open."""

import contextlib
import functools
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

from attract.browser.chromium import launch_switches, require_chromium
from attract.errors import ConfigurationError
from attract.server.app import PACKAGE_DIR
from attract_benchmarks import BUILT_DIR

WEB_DIR = PACKAGE_DIR / "web"
PAGE = "bench/index.html"
ASK = "([workers, order]) => window.attractBench.ask(workers, order)"
READY = "() => window.attractBench !== undefined"


class BenchPage:
    """A page whose workers carry out orders; owned by the thread that opened it.

    Orders and answers are those of `benchmarks/browser/messages.ts`.
    """

    def __init__(self, browser: Browser, page: Page, base_url: str) -> None:
        self._browser = browser
        self._page = page
        self._base_url = base_url

    def game_url(self, name: str) -> str:
        """Address of a bundled game's module."""
        return f"{self._base_url}/games/{name}.js"

    def ask(self, order: Mapping[str, Any], num_workers: int = 1) -> list[Any]:
        """The answers of the first workers, which all get the order at once; those not there yet are started.

        Raises: playwright.sync_api.Error: with the worker's own words when one fails.
        """
        return self._page.evaluate(ASK, [num_workers, dict(order)])

    def stop_workers(self) -> None:
        """End all workers; the next order starts fresh ones."""
        self._page.evaluate("() => window.attractBench.stop()")

    def renderer_bytes(self) -> int | None:
        """Resident memory of the process that plays, in bytes; None if the system does not report it."""
        session = self._browser.new_browser_cdp_session()
        try:
            processes = session.send("SystemInfo.getProcessInfo")["processInfo"]
        finally:
            session.detach()
        sizes = [_resident_bytes(process["id"]) for process in processes if process["type"] == "renderer"]
        known = [size for size in sizes if size is not None]
        return max(known, default=None)


@contextmanager
def open_page(built_dir: Path = BUILT_DIR) -> Generator[BenchPage]:
    """The page, ready for orders, with the browser and the switches that training uses.

    Raises: ConfigurationError: without a Chromium, or when the web side is not built.
    """
    if not (built_dir / PAGE).is_file():
        raise ConfigurationError("the web side is not built", setting="attract bench", fix="npm run build")
    chromium = require_chromium()
    with _served(built_dir) as base_url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium.path, headless=True, args=launch_switches(base_url)
        )
        try:
            page = browser.new_page()
            page.set_default_timeout(0)
            page.goto(f"{base_url}/{PAGE}")
            page.wait_for_function(READY, timeout=30_000)
            yield BenchPage(browser, page, base_url)
        finally:
            browser.close()


class _Files(SimpleHTTPRequestHandler):
    """The built files with the types that browsers insist on, whatever this system's table has."""

    extensions_map = {
        **SimpleHTTPRequestHandler.extensions_map,
        ".js": "text/javascript",
        ".wasm": "application/wasm",
    }

    def translate_path(self, path: str) -> str:
        """Bundled games are those of the installed web side; the page itself is the benchmarks' own."""
        if path.startswith("/games/"):
            return str(WEB_DIR / "games" / Path(super().translate_path(path)).name)
        return super().translate_path(path)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Log nothing: requests for files would disturb a benchmark's output."""


@contextmanager
def _served(folder: Path) -> Generator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Files, directory=str(folder)))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _resident_bytes(process_id: int) -> int | None:
    with contextlib.suppress(OSError, ValueError):
        for line in Path(f"/proc/{process_id}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return 1024 * int(line.split()[1])
    return None
