"""`attract export`: what is refused; that the files play is `tests/end_to_end`'s to show."""

from pathlib import Path

import pytest

from attract.commands.export import export_run
from attract.errors import ConfigurationError
from attract.runs.directory import RunDirectory
from attract.schema.game import GameReference
from attract.settings.run import ServerSettings
from fake_worker import counting_description


@pytest.mark.parametrize(
    ("run_id", "says"), [("run-1", "there is no run run-1"), ("latest", "there is no latest run")]
)
async def test_a_run_that_is_not_there_is_refused_and_nothing_is_written(
    tmp_path: Path, run_id: str, says: str
):
    with pytest.raises(ConfigurationError, match=says):
        await export_run(run_id, tmp_path / "out", ServerSettings(runs_dir=tmp_path / "runs"))
    assert not (tmp_path / "out").exists()


async def test_without_a_built_player_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    directory = RunDirectory.create(tmp_path / "runs", "run-1")
    directory.write_config("cartpole", {})
    directory.close()
    monkeypatch.setattr("attract.commands.export.PLAYER", tmp_path / "agent.js")
    with pytest.raises(ConfigurationError, match=r"there is no .*agent\.js") as refused:
        await export_run("run-1", tmp_path / "out", ServerSettings(runs_dir=tmp_path / "runs"), "js")
    assert refused.value.fix == "npm run build"
    assert not (tmp_path / "out").exists()


async def test_a_run_without_a_policy_has_nothing_to_export(tmp_path: Path):
    directory = RunDirectory.create(tmp_path / "runs", "run-1")
    directory.write_config("cartpole", {})
    directory.close()
    settings = ServerSettings(runs_dir=tmp_path / "runs", project_dir=tmp_path, port=0)
    with pytest.raises(ConfigurationError, match="run-1"):
        await export_run("run-1", tmp_path / "out", settings)
    assert not (tmp_path / "out").exists()


async def test_a_version_that_is_not_there_is_refused_with_those_that_are(tmp_path: Path):
    directory = RunDirectory.create(tmp_path / "runs", "run-1")
    directory.write_config("cartpole", {})
    for version in (0, 10, 20, 30):
        (directory.checkpoints / str(version)).mkdir(parents=True)
    directory.close()
    with pytest.raises(ConfigurationError, match="version 14 is not there in run-1") as refused:
        await export_run("run-1", tmp_path / "out", ServerSettings(runs_dir=tmp_path / "runs"), version="14")
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
        await export_run("run-1", tmp_path / "out", settings, with_page=True)
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
        await export_run("run-1", tmp_path / "out", settings, with_page=True)
    assert "attachAgent" in str(refused.value.fix)
    assert not (tmp_path / "out").exists()
