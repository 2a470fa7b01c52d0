"""A page of the protocol's version before, in real Chromium: refused with the reason, reloaded once."""

import asyncio
import secrets
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from playwright.async_api import Browser

from attract.browser.host import join_url
from attract.schema import PROTOCOL_VERSION
from attract.server.in_process import running_gateway
from attract.settings.run import ServerSettings
from dashboard_page import open_page, wait_until
from proxy import FrameProxy, Message, changed
from zygote import start_learner

REASON = f"this page speaks protocol {PROTOCOL_VERSION - 1}, the server {PROTOCOL_VERSION}"
HOW_LOADED = "() => performance.getEntriesByType('navigation')[0].type"
LOOK_AGAIN = "() => new Promise((resolve) => setTimeout(resolve, 500))"
"""A page that reloads meanwhile has nobody left to answer."""


class OldPages:
    """Has the first `num_old` greetings of hosts name the version before."""

    def __init__(self, num_old: float) -> None:
        self.num_old = num_old
        self.greetings: list[object] = []
        self.refusals: list[str] = []
        self.second = asyncio.Event()

    async def decide(self, message: Message) -> bytes:
        """What is forwarded of a message."""
        if message.kind == "refused":
            self.refusals.append(str(message.body["reason"]))
        if message.kind != "hello" or message.body["role"] != "host":
            return message.raw
        if len(self.greetings) < self.num_old:
            message.body["protocol_version"] = PROTOCOL_VERSION - 1
        self.greetings.append(message.body["protocol_version"])
        if len(self.greetings) == 2:
            self.second.set()
        return changed(message.body)


@asynccontextmanager
async def _joined(runs_dir: Path, pages: OldPages) -> AsyncGenerator[str]:
    """A join link of a gateway behind `pages`."""
    settings = ServerSettings(port=0, runs_dir=runs_dir, worker_token=secrets.token_hex(32))
    async with running_gateway(settings, port_is_fixed=False, start_learner=start_learner) as gateway:
        proxy = FrameProxy(int(gateway.url.rpartition(":")[2]), pages.decide)
        port = await proxy.start()
        try:
            yield join_url(f"http://127.0.0.1:{port}", gateway.guard.issue("worker"), 1)
        finally:
            await proxy.cut()


async def test_a_page_of_the_version_before_reloads_and_is_in(tmp_path: Path, browser: Browser) -> None:
    pages = OldPages(num_old=1)
    async with (
        _joined(tmp_path, pages) as link,
        open_page(browser, link, moves=True) as (page, _),
    ):
        await asyncio.wait_for(pages.second.wait(), 60)
        await wait_until(page, "() => window.attractHost?.status?.connected === true")
        assert pages.greetings == [PROTOCOL_VERSION - 1, PROTOCOL_VERSION]
        assert pages.refusals == [REASON]
        assert await page.evaluate(HOW_LOADED) == "reload"
        # The token was needed for the reload, and is gone from the address again.
        assert "#" not in page.url


async def test_a_page_that_a_reload_does_not_mend_says_why_and_is_left_alone(
    tmp_path: Path, browser: Browser
) -> None:
    pages = OldPages(num_old=float("inf"))
    async with (
        _joined(tmp_path, pages) as link,
        open_page(browser, link, moves=True) as (page, _),
    ):
        await asyncio.wait_for(pages.second.wait(), 60)
        await wait_until(page, "() => window.attractHost?.status?.ended === true")
        await page.evaluate(LOOK_AGAIN)
        assert pages.greetings == [PROTOCOL_VERSION - 1] * 2
        assert await page.evaluate(HOW_LOADED) == "reload"
        said = await page.text_content("#error")
        assert said is not None
        assert REASON in said
        assert "reload the page" in said
        # Updated meanwhile, and reloaded by hand: it plays again.
        pages.num_old = 0
        await page.reload()
        await wait_until(page, "() => window.attractHost?.status?.connected === true")
