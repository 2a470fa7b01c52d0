"""One headless browser host: a Chromium page that joins a gateway and runs workers until it is stopped."""

import asyncio
import contextlib
import itertools
import json
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urldefrag, urlencode

from playwright.async_api import Browser, CDPSession, Playwright, async_playwright
from playwright.async_api import Error as PlaywrightError

from attract.browser.chromium import launch_switches, require_chromium, start_failure

ANSWER_SECONDS = 30.0
"""The page loads from a server nearby; one that does not answer in this time is opened again."""


class PageError(Exception):
    """The page could not be opened, or the browser refused an order; the text is the browser's."""


class UnwatchedPage:
    """One page of a browser, in a context of its own; used on one event loop.

    Args:
        browser: Playwright's; closing it ends the page.
        on_event: hears the method and parameters of each event of the Inspector, Log, Network and Runtime
            domains, named as in the Chrome DevTools protocol.
    """

    def __init__(self, browser: Browser, on_event: Callable[[str, Mapping[str, Any]], None]) -> None:
        self._browser = browser
        self._on_event = on_event
        self._ids = itertools.count(1)
        self._answers: dict[int, asyncio.Future[Mapping[str, Any]]] = {}
        self._session: CDPSession | None = None
        self._session_id = ""

    async def open(self, url: str) -> None:
        """Go to `url`; events are reported from before it loads.

        Raises: PageError: it cannot be reached. TimeoutError: no answer came.
        """
        async with asyncio.timeout(ANSWER_SECONDS):
            session = self._session = await self._browser.new_browser_cdp_session()
            session.on("Target.receivedMessageFromTarget", self._hear)
            context = await session.send("Target.createBrowserContext", {"disposeOnDetach": True})
            order: dict[str, Any] = {"url": "about:blank", "browserContextId": context["browserContextId"]}
            page = await session.send("Target.createTarget", order)
            # Not flattened: Playwright hands on no events of sessions that it did not open.
            order = {"targetId": page["targetId"], "flatten": False}
            self._session_id = (await session.send("Target.attachToTarget", order))["sessionId"]
        for domain in ("Inspector", "Log", "Network", "Runtime"):
            await self._ask(f"{domain}.enable")
        answer = await self._ask("Page.navigate", {"url": url})
        if answer.get("errorText"):
            raise PageError(f"{answer['errorText']} at {url.partition('#')[0]}")

    async def evaluate(self, expression: str) -> Any:
        """The value of an expression on the page, as JSON; None for values without JSON.

        Raises: PageError, TimeoutError: the page cannot be asked.
        """
        order = {"expression": expression, "returnByValue": True}
        answer = await self._ask("Runtime.evaluate", order)
        return answer.get("result", {}).get("value")

    async def _ask(self, method: str, parameters: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
        assert self._session is not None
        number = next(self._ids)
        answer: asyncio.Future[Mapping[str, Any]] = asyncio.get_running_loop().create_future()
        self._answers[number] = answer
        message = json.dumps({"id": number, "method": method, "params": dict(parameters or {})})
        try:
            order = {"sessionId": self._session_id, "message": message}
            async with asyncio.timeout(ANSWER_SECONDS):
                await self._session.send("Target.sendMessageToTarget", order)
                return await answer
        finally:
            del self._answers[number]

    def _hear(self, event: Mapping[str, Any]) -> None:
        if event["sessionId"] != self._session_id:
            return
        message: Mapping[str, Any] = json.loads(event["message"])
        if "method" in message:
            self._on_event(message["method"], message["params"])
            return
        answer = self._answers.get(message["id"])
        if answer is None or answer.done():
            return
        if "error" in message:
            answer.set_exception(PageError(str(message["error"].get("message"))))
        else:
            answer.set_result(message["result"])


LONGEST_DELAY_SECONDS = 5.0
STATUS_SECONDS = 1.0
MAX_SILENT = 3
"""Times in a row that a page does not say its status before it is opened again: its process may have died
unheard, or hang."""
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
                    await _first_of(stop.wait(), self._lost.wait(), self._report_while_it_answers())
                except (PlaywrightError, PageError, TimeoutError) as error:
                    # The gateway may not be up yet, or be restarting: the page is opened again.
                    self._report("page_error", {"text": (str(error) or "no answer").splitlines()[0]})
                finally:
                    self._page = None
                    if browser is not None:
                        with contextlib.suppress(Exception):
                            await asyncio.wait_for(browser.close(), ANSWER_SECONDS)
                if not stop.is_set():
                    self.restarts_in_a_row += 1
                    delay_seconds = min(0.25 * 2**self.restarts_in_a_row, LONGEST_DELAY_SECONDS)
                    self._report("restart", {"delay_seconds": delay_seconds})
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(stop.wait(), timeout=delay_seconds)

    async def _report_while_it_answers(self) -> None:
        """Report the page's status whenever it changes; null: it has none (yet)."""
        reported: Any = None
        silent = 0
        while silent < MAX_SILENT:
            await asyncio.sleep(STATUS_SECONDS)
            try:
                status = None if self._page is None else await self._page.evaluate(STATUS)
            except (PlaywrightError, PageError, TimeoutError):
                silent += 1
                continue
            silent = 0
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
