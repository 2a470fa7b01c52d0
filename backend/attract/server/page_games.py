"""The pages that games live in: served at origins of their own, which have nothing of this server's."""

import mimetypes
import re
from pathlib import Path
from typing import Final, Protocol

import anyio.to_thread
from starlette.datastructures import Headers
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from attract.games.page_files import FetchedFile, PageFiles
from attract.games.page_script import with_first_script
from attract.server.sandbox import SCRIPT, script_hashes

HOST: Final = re.compile(r"g\d{1,9}-([0-9a-f]{32})\.localhost(?::\d{1,5})?", re.IGNORECASE)
"""Browsers take these names for this machine, and each for a site of its own, with a process of its own.

The letters name the game: the root of the origin is that of its page.
"""
OWN: Final = "/.attract/"
"""Below it is what is ours; a game's own files have no such names."""
THREAD_PAGE: Final = "page-thread.html"
CLOCK: Final = "page-clock.js"
PORTAL: Final = "portal.js"
PORTAL_SCRIPT: Final = re.compile(
    rb"""(<script\b[^>]*?\bsrc\s*=\s*["']?)((?:https?:)?//[^\s"'>]*"""
    rb"""(?:poki-sdk|crazygames-sdk|youtube\.com/game_api|gamedistribution\.com/main)[^\s"'>]*)""",
    re.IGNORECASE,
)
"""A game portal's SDK, which is not to be had: one is given in its place that the clock makes."""
PORTAL_TEXT: Final = "attractInstallPortal?.(document.currentScript.src);"
PROBE: Final = "page-probe.js"
PROBE_PAGE: Final = f"{OWN}probe.html"
PROBE_TEXT: Final = f'<!doctype html><title>A page is probed</title><script src="{OWN}{PROBE}"></script>'
PROBE_POLICY: Final = "default-src 'self'; frame-ancestors 'none'"
CLOCK_TAG: Final = f'<script src="{OWN}{CLOCK}"></script>'.encode()
OWNERS: Final = "http://127.0.0.1:* http://localhost:*"
"""The pages that may hold a thread's frame."""
GAME_POLICY: Final = "; ".join(
    (
        "default-src 'self' 'unsafe-inline' 'unsafe-eval' 'wasm-unsafe-eval' data: blob:",
        "form-action 'none'",
        f"frame-ancestors 'self' {OWNERS}",
    )
)
"""A game gets its own files and nothing from elsewhere: no advertisements, no analytics, no way out."""
MAX_PAGE_BYTES: Final = 8 * 2**20
"""Of a page itself, which is read whole; what it loads may be of any size."""


class PageSources(Protocol):
    """Who knows the games' pages."""

    def page_files(self, key: str) -> PageFiles | None:
        """The files of the game with this key, 32 letters of 0 to f; None: nobody knows it."""
        ...


class PageGameMiddleware:
    """Answers what is asked of the games' origins, itself, and hands on everything else.

    Whoever asks must be on this machine. There are no tokens, no sockets and nothing but files.
    """

    def __init__(self, app: ASGIApp, *, games: PageSources, web_dir: Path) -> None:
        self._app = app
        self._games = games
        self._web_dir = web_dir

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """As every ASGI app."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        hosts = Headers(scope=scope).getlist("host")
        match = HOST.fullmatch(hosts[0]) if len(hosts) == 1 else None
        if match is None:
            await self._app(scope, receive, send)
            return
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 4003, "reason": "no game has a socket here"})
            return
        response = await anyio.to_thread.run_sync(self._answer, scope, match[1].lower())
        await response(scope, receive, send)

    def _answer(self, scope: Scope, key: str) -> Response:
        client = scope.get("client")
        if scope["method"] not in ("GET", "HEAD"):
            return PlainTextResponse("only GET", 405)
        if client is not None and client[0] not in ("127.0.0.1", "::1"):
            return PlainTextResponse("page games are played on the server's own machine", 403)
        path: str = scope["path"]
        if path == f"{OWN}{THREAD_PAGE}":
            return self._thread_page()
        if path in (f"{OWN}{CLOCK}", f"{OWN}{PROBE}"):
            file = self._web_dir / "page" / path.removeprefix(OWN)
            return FileResponse(file, media_type="text/javascript", headers={"cache-control": "no-cache"})
        if path == f"{OWN}{PORTAL}":
            return Response(PORTAL_TEXT, media_type="text/javascript", headers=FILE_HEADERS)
        if path == PROBE_PAGE:
            return Response(
                PROBE_TEXT, media_type="text/html", headers={"content-security-policy": PROBE_POLICY}
            )
        files = self._games.page_files(key)
        query = scope["query_string"].decode("latin-1")
        file = None if files is None else files.find(f"{path}?{query}" if query else path)
        if file is None:
            return PlainTextResponse(f"there is no file {path}", 404)
        return _file_response(file) if isinstance(file, Path) else _fetched_response(file)

    def _thread_page(self) -> Response:
        text = (self._web_dir / "dashboard" / THREAD_PAGE).read_text(encoding="utf-8")
        policy = "; ".join(
            (
                "default-src 'none'",
                f"script-src {script_hashes(SCRIPT.findall(text))} blob: 'wasm-unsafe-eval'",
                "frame-src 'self'",
                f"frame-ancestors {OWNERS}",
            )
        )
        # A port is no site: without this, two servers of one machine would share a process.
        headers = {
            "content-security-policy": policy,
            "origin-agent-cluster": "?1",
            "cache-control": "no-cache",
        }
        return Response(text, media_type="text/html", headers=headers)


async def nothing_else(scope: Scope, receive: Receive, send: Send) -> None:
    """What stands behind the origins where nothing else is served."""
    if scope["type"] == "http":
        await PlainTextResponse("nothing is here", 404)(scope, receive, send)


FILE_HEADERS: Final = {"cache-control": "no-cache", "x-content-type-options": "nosniff"}
"""The file may be built anew at any time: the browser asks again, and is told "unchanged"."""
PAGE_HEADERS: Final = FILE_HEADERS | {"content-security-policy": GAME_POLICY, "origin-agent-cluster": "?1"}


def _file_response(file: Path) -> Response:
    kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
    if kind != "text/html" or file.stat().st_size > MAX_PAGE_BYTES:
        return FileResponse(file, media_type=kind, headers=FILE_HEADERS)
    return Response(with_clock(file.read_bytes()), media_type=kind, headers=PAGE_HEADERS)


def _fetched_response(file: FetchedFile) -> Response:
    if file.location is not None:
        return Response(status_code=302, headers={"location": file.location, "cache-control": "no-cache"})
    if not file.media_type.startswith("text/html"):
        return Response(file.body, headers=FILE_HEADERS | {"content-type": file.media_type})
    return Response(with_clock(file.body), headers=PAGE_HEADERS | {"content-type": file.media_type})


def with_clock(page: bytes) -> bytes:
    """The page with the virtual clock as its first script, and our own in the place of portals' SDKs."""
    page = PORTAL_SCRIPT.sub(rb"\1" + f"{OWN}{PORTAL}".encode() + rb"?\2", page)
    return with_first_script(page, CLOCK_TAG)
