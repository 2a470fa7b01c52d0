import os
from pathlib import Path

import pytest

from attract.server.routes import BuiltPages


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
