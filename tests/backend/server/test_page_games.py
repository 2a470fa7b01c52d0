"""The origins of page games: a module's folder by its hash, the clock first, and nothing else."""

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest

from attract.browser.chromium import PACKAGE_HOSTS
from attract.games.library import GameLibrary
from attract.server.names import ServerNames
from attract.server.page_games import MAX_PAGE_BYTES, PageGameMiddleware, with_clock
from attract.settings.run import ServerSettings

ADAPTER = b"export default definePageGame({})"
VISITED = "http://[::ffff:c0a8:105]:8000"
"""192.168.1.5, spelt as IPv6."""
CLOCK = b'<script src="/.attract/page-clock.js"></script>'


async def beyond(scope, receive, send) -> None:
    """What is asked of no game's origin."""
    await send({"type": "http.response.start", "status": 299, "headers": []})
    await send({"type": "http.response.body", "body": b"the server's own"})


def origin(sha256: str) -> str:
    return f"http://g3-{sha256[:32]}.localhost:8000"


class World:
    def __init__(self, folder: Path, name: str = "games/hop.page.ts", adapter: bytes = ADAPTER) -> None:
        self.games = folder / "project" / "games"
        (self.games / "site" / "img").mkdir(parents=True)
        (self.games / "site" / "index.html").write_text(
            "<!doctype html><html><head><title>x</title></head></html>"
        )
        (self.games / "site" / "img" / "ship.png").write_bytes(b"png")
        (self.games / ".env").write_text("SECRET=1")
        (folder / "outside.html").write_text("outside")
        (self.games / "link.html").symlink_to(folder / "outside.html")
        (self.games / "runs").mkdir()
        (self.games / "runs" / "token").write_text("secret")
        web = folder / "web"
        (web / "page").mkdir(parents=True)
        (web / "page" / "page-clock.js").write_text("clock")
        (web / "dashboard").mkdir()
        (web / "dashboard" / "page-thread.html").write_text("<script>begin()</script>")
        library = GameLibrary(folder / "project", web, runs_dir=self.games / "runs")
        self.sha256 = library.keep(name, adapter, None).reference.sha256
        self.library = library
        self._names = ServerNames(ServerSettings(lan=True, runs_dir=folder / "runs"))
        self._closed = ServerNames(ServerSettings(runs_dir=folder / "runs"))
        self._web = web

    def get(
        self,
        path: str,
        *,
        method: str = "GET",
        address: str = "127.0.0.1",
        host: str | None = None,
        server: str = "127.0.0.1",
        is_open: bool = True,
        headers: dict[str, str] | None = None,
    ) -> httpx.Response:
        names = self._names if is_open else self._closed
        app = PageGameMiddleware(beyond, games=self.library, web_dir=self._web, names=names)

        async def came_in(scope, receive, send) -> None:
            await app({**scope, "server": (server, 8000)}, receive, send)

        async def ask() -> httpx.Response:
            transport = httpx.ASGITransport(came_in, client=(address, 5))
            base = host or origin(self.sha256)
            async with httpx.AsyncClient(transport=transport, base_url=base, headers=headers) as client:
                return await client.request(method, path)

        return asyncio.run(ask())

    def visit(self, path: str, **more: Any) -> httpx.Response:
        """As a browser of the network asks, which reached this server as 192.168.1.5."""
        return self.get(path, **({"address": "192.168.1.7", "host": VISITED, "server": "192.168.1.5"} | more))


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def _beside_packages(policy: str) -> str:
    """All that the policy lets a page ask for but scripts and style sheets."""
    own, _, frames = policy.partition("frame-ancestors")
    assert frames
    packages = {f"https://{host}" for host in PACKAGE_HOSTS}
    parts = [part.split() for part in own.split("; ")]
    assert all(packages < set(part) for part in parts if part and part[0] in {"script-src", "style-src"})
    return " ".join(
        source
        for part in parts
        for source in part
        if part[0] not in {"script-src", "style-src"} or source not in packages
    )


def test_a_page_gets_the_clock_before_its_own_scripts_and_nothing_from_elsewhere(world: World) -> None:
    answer = world.get("/site/index.html")
    assert answer.status_code == 200
    assert answer.content == b"<!doctype html><html><head>" + CLOCK + b"<title>x</title></head></html>"
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'self' ")
    assert "http://127.0.0.1:*" in policy.split("frame-ancestors ")[1]
    assert "http" not in _beside_packages(policy)
    assert answer.headers["origin-agent-cluster"] == "?1"
    assert world.get("/site").content == answer.content
    assert world.get("/site/img/ship.png").content == b"png"


@pytest.mark.parametrize(
    ("page", "clocked"),
    [
        (b"<html><HEAD lang=x><script>a</script>", b"<html><HEAD lang=x>" + CLOCK + b"<script>a</script>"),
        (b"<!DOCTYPE html>\n<script>a</script>", b"<!DOCTYPE html>" + CLOCK + b"\n<script>a</script>"),
        (b"<script>a</script>", CLOCK + b"<script>a</script>"),
    ],
)
def test_the_clock_comes_first_in_pages_of_any_shape(page: bytes, clocked: bytes) -> None:
    assert with_clock(page) == clocked


