"""The pages that games live in: served at origins of their own, which have nothing of this server's."""

import base64
import hashlib
import json
import mimetypes
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol
from urllib.parse import quote

import anyio.to_thread
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from attract.browser.chromium import PACKAGE_HOSTS
from attract.games.page_files import FetchedFile, PageAddress, PageFiles, with_first_script
from attract.server.names import ServerNames

SANDBOX_PAGE: Final = "sandbox.html"
"""Below the pages' folder; its own few lines are a script within it."""
SCRIPT: Final = re.compile(r"<script>(.*?)</script>", re.DOTALL)


def script_hashes(scripts: list[str]) -> str:
    """These scripts and no others, as sources of a Content-Security-Policy."""
    digests = (hashlib.sha256(script.encode()).digest() for script in scripts)
    return " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)


def sandbox_policy(page: str) -> str:
    """The Content-Security-Policy of `page`, which the threads that it starts inherit.

    An opaque origin has no cookies and no storage, and shares nothing with any other. Code comes from the
    page's own scripts, named by their hashes, and from `blob:` addresses, which only the frame and its thread
    can make; nothing is fetched, from this server as little as from any other.
    """
    return "; ".join(
        (
            "sandbox allow-scripts",
            "default-src 'none'",
            f"script-src {script_hashes(SCRIPT.findall(page))} blob: 'wasm-unsafe-eval'",
            "worker-src blob:",
            "connect-src 'none'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'self'",
        )
    )


HOST: Final = re.compile(r"g\d{1,9}-([0-9a-f]{32})\.localhost(?::\d{1,5})?", re.IGNORECASE)
"""Browsers take these names for this machine, and each for a site of its own, with a process of its own.

The letters name the game: the root of the origin is that of its page.
"""
VISITED: Final = re.compile(r"/([0-9a-f]{32})(/.*)")
"""A path for visitors: their machines cannot resolve the host names, so the path has the key."""
VISITING_PAGE: Final = re.compile(r"http://[^/]+/([0-9a-f]{32})/")
"""Referer of requests from such a page or script."""
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
OWNERS: Final = "http://127.0.0.1:* http://localhost:*"
"""The pages that may hold a thread's frame, on this machine."""
PACKAGE_SOURCES: Final = " ".join(f"https://{host}" for host in PACKAGE_HOSTS)
"""Servers of published packages, as sources of a policy."""
OWN_SOURCES: Final = "'self' 'unsafe-inline' 'unsafe-eval' 'wasm-unsafe-eval' data: blob:"
GAME_POLICY: Final = "; ".join(
    (
        f"default-src {OWN_SOURCES}",
        f"script-src {OWN_SOURCES} {PACKAGE_SOURCES}",
        f"style-src {OWN_SOURCES} {PACKAGE_SOURCES}",
        "form-action 'none'",
        "sandbox allow-scripts allow-same-origin allow-pointer-lock allow-forms",
        "frame-ancestors 'self' {owners}",
    )
)
"""A game gets its own files, and published packages: no advertisements, no windows, no way out."""
NOT_FOR_VISITORS: Final = "this game's page is on another server and can only be played on that machine"
MAX_PAGE_BYTES: Final = 8 * 2**20
"""Limit of the page itself, which is read whole; the files that it loads may be of any size."""


class PageSources(Protocol):
    """A provider of the games' pages."""

    def page_files(self, key: str) -> PageFiles | None:
        """The files of the game with this key, 32 letters of 0 to f; None: unknown."""
        ...


@dataclass(frozen=True)
class _Asked:
    """A request to the games' origins."""

    path: str
    """From the root of the origin, or of the game where its letters come first."""
    key: str | None
    """Key of the game; None: not in the path."""
    owners: str
    """See `OWNERS`."""
    is_visitors: bool


