"""Pages, their assets and the modules of games: what is served, and no file beside it."""

import asyncio
import os
from pathlib import Path

import pytest

from attract.schema.api import (
    GameEntry,
    RunView,
)
from attract.server.routes import BuiltPages
from gateway_world import GatewayWorld, gateway


async def test_games_are_listed_and_served_by_hash_for_good(world: GatewayWorld):
    entries = [GameEntry.model_validate(entry) for entry in (await world.client.get("/api/games")).json()]
    (counting,) = entries
    assert counting.reference is not None
    async with world.anonymous() as client:
        response = await client.get(f"/{counting.reference.url}")
        assert response.text == "export default 1;\n"
        assert response.headers["content-type"].startswith("text/javascript")
        assert "immutable" in response.headers["cache-control"]
        assert "default-src 'self'" in response.headers["content-security-policy"]
        assert (await client.get(f"/games/{'0' * 64}.js")).status_code == 404
        assert (await client.get("/games/counting.js")).status_code == 404
        assert (await client.get(f"/{counting.reference.url}.map")).status_code == 404


async def test_the_dashboard_and_its_hashed_assets(world: GatewayWorld):
    async with world.anonymous() as client:
        page = await client.get("/")
        assert "<title>Attract</title>" in page.text
        assert page.headers["cache-control"] == "no-cache"
        asset = await client.get("/assets/index-1.js")
        assert "immutable" in asset.headers["cache-control"]


TRAVERSALS = [
    "/../games/counting.js",
    "/%2e%2e/games/counting.js",
    "/..%2fgames%2fcounting.js",
    "/assets/..%2f..%2fgames%2fcounting.js",
    "//etc/hostname",
    "/%2fetc%2fhostname",
    "/assets",
    "/nothing.html",
]


@pytest.mark.parametrize("path", TRAVERSALS)
async def test_no_file_outside_the_dashboard_is_served(world: GatewayWorld, path: str):
    reader, writer = await asyncio.open_connection("127.0.0.1", world.port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
    answer = await reader.read()
    writer.close()
    assert answer.split(b" ", 2)[1] == b"404"
    assert b"export default" not in answer


ODD_PATHS = [
    "/%00",
    "/" + "a" * 256,
    "/" + "a/" * 500,
    "/a" + "/a/.." * 1500,
    "/index.html/",
    "/%ff%fe",
    "/index.html%00.js",
]


@pytest.mark.parametrize("path", ODD_PATHS, ids=range(len(ODD_PATHS)))
async def test_hostile_11_no_address_makes_the_server_fail(world: GatewayWorld, path: str):
    reader, writer = await asyncio.open_connection("127.0.0.1", world.port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
    answer = await reader.read()
    writer.close()
    assert answer.split(b" ", 2)[1] == b"404"
    assert len(answer) < 2000


async def test_a_past_runs_game_is_served_after_a_restart(tmp_path: Path):
    async with gateway(tmp_path) as first:
        run_id = await first.trained(64)
    (tmp_path / "web" / "games" / "counting.js").write_text("export default 2;\n")
    async with gateway(tmp_path) as second:
        view = RunView.model_validate((await second.client.get(f"/api/runs/{run_id}")).json())
        assert view.game_reference is not None
        assert (await second.client.get(f"/{view.game_reference.url}")).text == "export default 1;\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    top = tmp_path / "dashboard"
    (top / "assets").mkdir(parents=True)
    (top / "index.html").write_text("page")
    (top / "assets" / "a.js").write_text("1")
    (tmp_path / "secret").write_text("secret")
    (top / "link").symlink_to(tmp_path / "secret")
    (top / "folder").symlink_to(tmp_path)
    return top


def test_hostile_11_only_what_was_built_is_found(folder: Path):
    pages = BuiltPages(folder)
    assert pages.find("index.html") == folder / "index.html"
    assert pages.find("assets/a.js") == folder / "assets" / "a.js"
    odd = [
        "",
        "assets",
        "assets/",
        "./index.html",
        "assets/../index.html",
        "link",
        "folder/secret",
        "\0",
        "a" * 9999,
    ]
    assert [path for path in odd if pages.find(path) is not None] == []


def test_what_is_built_anew_is_found(folder: Path):
    pages = BuiltPages(folder)
    assert pages.find("assets/b.js") is None
    (folder / "assets" / "b.js").write_text("2")
    (folder / "index.html").write_text("newer")
    os.utime(folder / "index.html", (2e9, 2e9))
    assert pages.find("assets/b.js") is not None


def test_without_a_build_there_is_nothing_until_there_is_one(tmp_path: Path):
    pages = BuiltPages(tmp_path / "dashboard")
    assert pages.find("index.html") is None
    (tmp_path / "dashboard").mkdir()
    (tmp_path / "dashboard" / "index.html").write_text("page")
    assert pages.find("index.html") is not None