@pytest.mark.parametrize(
    ("path", "kind", "kept"),
    [
        ("/site/img/ship.png", "image", "max-age=2"),
        ("/.attract/page-clock.js", "script", "max-age=2"),
        # What its own code fetches, the page itself, and a browser that does not say.
        ("/site/img/ship.png", "empty", "no-cache"),
        ("/site/", "iframe", "no-cache"),
        ("/site/img/ship.png", None, "no-cache"),
    ],
)
def test_further_pages_load_the_same_elements_without_a_request(
    world: World, path: str, kind: str | None, kept: str
) -> None:
    answer = world.get(path, headers={} if kind is None else {"sec-fetch-dest": kind})
    assert (answer.status_code, answer.headers["cache-control"]) == (200, kept)


@pytest.mark.parametrize(
    "path",
    [
        ".env",
        "site/../.env",
        "site/%2e%2e/%2e%2e/outside.html",
        "../outside.html",
        "link.html",
        "runs/token",
        "missing.html",
        "",
        "site/%00.html",
        "x" * 5000,
    ],
)
def test_nothing_hidden_nothing_of_the_runs_and_nothing_outside_is_served(world: World, path: str) -> None:
    assert world.get(f"/{path}").status_code == 404


FILES = {
    "worker.js": b"postMessage(1)",
    "ship.svg": b"<svg xmlns='http://www.w3.org/2000/svg'/>",
    "page.xhtml": b"<html xmlns='http://www.w3.org/1999/xhtml'/>",
    "page.xml": b"<html xmlns='http://www.w3.org/1999/xhtml'/>",
    "large.html": b"<!doctype html>" + b" " * MAX_PAGE_BYTES,
    "engine.wasm": b"\0asm",
    "levels.json": b"[]",
    "sheet.xsl": b"<xsl/>",
    "no-such-type.abc": b"?",
}


@pytest.mark.parametrize(
    ("path", "status", "more"),
    [
        *((f"/{name}", 200, {}) for name in FILES),
        ("/site/index.html", 200, {}),
        ("/worker.js", 200, {"method": "HEAD"}),
        ("/worker.js", 206, {"headers": {"range": "bytes=0-3"}}),
        ("/worker.js", 416, {"headers": {"range": "bytes=900-"}}),
        ("/worker.js", 400, {"headers": {"range": "parsecs=1"}}),
        ("/missing.js", 404, {}),
        ("/worker.js", 405, {"method": "POST"}),
        ("/worker.js", 403, {"address": "192.168.1.7"}),
        ("/worker.js", 403, {"headers": {"service-worker": "script"}}),
        ("/.attract/page-clock.js", 200, {}),
        ("/.attract/portal.js", 200, {}),
        ("/.attract/probe.html", 200, {}),
        ("/.attract/page-thread.html", 200, {}),
    ],
)
def test_every_response_has_a_policy(world: World, path: str, status: int, more: dict[str, Any]) -> None:
    for name, content in FILES.items():
        (world.games / name).write_bytes(content)
    answer = world.get(path, **more)
    assert answer.status_code == status
    policy = answer.headers["content-security-policy"]
    assert policy.startswith(("default-src 'self'", "default-src 'none'"))
    if not path.endswith(("probe.html", "page-thread.html")):  # whose policies are stricter
        assert "http" not in _beside_packages(policy)


def test_every_response_to_a_visitor_has_a_policy(world: World) -> None:
    (world.games / "worker.js").write_bytes(b"postMessage(1)")
    key = world.sha256[:32]
    asked_by = {"referer": f"{VISITED}/{key}/site/index.html"}
    for answer in (
        world.visit(f"/{key}/worker.js"),
        world.visit("/worker.js", headers=asked_by),  # a redirect
        world.visit("/worker.js"),  # not found
        world.visit(f"/{key}/worker.js", is_open=False),
    ):
        assert answer.headers["content-security-policy"].split("frame-ancestors ")[1] == (
            "'self' http://192.168.1.5:*"
        )


def test_only_the_folder_of_an_adapter_is_served(tmp_path: Path) -> None:
    world = World(tmp_path, "games/hop.ts")
    assert world.get("/site/index.html").status_code == 404
    assert world.get("/site/index.html", host=origin("0" * 32)).status_code == 404


