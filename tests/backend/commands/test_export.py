"""What `attract export` refuses, writes and says, of a policy and of an episode."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from attract.commands import export
from attract.commands.export import Exported, ExportOptions, export_run
from attract.commands.exported_episode import export_episode
from attract.commands.exported_page import WEB
from attract.errors import ConfigurationError
from attract.runs.directory import RunDirectory
from attract.schema.game import GameReference
from attract.settings.run import ServerSettings
from fake_worker import counting_description
from recorded_episodes import EPISODE


@pytest.mark.parametrize(
    ("run_id", "says"), [("run-1", "there is no run run-1"), ("latest", "there is no latest run")]
)
async def test_a_run_that_is_not_there_is_refused_and_nothing_is_written(
    tmp_path: Path, run_id: str, says: str
):
    with pytest.raises(ConfigurationError, match=says):
        await export_run(
            run_id, ExportOptions(out=tmp_path / "out"), ServerSettings(runs_dir=tmp_path / "runs")
        )
    assert not (tmp_path / "out").exists()


async def test_without_a_built_player_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    directory = RunDirectory.create(tmp_path / "runs", "run-1")
    directory.write_config("cartpole", {})
    directory.close()
    monkeypatch.setattr("attract.commands.export.PLAYER", tmp_path / "agent.js")
    server = ServerSettings(runs_dir=tmp_path / "runs")
    with pytest.raises(ConfigurationError, match=r"there is no .*agent\.js") as refused:
        await export_run("run-1", ExportOptions(out=tmp_path / "out", export_format="js"), server)
    assert refused.value.fix == "npm run build"
    assert not (tmp_path / "out").exists()


async def test_a_run_without_a_policy_has_nothing_to_export(tmp_path: Path):
    directory = RunDirectory.create(tmp_path / "runs", "run-1")
    directory.write_config("cartpole", {})
    directory.close()
    settings = ServerSettings(runs_dir=tmp_path / "runs", project_dir=tmp_path, port=0)
    with pytest.raises(ConfigurationError, match="run-1"):
        await export_run("run-1", ExportOptions(out=tmp_path / "out"), settings)
    assert not (tmp_path / "out").exists()


async def test_a_version_that_is_not_there_is_refused_with_those_that_are(tmp_path: Path):
    directory = RunDirectory.create(tmp_path / "runs", "run-1")
    directory.write_config("cartpole", {})
    for version in (0, 10, 20, 30):
        (directory.checkpoints / str(version)).mkdir(parents=True)
    directory.close()
    options = ExportOptions(out=tmp_path / "out", version="14")
    with pytest.raises(ConfigurationError, match="version 14 is not there in run-1") as refused:
        await export_run("run-1", options, ServerSettings(runs_dir=tmp_path / "runs"))
    assert "these are: 0, 10, 20, 30;" in str(refused.value.fix)
    assert not (tmp_path / "out").exists()


async def test_a_page_that_is_gone_is_found_missing_before_anything_is_written(tmp_path: Path):
    directory = RunDirectory.create(tmp_path / "runs", "run-1")
    directory.write_config(str(tmp_path / "mine" / "game.page.ts"), {})
    sha256 = "0" * 64
    reference = GameReference(
        name=str(tmp_path / "mine" / "game.page.ts"), sha256=sha256, url=f"games/{sha256}.js", has_page=True
    )
    directory.write_game(reference, counting_description().model_copy(update={"page": "index.html"}))
    directory.close()
    settings = ServerSettings(runs_dir=tmp_path / "runs", project_dir=tmp_path, port=0)
    with pytest.raises(ConfigurationError, match=r"index\.html .* is not below .*mine") as refused:
        await export_run("run-1", ExportOptions(out=tmp_path / "out", page=True), settings)
    assert refused.value.setting == "--game"
    assert not (tmp_path / "out").exists()


async def test_the_page_of_a_server_is_no_folder_to_copy(tmp_path: Path):
    directory = RunDirectory.create(tmp_path / "runs", "run-1")
    directory.write_config("game.page.ts", {})
    reference = GameReference(name="game.page.ts", sha256="0" * 64, url="games/0.js", has_page=True)
    page = "http://localhost:5173/"
    directory.write_game(reference, counting_description().model_copy(update={"page": page}))
    directory.close()
    settings = ServerSettings(runs_dir=tmp_path / "runs", project_dir=tmp_path, port=0)
    with pytest.raises(ConfigurationError, match="served by http://localhost:5173/") as refused:
        await export_run("run-1", ExportOptions(out=tmp_path / "out", page=True), settings)
    assert "attachAgent" in str(refused.value.fix)
    assert not (tmp_path / "out").exists()


def test_export_names_its_files_as_the_folder_was_given(
    attract: Callable[..., object],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    async def export_run(_run: str, options: ExportOptions, _server: ServerSettings) -> Exported:
        return Exported([options.out.absolute() / "policy.onnx"], run_id="walk", version=7)

    monkeypatch.setattr(export, "export_run", export_run)
    monkeypatch.chdir(tmp_path)
    assert attract("export", "latest", "--out", "public", "--format", "js") == 0
    output = capsys.readouterr().out
    assert output.startswith("wrote public/policy.onnx and public/policy.json (run walk, version 7)\n")
    assert 'import { loadAgent } from "./public/agent.js";' in output
    assert "http.server" not in output
    assert attract("export", "latest", "--out", "public", "--page") == 0
    assert "python3 -m http.server --directory public 8000" in capsys.readouterr().out
    assert attract("export", "latest", "--out", "my site", "--page") == 0
    assert "python3 -m http.server --directory 'my site' 8000" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["walk", "--replay", "one.json", "--page"], "without a run's policy"),
        (["--replay", "one.json"], "without a run's policy"),
        (["--replay", "one.json", "--page", "--format", "js"], "without a run's policy"),
        (["--replay", "one.json", "--page", "--version", "3"], "without a run's policy"),
        (["--replay", "walk", "--page", "--worst", "--best"], "--worst --best: one at a time"),
        (["--page"], "which run"),
        (["walk", "--page", "--worst"], "--worst is of a recorded episode"),
    ],
)
def test_export_is_of_a_run_or_of_an_episode(
    attract: Callable[..., object], capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    assert attract("export", "--out", "public", *words) == 2
    assert said in capsys.readouterr().err


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
