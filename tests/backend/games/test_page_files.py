"""Where the files of a page come from: its folder as the root of an origin, or a server on this machine."""

import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from attract.errors import ConfigurationError
from attract.games.page_files import ADDRESS, FetchedFile, PageAddress, PageFolder, missing_text


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
    assert not isinstance(file, FetchedFile), file
    return None if file is None else file.read_text()


def moved(files: PageFolder, path: str) -> str | None:
    """Where the page at `path` is said to be."""
    file = files.find(path)
    assert isinstance(file, FetchedFile), file
    return file.location


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


def test_of_what_lies_above_the_list_is_found_and_never_a_neighbour(tmp_path: Path) -> None:
    project = tmp_path / "home" / "project"
    pages = project / "examples" / "deep"
    (pages / "runs").mkdir(parents=True)
    (project / "pixi").mkdir()
    for file in (
        pages / "game.html",
        project / "pixi" / "pixi.js",
        project / "pixi" / "key.pem",
        project / "examples" / "sound.mp3",
        project / ".env",
        tmp_path / "home" / "secret.txt",
        project / "runs" / "token",
    ):
        file.parent.mkdir(exist_ok=True)
        file.write_text(file.name)
    (project / ".git").mkdir()
    (project / "out.txt").symlink_to(tmp_path / "home" / "secret.txt")
    assert found(PageFolder(pages, project / "runs"), "/pixi/pixi.js") is None
    listed = [project / name for name in ("pixi/pixi.js", "examples/sound.mp3", "runs", ".env")]
    files = PageFolder(pages, project / "runs", list(map(str, listed)))
    assert moved(files, "/game.html") == "examples/deep/game.html"
    # A browser asks for `../../pixi/pixi.js` of a page at the root as it asks for `/pixi/pixi.js`.
    assert found(files, "/pixi/pixi.js") == "pixi.js"
    assert found(files, "/sound.mp3") == "sound.mp3"
    for path in (
        "/pixi/key.pem",
        "/secret.txt",
        "/home/secret.txt",
        "/../secret.txt",
        "/.env",
        "/out.txt",
        "/token",
        "/runs/token",
    ):
        assert found(files, path) is None, path
    assert found(PageFolder(pages, project / "runs", [str(project / "pixi")]), "/pixi/key.pem") == "key.pem"
    # It is named where it would be found, for the person to list it.
    assert missing_text(pages, "/pixi/key.pem").endswith("project/pixi/key.pem if the page may have it")
    assert [missing_text(pages, path) for path in ("/secret.txt", "/.env")] == ["does not exist"] * 2


def test_a_page_that_asks_for_files_above_its_folder_is_not_whole_until_a_list_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "games" / "puzzle"
    folder.mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    for name in ("shared.js", "my sounds/hit.wav", "my sounds/miss.wav", "runs/token", ".env"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    monkeypatch.chdir(folder)
    files = PageFolder(folder, tmp_path / "runs")
    for path in ("/runs/token", "/.env", "/nowhere.png", "/" + "x" * 5_000, "/%00"):
        assert found(files, path) is None
    files.check_whole()
    for path in ("/my%20sounds/hit.wav", "/my sounds/miss.wav?2", "/shared.js"):
        assert found(files, path) is None
    with pytest.raises(
        ConfigurationError, match=r"not given: \.\./\.\./my sounds/hit\.wav and 2 more"
    ) as caught:
        files.check_whole()
    assert caught.value.fix == "add --include '../../my sounds,../../shared.js' if the page may have them"
    listed = PageFolder(folder, tmp_path / "runs", ["../../shared.js"])
    assert found(listed, "/my sounds/hit.wav") is None
    listed.check_whole()


def test_a_page_that_names_files_above_its_folder_is_given_where_those_names_mean_what_they_say(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "games" / "my puzzle"
    folder.mkdir(parents=True)
    text = '<link rel="stylesheet" href="../../style.css"><script src="../lib/a.js"></script>'
    (folder / "index.html").write_text(text)
    (folder / "style.css").write_text("own")
    (tmp_path / "style.css").write_text("of all")
    (tmp_path / "index.html").write_text("the list of games")
    (tmp_path / "games" / "lib").mkdir()
    (tmp_path / "games" / "lib" / "a.js").write_text("a")
    assert found(PageFolder(folder, tmp_path / "runs"), "/index.html") == text
    listed = [str(tmp_path / "style.css"), str(tmp_path / "games" / "lib")]
    files = PageFolder(folder, tmp_path / "runs", listed)
    assert moved(files, "/index.html?level=2") == "games/my%20puzzle/index.html?level=2"
    # A copy of the page asks as the first did.
    assert moved(files, "/") == "games/my%20puzzle/index.html"
    assert found(files, "/games/my puzzle/index.html") == text
    assert found(files, "/style.css") == "of all"
    assert found(files, "/games/my puzzle/style.css") == "own"
    assert found(files, "/games/lib/a.js") == "a"
    assert files.root == tmp_path


def test_a_page_in_a_folder_below_its_adapter_goes_above_both(tmp_path: Path) -> None:
    folder = tmp_path / "game"
    (folder / "dist").mkdir(parents=True)
    (tmp_path / "all.js").write_text("all")
    page = folder / "dist" / "index.html"
    page.write_text("<script src='../../all.js'></script>")
    files = PageFolder(folder, tmp_path / "runs")
    assert (found(files, "/dist/index.html"), files.root) == (page.read_text(), folder)
    files = PageFolder(folder, tmp_path / "runs", [str(tmp_path / "all.js")])
    assert moved(files, "/dist/index.html") == "../game/dist/index.html"
    assert found(files, "/game/dist/index.html") == page.read_text()
    # A list of another project is none of this page's.
    assert PageFolder(folder, tmp_path / "runs", ["/etc/hostname"]).root == folder


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


def test_without_a_server_there_is_no_file() -> None:
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
