"""A page game that tries every way out, from every kind of document and thread; listeners hear nothing."""

import asyncio
from pathlib import Path

import pytest
from playwright.async_api import async_playwright
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from attract.browser.chromium import launch_switches, require_chromium
from attract.games.library import GameLibrary
from attract.games.project import PACKAGE_DIR
from attract.server.app_server import serving_app
from attract.server.page_games import PageGameMiddleware
from escaping_page import write_attempts, write_page
from servers import Listeners

NUM_QUIET_LOOKS = 20
"""So many looks in a row at which nothing new has come mean that nothing more will."""
LOOK_SECONDS = 0.1
OWNER = b"<!doctype html><title>Holds the game</title>"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "esc.page.ts").write_text("export default definePageGame({})")
    write_page(tmp_path)
    return tmp_path


async def owner(scope: Scope, receive: Receive, send: Send) -> None:
    """The page that holds the thread's frame: nothing more is asked of it."""
    if scope["type"] == "http":
        await send(
            {"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/html")]}
        )
        await send({"type": "http.response.body", "body": OWNER})


def without_policies(app: ASGIApp) -> ASGIApp:
    """The same responses, but for their policies."""

    async def bare(scope: Scope, receive: Receive, send: Send) -> None:
        async def send_bare(message: Message) -> None:
            if message["type"] == "http.response.start":
                kept = [header for header in message["headers"] if header[0] != b"content-security-policy"]
                message = {**message, "headers": kept}
            await send(message)

        scope["headers"] = [header for header in scope["headers"] if header[0] != b"service-worker"]
        await app(scope, receive, send_bare)

    return bare


async def what_comes(folder: Path, *, is_own: bool, has_policies: bool = True) -> Listeners:
    """What listeners hear while the page tries.

    Args:
        folder: of the page.
        is_own: whether the browser is started as those of training are; else as a visitor's.
        has_policies: False: the page is served without any, to see what it tries beside leaving.
    """
    library = GameLibrary(folder)
    key = library.keep("esc.page.ts", (folder / "esc.page.ts").read_bytes(), None).reference.sha256[:32]
    app: ASGIApp = PageGameMiddleware(owner, games=library, web_dir=PACKAGE_DIR / "web")
    app = app if has_policies else without_policies(app)
    num_asked = 0

    async def counted(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal num_asked
        num_asked += 1
        await app(scope, receive, send)

    with Listeners() as heard:
        write_attempts(folder, heard, stays=not has_policies)
        async with serving_app(counted) as port, async_playwright() as playwright:
            here = f"http://127.0.0.1:{port}/"
            switches = launch_switches(here)
            if not is_own:
                confining = ("--webrtc-ip-handling-policy", "--host-resolver-rules")
                switches = [switch for switch in switches if not switch.startswith(confining)]
            path = require_chromium().path
            browser = await playwright.chromium.launch(executable_path=path, args=switches)
            page = await browser.new_page()
            await page.goto(here)
            thread = f"http://g1-{key}.localhost:{port}/.attract/page-thread.html"
            add = "(src) => document.body.append(Object.assign(document.createElement('iframe'), { src }))"
            await page.evaluate(add, thread)
            frame = await page.wait_for_selector("iframe")
            held = await frame.content_frame() if frame is not None else None
            assert held is not None
            await held.wait_for_load_state()
            await held.evaluate(add, "/index.html")
            quiet, before = 0, (-1, 0, False)
            while quiet < NUM_QUIET_LOOKS:
                await asyncio.sleep(LOOK_SECONDS)
                # Documents that are still asked for have not tried yet. WebRTC repeats an unanswered
                # datagram for ten seconds: only the first is news.
                now = (num_asked, len(heard.requests), heard.datagrams > 0)
                quiet, before = (quiet + 1 if now == before else 0), now
            await browser.close()
    return heard


async def test_a_page_gets_out_by_no_way_from_no_kind_of_document(folder: Path) -> None:
    heard = await what_comes(folder, is_own=True)
    assert (heard.requests, heard.connections, heard.datagrams) == (set(), 0, 0)


async def test_a_visitors_browser_lets_out_what_no_policy_covers_alone(folder: Path) -> None:
    heard = await what_comes(folder, is_own=False)
    assert heard.requests == set()
    assert heard.datagrams > 0, "WebRTC can be kept in by a policy now: say so in docs/SECURITY.md"


# `make test` has that none gets out; that they would, without what holds them, is for `make long`.
@pytest.mark.long
async def test_without_the_policies_each_kind_of_document_gets_out(folder: Path) -> None:
    heard = await what_comes(folder, is_own=False, has_policies=False)
    kinds = {request.partition("-")[0] for request in heard.requests}
    ways = {request.partition("-")[2] for request in heard.requests}
    assert kinds >= {"page", "nested", "large", "svg", "xhtml", "xml", "blob", "data", "srcdoc", "blank"}
    assert kinds >= {"worker", "nestedworker", "module", "blobworker", "dataworker"}
    assert ways >= {"fetch", "post", "xhr", "socket", "events", "import", "scripts", "beacon", "image"}
    assert ways >= {"script", "frame", "object", "video", "style", "stylesheet", "ping"}
    assert ways >= {"prefetch", "preload", "modulepreload"}
