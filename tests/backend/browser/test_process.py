"""A host process: opens the page it is told, tells what happens there, and leaves nothing behind."""

import asyncio
import contextlib
from collections.abc import Iterator
from typing import Any

import psutil
import pytest
from playwright.async_api import Browser

from attract.browser.process import HostProcess
from servers import served_page
from waiting import WAIT_SECONDS

PAGE = "<!doctype html><title>host</title><script>console.error('seen ' + location.hash)</script>"


@pytest.fixture
def page_server() -> Iterator[str]:
    with served_page(PAGE) as url:
        yield f"{url}/join.html#token=abc"


async def test_it_opens_the_page_reports_the_console_and_leaves_no_process(page_server: str) -> None:
    events: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    host = await HostProcess.start(page_server, events.put_nowait)
    seen: list[dict[str, Any]] = []
    while not any(event["event"] == "console" for event in seen) or not any(
        event["event"] == "open" for event in seen
    ):
        seen.append(await asyncio.wait_for(events.get(), 60))
    assert any(event.get("text") == "seen #token=abc" for event in seen)
    family = psutil.Process(host.pid).children(recursive=True)
    assert any("chrom" in process.name() for process in family)
    assert all("token=abc" not in " ".join(process.cmdline()) for process in [psutil.Process(host.pid)])
    await host.stop()
    _gone, alive = psutil.wait_procs(family, timeout=WAIT_SECONDS)
    assert alive == []


@pytest.mark.usefixtures("one_browser")
async def test_it_leaves_no_page_in_a_browser_that_others_use(browser: Browser, page_server: str) -> None:
    opened = asyncio.Event()

    def hear(event: dict[str, Any]) -> None:
        if event["event"] == "open":
            opened.set()

    async def has_page() -> bool:
        session = await browser.new_browser_cdp_session()
        targets = (await session.send("Target.getTargets"))["targetInfos"]
        return any(target["url"] == page_server for target in targets)

    host = await HostProcess.start(page_server, hear)
    await asyncio.wait_for(opened.wait(), 60)
    assert await has_page()
    await host.stop()
    assert not await has_page()


async def test_it_comes_back_when_the_browser_is_killed(page_server: str) -> None:
    events: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    host = await HostProcess.start(page_server, events.put_nowait)
    opened = 0
    while opened < 2:
        event = await asyncio.wait_for(events.get(), 60)
        if event["event"] == "open":
            opened += 1
            if opened == 1:
                for process in psutil.Process(host.pid).children(recursive=True):
                    # Those of the browser's own children that end with it are gone or zombies by then.
                    with contextlib.suppress(psutil.NoSuchProcess):
                        if "chrom" in process.name() and "--type=" not in " ".join(process.cmdline()):
                            process.kill()
    await host.stop()
    assert opened == 2


async def test_it_comes_back_when_the_renderer_is_killed(page_server: str) -> None:
    events: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    host = await HostProcess.start(page_server, events.put_nowait)

    async def opened() -> None:
        while (await asyncio.wait_for(events.get(), 60))["event"] != "open":
            pass

    await opened()
    for process in psutil.Process(host.pid).children(recursive=True):
        # All of them: the browser keeps a spare one, and shows parts of itself in others.
        with contextlib.suppress(psutil.NoSuchProcess):
            if "--type=renderer" in " ".join(process.cmdline()):
                process.kill()
    await opened()
    await host.stop()


async def test_an_answer_that_is_an_error_is_told_without_the_token(page_server: str) -> None:
    events: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    host = await HostProcess.start(page_server.replace("join", "missing"), events.put_nowait)
    while (event := await asyncio.wait_for(events.get(), 60))["event"] != "page_error":
        pass
    await host.stop()
    assert event["text"].endswith("/missing.html answered 404")


async def test_its_workers_tell_their_heap_where_that_is_asked_for() -> None:
    script = "postMessage(typeof gc + ' ' + typeof getV8Statistics)"
    page = (
        "<!doctype html><title>host</title><script>"
        f'const worker = new Worker(URL.createObjectURL(new Blob(["{script}"])));'
        "worker.onmessage = (event) => console.error(event.data);</script>"
    )
    printed: list[str] = []
    for exposes_heap in (False, True):
        events: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        with served_page(page) as url:
            host = await HostProcess.start(url, events.put_nowait, exposes_heap=exposes_heap)
            event = {"event": "none"}
            while event["event"] != "console":
                event = await asyncio.wait_for(events.get(), 60)
            printed.append(event["text"])
            await host.stop()
    assert printed == ["undefined undefined", "function function"]
