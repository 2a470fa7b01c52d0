"""A page without a viewer: its workers' sockets are not mirrored frame by frame into another process.

Playwright attaches to every worker of its own pages and has the browser report each websocket frame, whole
and as base64, through its pipe, its driver and into Python. For a host whose workers send a megabyte of
experience per update that is a sixth of all its work. So the page lives in a browser context that Playwright
does not know, and only the page itself is attached to: what it writes to the console, its errors, its crash.
"""

import asyncio
import itertools
import json
from collections.abc import Callable, Mapping
from typing import Any

from playwright.async_api import Browser, CDPSession

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
        session = self._session = await self._browser.new_browser_cdp_session()
        session.on("Target.receivedMessageFromTarget", self._hear)
        context = await session.send("Target.createBrowserContext", {"disposeOnDetach": True})
        page = await session.send(
            "Target.createTarget",
            {"url": "about:blank", "browserContextId": context["browserContextId"]},
        )
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
            await self._session.send("Target.sendMessageToTarget", order)
            return await asyncio.wait_for(answer, ANSWER_SECONDS)
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
