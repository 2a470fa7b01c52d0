"""The origins of page games: a module's folder by its hash, the clock first, and nothing else."""

import asyncio
from pathlib import Path

import httpx
import pytest

from attract.games.library import GameLibrary
from attract.server.page_games import PageGameMiddleware, with_clock

ADAPTER = b"export default definePageGame({})"
CLOCK = b'<script src="/.attract/page-clock.js"></script>'


async def beyond(scope, receive, send) -> None:
    """What is asked of no game's origin."""
    await send({"type": "http.response.start", "status": 299, "headers": []})
    await send({"type": "http.response.body", "body": b"the server's own"})


def origin(sha256: str) -> str:
    return f"http://g3-{sha256[:32]}.localhost:8000"


class World:
    def __init__(self, folder: Path, name: str = "games/hop.page.ts") -> None:
        self.games = folder / "games"
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
        library = GameLibrary(folder, web, runs_dir=self.games / "runs")
        self.sha256 = library.keep(name, ADAPTER, None).reference.sha256
        self._app = PageGameMiddleware(beyond, games=library, web_dir=web)

    def get(
        self, path: str, *, method: str = "GET", address: str = "127.0.0.1", host: str | None = None
    ) -> httpx.Response:
        async def ask() -> httpx.Response:
            transport = httpx.ASGITransport(self._app, client=(address, 5))
            async with httpx.AsyncClient(transport=transport, base_url=host or origin(self.sha256)) as client:
                return await client.request(method, path)

        return asyncio.run(ask())


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_a_page_gets_the_clock_before_its_own_scripts_and_nothing_from_elsewhere(world: World) -> None:
    answer = world.get("/site/index.html")
    assert answer.status_code == 200
    assert answer.content == b"<!doctype html><html><head>" + CLOCK + b"<title>x</title></head></html>"
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'self' ")
    assert "http://127.0.0.1:*" in policy.split("frame-ancestors ")[1]
    assert "http" not in policy.split("frame-ancestors")[0]
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
