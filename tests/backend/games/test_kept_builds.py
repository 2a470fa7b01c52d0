"""Older builds of a run's game: kept by their hashes, bounded, served again."""

import hashlib
from pathlib import Path

import pytest

from attract.errors import DamagedRunError, FileError
from attract.games import kept_builds
from attract.games.kept_builds import FOLDER, keep_build, keep_page, kept_page, serve_kept_build, write_start
from attract.games.kept_game import list_page
from attract.games.library import GameLibrary, GameModule
from attract.runs.directory import RunDirectory
from attract.settings.run import RunSettings

MAP = b'{"version": 3, "sources": ["catch.ts"], "mappings": "AAAA"}'


@pytest.fixture
def directory(tmp_path: Path):
    one = RunDirectory.create(tmp_path / "runs", "run-1")
    yield one
    one.close()


def library(tmp_path: Path) -> GameLibrary:
    return GameLibrary(tmp_path, tmp_path / "web")


def build(tmp_path: Path, number: int) -> GameModule:
    return library(tmp_path).keep("catch.ts", b"export default %d;\n" % number, MAP)


def start(directory: RunDirectory, module: GameModule) -> None:
    """What a start does, of a fresh or a resumed run."""
    keep_build(directory, module.reference)
    write_start(directory, "catch.ts", RunSettings(), module)


def test_the_build_before_is_served_again_by_its_hash(tmp_path: Path, directory: RunDirectory):
    first, second = build(tmp_path, 1), build(tmp_path, 2)
    start(directory, first)
    assert not (directory.path / FOLDER).exists()
    start(directory, second)
    start(directory, second)
    assert len(list((directory.path / FOLDER).iterdir())) == 2
    games = library(tmp_path)
    for module in (first, second):
        served = serve_kept_build(games, directory, module.reference.sha256)
        assert served == module
        assert games.by_hash(module.reference.sha256) is served
    for unknown in ("ab" * 32, "../game", ""):
        assert serve_kept_build(games, directory, unknown) is None


def test_only_so_many_are_kept_the_newest_always(
    tmp_path: Path, directory: RunDirectory, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(kept_builds, "MAX_BUILDS", 2)
    modules = [build(tmp_path, number) for number in range(5)]
    for module in modules:
        start(directory, module)
    left = {path.name[:64] for path in (directory.path / FOLDER).iterdir()}
    assert left == {module.reference.sha256 for module in modules[2:4]}
    monkeypatch.setattr(kept_builds, "MAX_BUILD_BYTES", 1)
    start(directory, modules[0])
    assert {path.name[:64] for path in (directory.path / FOLDER).iterdir()} == {modules[4].reference.sha256}


def test_a_module_that_is_not_what_its_reference_says_is_not_kept(tmp_path: Path, directory: RunDirectory):
    start(directory, build(tmp_path, 1))
    (directory.path / "game.js").write_bytes(b"another")
    start(directory, build(tmp_path, 2))
    assert not (directory.path / FOLDER).exists()


def test_another_file_in_the_place_of_a_build_is_damage(tmp_path: Path, directory: RunDirectory):
    first = build(tmp_path, 1)
    start(directory, first)
    start(directory, build(tmp_path, 2))
    path = directory.path / FOLDER / f"{first.reference.sha256}.js"
    path.write_bytes(b"another")
    with pytest.raises(DamagedRunError, match="its SHA-256 is another"):
        serve_kept_build(library(tmp_path), directory, first.reference.sha256)
    path.unlink()
    path.symlink_to(tmp_path / "web")
    with pytest.raises(FileError, match="leads out"):
        serve_kept_build(library(tmp_path), directory, first.reference.sha256)


def test_the_list_of_a_pages_files_is_kept_by_its_hash(tmp_path: Path, directory: RunDirectory):
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "index.html").write_text("<p>")
    listing = list_page(tmp_path / "site" / "index.html", tmp_path / "site")
    assert listing is not None
    keep_page(directory, listing)
    assert kept_page(directory, listing.sha256) == listing
    assert kept_page(directory, hashlib.sha256(b"").hexdigest()) is None
    assert kept_page(directory, "../game") is None
    (directory.path / FOLDER / f"{listing.sha256}.page.json").write_text("{}")
    with pytest.raises(DamagedRunError, match=r"page\.json: sha256: Field required"):
        kept_page(directory, listing.sha256)
