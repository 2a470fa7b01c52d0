"""Where the files of a page come from: its folder as the root of an origin, or a server on this machine."""

import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from attract.games.page_files import ADDRESS, FetchedFile, PageAddress, PageFolder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in (
        "dist/index.html",
        "dist/assets/main.js",
        "dist/img/ship.png",
        "lib/engine.js",
        "runs/token",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    return tmp_path


def found(files: PageFolder, path: str) -> str | None:
    file = files.find(path)
    return None if file is None else file.read_text()


def test_a_build_finds_what_it_names_from_the_root(folder: Path) -> None:
    files = PageFolder(folder, folder / "runs")
    assert found(files, "/assets/main.js") is None
    assert found(files, "/dist/index.html") == "dist/index.html"
    assert found(files, "/assets/main.js?v=1") == "dist/assets/main.js"
    # Built for a folder of its host, as for pages of repositories.
    assert found(files, "/my-game/assets/main.js") == "dist/assets/main.js"
    assert found(files, "/my-game/deeper/assets/main.js") is None
    assert found(files, "/lib/engine.js") == "lib/engine.js"


def test_beside_a_page_nothing_more_is_shown(folder: Path) -> None:
    (folder / ".env").write_text("secret")
    (folder / "dist" / ".env").write_text("secret")
    (folder / "dist" / "out.js").symlink_to("/etc/passwd")
    files = PageFolder(folder, folder / "runs")
    assert found(files, "/dist/") == "dist/index.html"
    for path in (
        "/.env",
        "/x/.env",
        "/out.js",
        "/../runs/token",
        "/x/../runs/token",
        "/runs/token",
        "//runs/token",
    ):
        assert found(files, path) is None


class Bundler(BaseHTTPRequestHandler):
    """A development server: a page, a module with a query, one that moved, and nothing else."""

    def do_GET(self) -> None:
        body = {"/": b"<html></html>", "/src/main.ts?t=5": b"export {}"}.get(self.path)
        self.send_response(302 if self.path == "/old" else 200 if body else 404)
        self.send_header("content-type", "text/html" if self.path == "/" else "text/javascript")
        if self.path == "/old":
            self.send_header("location", "http://localhost:1/base/?x=1")
        self.end_headers()
        self.wfile.write(body or b"")

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def port() -> Iterator[int]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Bundler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


def test_a_server_of_this_machine_is_asked_path_and_query(port: int) -> None:
    files = PageAddress(f"http://127.0.0.1:{port}/game/")
    assert files.find("/") == FetchedFile(b"<html></html>", "text/html")
    assert files.find("/src/main.ts?t=5") == FetchedFile(b"export {}", "text/javascript")
    assert files.find("/old") == FetchedFile(b"", "text/javascript", "/base/?x=1")
    assert files.find("/src/other.ts") is None


def test_nobody_there_is_no_file() -> None:
    assert PageAddress("http://127.0.0.1:9/").find("/") is None


@pytest.mark.parametrize(
    "address", ["http://localhost:5173", "http://127.0.0.1:80/a/?b=c", "http://[::1]:5/x"]
)
def test_addresses_of_this_machine(address: str) -> None:
    assert ADDRESS.fullmatch(address)


@pytest.mark.parametrize(
    "address",
    ["http://example.com/", "http://localhost.example.com/", "ftp://localhost/", "http://10.0.0.1/"],
)
def test_addresses_of_others(address: str) -> None:
    assert ADDRESS.fullmatch(address) is None


def test_no_link_leads_out_of_what_is_shown(tmp_path: Path) -> None:
    folder, outside = tmp_path / "game", tmp_path / "outside"
    (folder / "art").mkdir(parents=True)
    (folder / "node_modules" / ".pnpm" / "three").mkdir(parents=True)
    outside.mkdir()
    (outside / "index.html").write_text("secret")
    (folder / ".env").write_text("TOKEN=1")
    (folder / "node_modules" / ".pnpm" / "three" / "three.js").write_text("three")
    (folder / "art" / "index.html").symlink_to(outside / "index.html")
    (folder / "art" / "there").symlink_to(outside)
    (folder / "env.txt").symlink_to(".env")
    (folder / "node_modules" / "three").symlink_to(".pnpm/three")
    os.mkfifo(folder / "pipe")
    files = PageFolder(folder, tmp_path / "runs")
    for path in ("/art/", "/art/index.html", "/art/there/", "/art/there/index.html", "/env.txt", "/pipe"):
        assert files.find(path) is None, path
    assert files.find("/node_modules/three/three.js") is not None