def test_an_adapter_outside_the_project_has_no_folder(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    world = World(tmp_path / "project", "../games/hop.page.ts")
    assert world.get("/outside.html").status_code == 404


def test_the_threads_page_runs_its_own_script_alone(world: World) -> None:
    answer = world.get("/.attract/page-thread.html")
    policy = answer.headers["content-security-policy"]
    assert answer.status_code == 200
    assert "default-src 'none'" in policy and "'sha256-" in policy and "frame-src 'self'" in policy
    assert "unsafe-inline" not in policy
    assert world.get("/.attract/page-clock.js").text == "clock"


def test_it_is_no_way_to_the_server_and_only_for_this_machine(world: World) -> None:
    assert world.get("/api/runs").status_code == 404
    assert world.get("/.attract/page-thread.html", method="POST").status_code == 405
    assert world.get("/.attract/page-thread.html", address="192.168.1.7").status_code == 403


@pytest.mark.parametrize(
    "host",
    [
        "http://127.0.0.1:8000",
        "http://localhost:8000",
        "http://g3.localhost.evil.example",
        "http://gx.localhost",
        "http://g3.localhost",
    ],
)
def test_all_other_names_are_the_servers_own(world: World, host: str) -> None:
    assert world.get("/.attract/page-thread.html", host=host).status_code == 299


@pytest.mark.parametrize(
    "address",
    [
        "//game-cdn.poki.com/scripts/v2/poki-sdk.js",
        "https://sdk.crazygames.com/crazygames-sdk-v3.js",
        "https://www.youtube.com/game_api/v1",
        "https://html5.api.gamedistribution.com/main.min.js",
    ],
)
def test_a_portals_script_is_replaced_by_ours(address: str) -> None:
    page = (
        f'<head><script async src="{address}"></script><script src="https://x.example/a.js"></script></head>'
    )
    clocked = with_clock(page.encode()).decode()
    assert f'<script async src="/.attract/portal.js?{address}"></script>' in clocked
    assert '<script src="https://x.example/a.js"></script>' in clocked


def test_the_script_in_its_place_asks_the_clock(world: World) -> None:
    answer = world.get("/.attract/portal.js?https://sdk.crazygames.com/crazygames-sdk-v3.js")
    assert answer.headers["content-type"].startswith("text/javascript")
    assert "attractInstallPortal?.(document.currentScript.src)" in answer.text


def test_a_visitor_is_served_where_the_servers_address_is_spelt_as_ipv6(world: World) -> None:
    key = world.sha256[:32]
    answer = world.visit(f"/{key}/site/index.html")
    assert answer.content == b"<!doctype html><html><head>" + CLOCK + b"<title>x</title></head></html>"
    policy = answer.headers["content-security-policy"]
    assert policy.split("frame-ancestors ")[1] == "'self' http://192.168.1.5:*"
    assert "http" not in _beside_packages(policy)
    assert world.visit("/.attract/page-clock.js").text == "clock"
    thread = world.visit(f"/{key}/.attract/page-thread.html")
    assert "begin()" in thread.text
    assert "frame-ancestors http://192.168.1.5:*" in thread.headers["content-security-policy"]


def test_what_a_visitors_page_names_from_the_root_is_found_below_its_own(world: World) -> None:
    key = world.sha256[:32]
    asked_by = {"referer": f"{VISITED}/{key}/site/index.html"}
    answer = world.visit("/site/img/ship.png?a=1", headers=asked_by)
    assert (answer.status_code, answer.headers["location"]) == (307, f"/{key}/site/img/ship.png?a=1")
    assert answer.headers["cache-control"] == "no-store"
    assert world.visit(f"/{key}/site/img/ship.png").content == b"png"
    assert world.visit("//elsewhere.example/x", headers=asked_by).headers["location"].startswith(f"/{key}/")
    for unknown in ({}, {"referer": f"{VISITED}/site/index.html"}, {"referer": "http://[/"}):
        assert world.visit("/site/img/ship.png", headers=unknown).status_code == 404


def test_a_visitor_who_does_not_know_the_game_gets_nothing(world: World) -> None:
    key = world.sha256[:32]
    assert world.visit(f"/{'0' * 32}/site/index.html").status_code == 404
    for path in (".env", "../outside.html", "link.html", "runs/token"):
        assert world.visit(f"/{key}/{path}").status_code == 404
    assert world.visit("/api/runs").status_code == 404
    assert world.visit(f"/{key}/site/index.html", method="POST").status_code == 405


def test_a_server_that_is_not_open_to_the_network_serves_nobody_there(world: World) -> None:
    key = world.sha256[:32]
    assert world.visit(f"/{key}/site/index.html", is_open=False).status_code == 403


@pytest.mark.parametrize(
    "host", ["http://[::ffff:c0a8:106]:8000", "http://[::c0a8:105]:8000", "http://[fd00::1]:8000"]
)
def test_other_spellings_are_no_game_origins(host: str, world: World) -> None:
    assert world.visit(f"/{world.sha256[:32]}/site/index.html", host=host).status_code == 299


def test_a_page_of_another_server_is_not_for_visitors_and_says_so(tmp_path: Path) -> None:
    world = World(tmp_path, adapter=b'definePageGame({ page: "http://localhost:5173/" })')
    key = world.sha256[:32]
    thread = world.visit(f"/{key}/.attract/page-thread.html")
    assert "refused" in thread.text and "begin()" not in thread.text
    assert "'sha256-" in thread.headers["content-security-policy"]
    assert world.visit(f"/{key}/index.html").status_code == 404
