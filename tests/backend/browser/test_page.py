"""A page that Playwright does not know: it is heard, its workers are left alone."""

import asyncio
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

import pytest
from playwright.async_api import Browser, async_playwright

from attract.browser.chromium import launch_switches, require_chromium
from attract.browser.host import PageError, UnwatchedPage
from servers import free_port, served_page

WORKER = "setInterval(() => 0, 1000); console.error('the worker said so');"
PAGE = f"""<!doctype html><title>page</title><link rel="icon" href="data:,"><script>
  window.worker = new Worker(URL.createObjectURL(new Blob([{WORKER!r}])));
  setTimeout(() => {{ throw new Error("the page broke"); }}, 1);
</script>"""

Event = tuple[str, Mapping[str, Any]]


@pytest.fixture
def page_server() -> Iterator[str]:
    with served_page(PAGE) as url:
        yield url


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        opened = await playwright.chromium.launch(
            executable_path=require_chromium().path, args=launch_switches()
        )
        yield opened
        await opened.close()


class Heard:
    def __init__(self) -> None:
        self.events: asyncio.Queue[Event] = asyncio.Queue()

    def __call__(self, method: str, event: Mapping[str, Any]) -> None:
        self.events.put_nowait((method, event))

    async def next(self, wanted: str) -> Mapping[str, Any]:
        while True:
            method, event = await asyncio.wait_for(self.events.get(), 30)
            if method == wanted:
                return event


async def test_a_window_loads_no_menus_of_its_own_and_playwrights_switches_count(
    browser: Browser, page_server: str
) -> None:
    heard = Heard()
    await UnwatchedPage(browser, heard).open(page_server)
    await heard.next("Log.entryAdded")
    session = await browser.new_browser_cdp_session()
    targets = (await session.send("Target.getTargets", {"filter": [{}]}))["targetInfos"]
    assert [target["url"] for target in targets if target["url"].startswith("chrome:")] == []
    started = (await session.send("SystemInfo.getInfo"))["commandLine"]
    playwrights, ours = re.findall(r"--disable-features=(\S+)", started)
    assert set(playwrights.split(",")) < set(ours.split(","))


async def workers_attached(browser: Browser) -> list[bool]:
    """For each running worker, whether a client has attached to it."""
    session = await browser.new_browser_cdp_session()
    targets = (await session.send("Target.getTargets", {"filter": [{}]}))["targetInfos"]
    return [target["attached"] for target in targets if target["type"] == "worker"]


async def test_its_workers_are_not_attached_to_unlike_those_of_playwrights_own_page(
    browser: Browser, page_server: str
) -> None:
    heard = Heard()
    await UnwatchedPage(browser, heard).open(page_server)
    await heard.next("Log.entryAdded")
    assert await workers_attached(browser) == [False]
    assert browser.contexts == []
    theirs = await browser.new_page()
    async with theirs.expect_worker():
        await theirs.goto(page_server)
    assert sorted(await workers_attached(browser)) == [False, True]


async def test_errors_of_the_page_and_words_of_its_workers_are_told(
    browser: Browser, page_server: str
) -> None:
    heard = Heard()
    await UnwatchedPage(browser, heard).open(page_server)
    entries = [await heard.next("Log.entryAdded")]
    assert entries[0]["entry"]["text"] == "the worker said so"
    heard = Heard()
    await UnwatchedPage(browser, heard).open(page_server)
    thrown = await heard.next("Runtime.exceptionThrown")
    assert "the page broke" in thrown["exceptionDetails"]["exception"]["description"]


async def test_the_answer_of_the_server_is_told(browser: Browser, page_server: str) -> None:
    heard = Heard()
    await UnwatchedPage(browser, heard).open(f"{page_server}/missing")
    answer = await heard.next("Network.responseReceived")
    assert (answer["type"], answer["response"]["status"]) == ("Document", 404)


async def test_an_address_without_a_server_cannot_be_opened(browser: Browser) -> None:
    url = f"http://127.0.0.1:{free_port()}/"
    with pytest.raises(PageError) as refused:
        await UnwatchedPage(browser, Heard()).open(f"{url}#token=secret")
    assert str(refused.value) == f"net::ERR_CONNECTION_REFUSED at {url}"
