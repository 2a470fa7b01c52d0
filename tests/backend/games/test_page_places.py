"""Which page a name means, and where its adapter belongs."""

from pathlib import Path

import pytest

from attract.errors import ConfigurationError
from attract.games.page_files import PageAddress, PageFolder
from attract.games.page_places import names_page, page_place


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("flappy/index.html", "vite/dist/index.html", "deep/levels/one.html", "empty/readme.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("<html></html>")
    return tmp_path


@pytest.mark.parametrize(
    ("given", "page", "adapter_folder"),
    [
        ("./flappy", "index.html", "flappy"),
        ("flappy", "index.html", "flappy"),
        ("flappy/index.html", "index.html", "flappy"),
        # A build folder is rebuilt: its adapter would be lost.
        ("./vite/dist", "dist/index.html", "vite"),
        ("vite/dist/index.html", "dist/index.html", "vite"),
        ("./vite", "dist/index.html", "vite"),
        ("deep/levels/one.html", "one.html", "deep/levels"),
    ],
)
def test_the_page_and_where_its_adapter_belongs(
    folder: Path, given: str, page: str, adapter_folder: str
) -> None:
    assert names_page(given, None)
    place = page_place(given, folder / "runs")
    assert (place.page, place.folder) == (page, folder / adapter_folder)
    assert isinstance(place.files, PageFolder)
    assert place.files.find(f"/{page}") == folder / adapter_folder / page


def test_a_server_on_this_machine(folder: Path) -> None:
    place = page_place("http://localhost:5173", folder)
    assert (place.page, place.folder) == ("http://localhost:5173/", folder)
    assert isinstance(place.files, PageAddress)


@pytest.mark.parametrize("given", ["cartpole", "game.ts", "games/my.page.ts", "./missing", "snake"])
def test_modules_and_names_are_no_pages(folder: Path, given: str) -> None:
    # A folder that is there may be called as a bundled game is: with a slash it is the folder.
    (folder / "snake").mkdir()
    assert names_page("./snake", None)
    assert not names_page(given, None)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("https://example.com/game/", "is not on this machine"),
        ("./empty", "there is no index.html in"),
        ("flappy/other.html", "there is no page"),
    ],
)
def test_what_is_no_page_says_what_would_be(folder: Path, given: str, text: str) -> None:
    with pytest.raises(ConfigurationError, match=text) as raised:
        page_place(given, folder)
    assert raised.value.fix


def test_a_folder_of_other_pages_says_which(folder: Path) -> None:
    for name in ("two.html", "one.htm", "notes.txt"):
        (folder / "empty" / name).write_text("")
    with pytest.raises(
        ConfigurationError, match=r"no index\.html in .*empty, but one\.htm, two\.html"
    ) as raised:
        page_place("./empty", folder)
    assert raised.value.fix == "name the page: empty/one.htm"


def test_adapters_of_the_same_page_are_known(folder: Path) -> None:
    place = page_place("./vite/dist", folder)
    assert place.adapters() == []
    (folder / "vite" / "game.page.ts").write_text('definePageGame({ page: "dist/index.html" })')
    (folder / "vite" / "other.page.ts").write_text('definePageGame({ page: "index.html" })')
    assert place.adapters() == [folder / "vite" / "game.page.ts"]
    address = page_place("http://localhost:5173/", folder)
    (folder / "live.page.ts").write_text("definePageGame({ page: 'http://localhost:5173' })")
    assert address.adapters() == [folder / "live.page.ts"]
