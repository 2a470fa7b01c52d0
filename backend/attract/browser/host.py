"""One headless browser host: a Chromium page that joins a gateway and runs workers until it is stopped."""

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urldefrag, urlencode

from playwright.async_api import Browser, Playwright, async_playwright
from playwright.async_api import Error as PlaywrightError

from attract.browser.chromium import launch_switches, require_chromium, start_failure
from attract.browser.page import PageError, UnwatchedPage

LONGEST_DELAY_SECONDS = 5.0
STATUS_SECONDS = 1.0
STATUS = """(() => { const status = window.attractHost?.status;
  return status && { connected: status.connected, ended: status.ended, error: status.error }; })()"""
"""Status of the host page; null on any other page."""

Report = Callable[[str, dict[str, Any]], None]


def join_url(base_url: str, token: str, num_workers: int) -> str:
    """The page that makes a browser a host: token and worker count travel in the fragment, never to a log."""
    return f"{base_url.rstrip('/')}/join.html#" + urlencode({"token": token, "workers": num_workers})


class HeadlessHost:
    """A headless Chromium with one host page, restarted when its renderer or the browser dies.

    Owner: the process that runs it (`python -m attract.browser`), which a gateway's command line starts in a
    session of its own so that a Ctrl-C on the terminal does not reach the browser.
    """

    def __init__(
        self, url: str, report: Report, *, chromium_path: str | None = None, exposes_heap: bool = False
    ) -> None:
        self._url = url
        self._report = report
        self._chromium_path = chromium_path
        self._exposes_heap = exposes_heap
        self._lost = asyncio.Event()
        self._page: UnwatchedPage | None = None
        self.restarts_in_a_row = 0
        self._has_started = False

    async def run(self, stop: asyncio.Event) -> None:
        """Keep a host page alive until `stop` is set; then close page and browser.

        Raises: ConfigurationError: the browser cannot be started at all.
        """
        async with async_playwright() as playwright:
            while not stop.is_set():
                self._lost.clear()
                browser: Browser | None = None
                try:
                    browser = await self._launch(playwright)
                    await self._open(browser)
                    self.restarts_in_a_row = 0
                    await _first_of(stop.wait(), self._lost.wait(), self._report_status())
                except (PlaywrightError, PageError, TimeoutError) as error:
                    # The gateway may not be up yet, or be restarting: the page is opened again.
                    self._report("page_error", {"text": (str(error) or "no answer").splitlines()[0]})
                finally:
                    self._page = None
                    if browser is not None:
                        with contextlib.suppress(Exception):
                            await browser.close()
                if not stop.is_set():
                    self.restarts_in_a_row += 1
                    delay_seconds = min(0.25 * 2**self.restarts_in_a_row, LONGEST_DELAY_SECONDS)
                    self._report("restart", {"delay_seconds": delay_seconds})
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(stop.wait(), timeout=delay_seconds)

    async def _report_status(self) -> None:
        """Report the page's status whenever it changes; null: it has none (yet)."""
        reported: Any = None
        while True:
            await asyncio.sleep(STATUS_SECONDS)
            try:
                status = None if self._page is None else await self._page.evaluate(STATUS)
            except (PlaywrightError, PageError, TimeoutError):
                continue
            if status != reported:
                reported = status
                self._report("status", {"status": status})

    async def _launch(self, playwright: Playwright) -> Browser:
        chromium = require_chromium(self._chromium_path)
        try:
            browser = await playwright.chromium.launch(
                executable_path=chromium.path,
                headless=True,
                args=launch_switches(self._url, exposes_heap=self._exposes_heap),
                handle_sigint=False,
                handle_sigterm=False,
                handle_sighup=False,
            )
        except PlaywrightError as error:
            if self._has_started:
                # It worked: what the machine lacks now may come back.
                raise
            raise start_failure(chromium, error) from None
        self._has_started = True
        browser.on("disconnected", lambda _browser: self._lost.set())
        return browser

    async def _open(self, browser: Browser) -> None:
        page = UnwatchedPage(browser, self._on_event)
        await page.open(self._url)
        self._page = page
        self._report("open", {"chromium": browser.version})

    def _on_event(self, method: str, event: Mapping[str, Any]) -> None:
        match method:
            case "Inspector.targetCrashed":
                self._lost.set()
            case "Runtime.exceptionThrown":
                details = event["exceptionDetails"]
                thrown = details.get("exception", {}).get("description")
                self._report("page_error", {"text": str(thrown or details["text"])})
            case "Runtime.consoleAPICalled" if event["type"] in ("error", "warning"):
                words = [
                    str(argument.get("value", argument.get("description", ""))) for argument in event["args"]
                ]
                self._on_console(event["type"], " ".join(words))
            case "Log.entryAdded" if event["entry"]["level"] in ("error", "warning"):
                self._on_console(event["entry"]["level"], event["entry"]["text"])
            case "Network.responseReceived" if event["type"] == "Document":
                status = event["response"]["status"]
                if status >= 400:
                    address = urldefrag(self._url).url
                    self._report("page_error", {"text": f"{address} answered {status}"})
            case _:
                pass

    def _on_console(self, level: str, text: str) -> None:
        self._report("console", {"level": level, "text": text[:2000]})


async def _first_of(*waits: Any) -> None:
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
