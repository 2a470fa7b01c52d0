"""The files of a page with their hashes: what counts, what does not, and bounds."""

import hashlib
import os
from pathlib import Path

import pytest

from attract.games import kept_game
from attract.games.kept_game import list_page


@pytest.fixture
def site(tmp_path: Path) -> Path:
    folder = tmp_path / "site"
    (folder / "dist" / "assets").mkdir(parents=True)
    (folder / "dist" / "index.html").write_text("<script src=assets/main.js></script>")
    (folder / "dist" / "assets" / "main.js").write_text("play()")
    (folder / "game.page.ts").write_text("export default 1;")
    return folder


def test_every_file_of_the_pages_folder_is_listed_with_its_hash(site: Path):
    listing = list_page(site / "dist" / "index.html", site)
    assert listing is not None
    assert (listing.page, list(listing.files)) == ("dist/index.html", ["index.html", "assets/main.js"])
    main = listing.files["assets/main.js"]
    assert (main.num_bytes, main.sha256) == (6, hashlib.sha256(b"play()").hexdigest())
    lines = f"assets/main.js {main.sha256}\nindex.html {listing.files['index.html'].sha256}\n"
    assert listing.sha256 == hashlib.sha256(lines.encode()).hexdigest()


def test_another_content_name_or_file_is_another_build(site: Path):
    page = site / "dist" / "index.html"

    def digest() -> str:
        listing = list_page(page, site)
        assert listing is not None
        return listing.sha256

    seen = [digest()]
    (site / "dist" / "assets" / "main.js").write_text("pla y()")
    seen.append(digest())
    (site / "dist" / "assets" / "main.js").rename(site / "dist" / "assets" / "index.js")
    seen.append(digest())
    (site / "dist" / "sound.ogg").write_bytes(b"")
    seen.append(digest())
    assert len(set(seen)) == 4


def test_what_no_site_would_have_does_not_count(site: Path, tmp_path: Path):
    page = site / "dist" / "index.html"
    before = list_page(page, site)
    (site / "dist" / "node_modules").mkdir()
    (site / "dist" / "node_modules" / "x.js").write_text("")
    (site / "dist" / ".git").mkdir()
    (site / "dist" / ".git" / "HEAD").write_text("")
    (site / "dist" / "assets" / "main.js.map").write_text("{}")
    (site / "dist" / "head.js").symlink_to(site / "dist" / ".git" / "HEAD")
    (tmp_path / "secret").write_text("")
    (site / "dist" / "secret").symlink_to(tmp_path / "secret")
    (site / "dist" / "loop").symlink_to(site / "dist")
    os.mkfifo(site / "dist" / "pipe")
    assert list_page(page, site) == before


def test_a_page_that_is_not_there_or_is_too_large_has_no_list(site: Path, monkeypatch: pytest.MonkeyPatch):
    page = site / "dist" / "index.html"
    assert list_page(site / "dist" / "gone.html", site) is None
    assert list_page(site / "gone" / "index.html", site) is None
    monkeypatch.setattr(kept_game, "MAX_FILES", 1)
    assert list_page(page, site) is None
    monkeypatch.setattr(kept_game, "MAX_FILES", 100)
    monkeypatch.setattr(kept_game, "MAX_BYTES", 10)
    assert list_page(page, site) is None