class PageGameMiddleware:
    """Answers what is asked of the games' origins, itself, and hands on everything else.

    Every response has a Content-Security-Policy: one of its own, or else `GAME_POLICY`.

    A client must be on this machine, or a visitor of `names` who knows the game. There are no tokens, no
    sockets and nothing but files.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        games: PageSources,
        web_dir: Path,
        names: ServerNames | None = None,
        kept_seconds: int = 2,
    ) -> None:
        """Take the origins of the games.

        Args:
            names: of the server whose visitors play too; None: none do.
            kept_seconds: for which a browser uses what a page's elements load, and its compiled script, for
                further pages without a request.
        """
        self._app = app
        self._games = games
        self._web_dir = web_dir
        self._names = names
        kept = {"cache-control": f"max-age={kept_seconds}", "vary": "sec-fetch-dest"}
        self._kept_headers = FILE_HEADERS | kept

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """As every ASGI app."""
        asked = self._asked(scope) if scope["type"] in ("http", "websocket") else None
        if asked is None:
            await self._app(scope, receive, send)
            return
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 4003, "reason": "no game has a socket here"})
            return
        policy = GAME_POLICY.format(owners=asked.owners)

        async def send_with_policy(message: Message) -> None:
            # Scripts of workers, SVG, XML and errors too: what runs by a response without one is not bounded.
            if message["type"] == "http.response.start":
                headers = MutableHeaders(raw=message["headers"])
                headers.setdefault("content-security-policy", policy)
                message = {**message, "headers": headers.raw}
            await send(message)

        response = await anyio.to_thread.run_sync(self._answer, scope, asked)
        await response(scope, receive, send_with_policy)

    def _asked(self, scope: Scope) -> _Asked | None:
        hosts = Headers(scope=scope).getlist("host")
        match = HOST.fullmatch(hosts[0]) if len(hosts) == 1 else None
        path: str = scope["path"]
        if match is not None:
            return _Asked(path, match[1].lower(), OWNERS, is_visitors=False)
        address = None if self._names is None else self._names.games_address(scope)
        if address is None:
            return None
        owners = f"http://{address}:*"
        visited = VISITED.fullmatch(path)
        if visited is None:
            return _Asked(path, None, owners, is_visitors=True)
        return _Asked(visited[2], visited[1], owners, is_visitors=True)

    def _answer(self, scope: Scope, asked: _Asked) -> Response:
        if scope["method"] not in ("GET", "HEAD"):
            return PlainTextResponse("only GET", 405)
        if not self._is_open(scope, asked):
            return PlainTextResponse("page games can only be played on the server's own machine", 403)
        if "service-worker" in Headers(scope=scope):
            # It could answer its page's requests itself, with documents that have no policy.
            return PlainTextResponse("a page game has no service worker", 403)
        if asked.path in (f"{OWN}{CLOCK}", f"{OWN}{PROBE}"):
            file = self._web_dir / "page" / asked.path.removeprefix(OWN)
            return FileResponse(file, media_type="text/javascript", headers=self._file_headers(scope))
        if asked.path == f"{OWN}{PORTAL}":
            return Response(PORTAL_TEXT, media_type="text/javascript", headers=self._file_headers(scope))
        if asked.path == PROBE_PAGE:
            return Response(
                PROBE_TEXT, media_type="text/html", headers={"content-security-policy": PROBE_POLICY}
            )
        if asked.key is None:
            return _redirect(scope)
        files = self._games.page_files(asked.key)
        is_refused = asked.is_visitors and isinstance(files, PageAddress)
        if asked.path == f"{OWN}{THREAD_PAGE}":
            return self._thread_page(asked.owners, NOT_FOR_VISITORS if is_refused else None)
        file = None
        if files is not None and not is_refused:
            file = files.find(_with_query(scope, asked.path))
        if file is None:
            return PlainTextResponse(f"there is no file {asked.path}", 404)
        headers = self._file_headers(scope)
        return _file_response(file, headers) if isinstance(file, Path) else _fetched_response(file, headers)

    def _file_headers(self, scope: Scope) -> dict[str, str]:
        kind = Headers(scope=scope).get("sec-fetch-dest")
        return self._kept_headers if kind in KEPT_KINDS else FILE_HEADERS

    def _is_open(self, scope: Scope, asked: _Asked) -> bool:
        if asked.is_visitors:
            return self._names is not None and self._names.is_open_to(scope)
        client = scope.get("client")
        return client is None or client[0] in ("127.0.0.1", "::1")

    def _thread_page(self, owners: str, refusal: str | None) -> Response:
        """The page in which a thread runs; with `refusal` a page that only reports it."""
        if refusal is None:
            text = (self._web_dir / "dashboard" / THREAD_PAGE).read_text(encoding="utf-8")
        else:
            text = f"<script>parent.postMessage({{ refused: {json.dumps(refusal)} }}, '*')</script>"
        policy = "; ".join(
            (
                "default-src 'none'",
                f"script-src {script_hashes(SCRIPT.findall(text))} blob: 'wasm-unsafe-eval'",
                "frame-src 'self'",
                f"frame-ancestors {owners}",
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
    """The app behind the origins without any games."""
    if scope["type"] == "http":
        await PlainTextResponse("nothing is here", 404)(scope, receive, send)


FILE_HEADERS: Final = {"cache-control": "no-cache", "x-content-type-options": "nosniff"}
"""The file may be rebuilt at any time: the browser revalidates and gets 304 if it is unchanged."""
PAGE_HEADERS: Final = FILE_HEADERS | {"origin-agent-cluster": "?1"}
KEPT_KINDS: Final = ("script", "style", "image", "font", "audio")
"""What elements of a page load, in the words of the header `Sec-Fetch-Dest`; `fetch` asks with `empty`."""


def _with_query(scope: Scope, path: str) -> str:
    query = scope["query_string"].decode("latin-1")
    return f"{path}?{query}" if query else path


def _redirect(scope: Scope) -> Response:
    """To the game of the page that asks: it may name files from the root, where others have theirs too."""
    referer = VISITING_PAGE.match(Headers(scope=scope).get("referer", ""))
    if referer is None:
        return PlainTextResponse(f"there is no file {scope['path']}", 404)
    location = _with_query(scope, f"/{referer[1]}{quote(scope['path'])}")
    return Response(
        status_code=307, headers={"location": location, "cache-control": "no-store", "vary": "referer"}
    )


def _file_response(file: Path, headers: dict[str, str]) -> Response:
    kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
    if kind != "text/html" or file.stat().st_size > MAX_PAGE_BYTES:
        return FileResponse(file, media_type=kind, headers=headers)
    return Response(with_clock(file.read_bytes()), media_type=kind, headers=PAGE_HEADERS)


def _fetched_response(file: FetchedFile, headers: dict[str, str]) -> Response:
    if file.location is not None:
        return Response(status_code=302, headers={"location": file.location, "cache-control": "no-cache"})
    if not file.media_type.startswith("text/html"):
        return Response(file.body, headers=headers | {"content-type": file.media_type})
    return Response(with_clock(file.body), headers=PAGE_HEADERS | {"content-type": file.media_type})


def with_clock(page: bytes, own: str = OWN) -> bytes:
    """The page with the virtual clock as its first script, and our own in the place of portals' SDKs.

    Args:
        page: HTML.
        own: the folder of both, as the page names it.
    """
    page = PORTAL_SCRIPT.sub(rb"\1" + f"{own}{PORTAL}".encode() + rb"?\2", page)
    return with_first_script(page, f'<script src="{own}{CLOCK}"></script>'.encode())
