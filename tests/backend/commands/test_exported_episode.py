"""`attract export --replay`: what it refuses, and what it writes of a game's page; no browser is started."""

import json
import shutil
from pathlib import Path

import pytest
from tests.backend.schema.test_recorded_episode import EPISODE

from attract.commands.exported_episode import export_episode
from attract.commands.exported_page import WEB
from attract.errors import ConfigurationError
from attract.settings.run import ServerSettings

PORTAL_PAGE = '<script src="https://sdk.crazygames.com/crazygames-sdk-v3.js"></script>'


@pytest.fixture(autouse=True)
def without_a_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attract.commands.exported_trial.find_chromium", lambda: None)


def server_of(tmp_path: Path) -> ServerSettings:
    return ServerSettings.from_mapping({"runs_dir": tmp_path / "runs", "project_dir": tmp_path, "port": 0})


def saved(tmp_path: Path, name: str = "one.episode.json") -> str:
    (tmp_path / name).write_text(json.dumps(EPISODE))
    return str(tmp_path / name)


async def test_a_page_plays_one_episode(tmp_path: Path) -> None:
    saved(tmp_path)
    saved(tmp_path, "two.episode.json")
    with pytest.raises(ConfigurationError, match=r"(?s)a page plays one episode, .* has 2.*one.episode.json"):
        await export_episode(str(tmp_path), None, tmp_path / "out", server_of(tmp_path), "cartpole")
    assert not (tmp_path / "out").exists()


async def test_without_a_browser_it_is_written_and_not_tried(tmp_path: Path) -> None:
    out = tmp_path / "out"
    exported = await export_episode(saved(tmp_path), None, out, server_of(tmp_path), "cartpole")
    assert exported.notes == ["the page was not tested: there is no Chromium"]
    assert [path.name for path in exported.written] == ["index.html", "page.js", "game.js", "episode.json"]
    # Whole, and nothing is left to be filled in.
    episode = json.loads((out / "episode.json").read_text())
    assert (episode["parameters"], episode["error"]) == ({}, None)
    assert "<title>CartPole</title>" in (out / "index.html").read_text()
    assert b"CartPole-v1" in (out / "game.js").read_bytes()


async def test_every_page_of_a_game_has_the_clock_first(tmp_path: Path) -> None:
    project = tmp_path / "project"
    shutil.copytree(WEB / "page-games" / "meteors", project)
    (project / "game.page.js").write_text(
        (project / "game.page.js").read_text().replace('"index.html"', '"play/main.html"')
    )
    (project / "play" / "parts").mkdir(parents=True)
    (project / "play" / "main.html").write_text("<head><script src=a.js></script>")
    (project / "play" / "parts" / "inner.html").write_text(PORTAL_PAGE)
    out = tmp_path / "out"
    server = server_of(tmp_path).model_copy(update={"project_dir": project})
    exported = await export_episode(saved(tmp_path), None, out, server, str(project / "game.page.js"))
    assert exported.notes != []
    assert 'data-page="game/main.html"' in (out / "index.html").read_text()
    assert (out / "game" / "main.html").read_text() == (
        '<head><script src="page-clock.js"></script><script src=a.js></script>'
    )
    assert (out / "game" / "parts" / "inner.html").read_text() == (
        '<script src="../page-clock.js"></script>' + PORTAL_PAGE.replace("https", "../portal.js?https")
    )
    assert (out / "game" / "page-clock.js").is_file()


async def test_a_page_that_is_gone_is_said(tmp_path: Path) -> None:
    project = tmp_path / "project"
    shutil.copytree(WEB / "page-games" / "meteors", project)
    (project / "index.html").unlink()
    server = server_of(tmp_path).model_copy(update={"project_dir": project})
    with pytest.raises(
        ConfigurationError, match=r"(?s)the page index.html of .* is in no folder .*--game PATH"
    ):
        await export_episode(saved(tmp_path), None, tmp_path / "out", server, str(project / "game.page.js"))
    assert not (tmp_path / "out").exists()
