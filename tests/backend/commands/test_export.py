"""What `attract export` refuses, writes and says."""

from collections.abc import Callable
from pathlib import Path

import pytest

from attract.commands import export
from attract.commands.export import Exported, ExportOptions, export_run
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
