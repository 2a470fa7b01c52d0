"""The game of a run, kept in the run's folder and served from there."""

import hashlib
from pathlib import Path

import pytest

from attract.errors import ConfigurationError
from attract.games.kept_builds import write_start
from attract.games.kept_game import CODE, CODE_MAP, page_folder, project_of, serve_kept_game
from attract.games.library import GameLibrary
from attract.runs.directory import RunDirectory
from attract.settings.run import RunSettings
from fake_worker import counting_description

GAME = b"export default 1;\n"
MAP = b'{"version": 3, "sources": ["catch.ts"], "mappings": "AAAA"}'


@pytest.fixture
def directory(tmp_path: Path):
    one = RunDirectory.create(tmp_path / "runs", "run-1")
    yield one
    one.close()


def library(tmp_path: Path) -> GameLibrary:
    return GameLibrary(tmp_path, tmp_path / "web")


def test_what_a_run_was_started_with_is_there_to_go_on_with(tmp_path: Path, directory: RunDirectory):
    module = library(tmp_path).keep("catch.ts", GAME, MAP)
    write_start(directory, "catch.ts", RunSettings(seed=7), module)
    assert (directory.path / CODE).read_bytes() == GAME
    assert (directory.path / CODE_MAP).read_bytes() == MAP
    config = directory.read_config()
    assert (config["game"], config["settings"]["seed"]) == ("catch.ts", 7)
    reference, description = directory.read_game()
    assert (reference, description) == (module.reference, None)


def test_a_server_that_never_saw_the_game_serves_it_by_its_hash(tmp_path: Path, directory: RunDirectory):
    write_start(directory, "catch.ts", RunSettings(), library(tmp_path).keep("catch.ts", GAME, None))
    fresh = library(tmp_path)
    kept = serve_kept_game(fresh, directory)
    assert kept is not None
    assert (kept.code, kept.source_map) == (GAME, None)
    assert kept.reference.sha256 == hashlib.sha256(GAME).hexdigest()
    assert fresh.by_hash(kept.reference.sha256) is kept
    assert serve_kept_game(fresh, directory) is kept, "one that is served already is not read again"


def test_what_is_known_of_a_game_outlives_a_new_start(tmp_path: Path, directory: RunDirectory):
    module = library(tmp_path).keep("catch.ts", GAME, None)
    write_start(directory, "catch.ts", RunSettings(), module, counting_description())
    assert directory.read_game() == (module.reference, counting_description())
    assert directory.described_sha256() == module.reference.sha256


def test_a_folder_without_a_game_serves_none(tmp_path: Path, directory: RunDirectory):
    assert serve_kept_game(library(tmp_path), directory) is None
    module = library(tmp_path).keep("catch.ts", GAME, None)
    write_start(directory, "catch.ts", RunSettings(), module)
    (directory.path / CODE).unlink()
    assert serve_kept_game(library(tmp_path), directory) is None


def test_a_link_out_of_the_runs_folder_is_not_followed(tmp_path: Path, directory: RunDirectory):
    write_start(directory, "catch.ts", RunSettings(), library(tmp_path).keep("catch.ts", GAME, None))
    (tmp_path / "secret").write_bytes(b"secret")
    (directory.path / CODE).unlink()
    (directory.path / CODE).symlink_to(tmp_path / "secret")
    with pytest.raises(ConfigurationError, match="a link that leads out"):
        serve_kept_game(library(tmp_path), directory)


def test_a_run_knows_the_folder_that_its_game_was_trained_from(tmp_path: Path, directory: RunDirectory):
    module = tmp_path / "mine" / "game.page.ts"
    for game in ("cartpole", "game.page.ts", str(module)):
        directory.write_config(game, {})
        assert project_of(directory) is None
    module.parent.mkdir()
    module.write_text("export default 1;")
    assert project_of(directory) == module.parent
    secret = module.with_name("secret.js")
    secret.write_text("export default 1;")
    directory.write_config(str(secret), {})
    assert project_of(directory) is None


def played_in_page(tmp_path: Path, directory: RunDirectory, page: str) -> Path:
    """A run of an adapter in a folder of its own, with that page; gives the folder."""
    folder = tmp_path / "mine"
    (folder / "dist").mkdir(parents=True)
    (folder / "dist" / "index.html").write_text("<!doctype html>")
    (folder / "game.page.ts").write_text("export default 1;")
    reference = library(tmp_path).keep(str(folder / "game.page.ts"), GAME, None).reference
    directory.write_config(reference.name, {})
    directory.write_game(reference, counting_description().model_copy(update={"page": page}))
    return folder


def test_a_page_is_found_where_it_was_or_where_the_user_says_that_it_is_now(
    tmp_path: Path, directory: RunDirectory
):
    folder = played_in_page(tmp_path, directory, "dist/index.html")
    assert page_folder(directory, tmp_path, None) == folder
    moved = folder.rename(tmp_path / "moved")
    with pytest.raises(ConfigurationError, match=rf"dist/index\.html .* not below {folder}") as gone:
        page_folder(directory, tmp_path, None)
    assert gone.value.setting == "--game" and "--game PATH" in str(gone.value.fix)
    for given in ("", "game.page.ts", "dist", "dist/index.html"):
        assert page_folder(directory, tmp_path, moved / given) == moved, given
    with pytest.raises(ConfigurationError, match=rf"not below {tmp_path / 'runs'}"):
        page_folder(directory, tmp_path, tmp_path / "runs")


def test_a_game_without_a_folder_of_pages_can_lie_nowhere_else(tmp_path: Path, directory: RunDirectory):
    played_in_page(tmp_path, directory, "http://localhost:5173/")
    assert page_folder(directory, tmp_path, None) is None
    with pytest.raises(ConfigurationError, match="has no page in a folder"):
        page_folder(directory, tmp_path, tmp_path)
