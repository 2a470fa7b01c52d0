"""`attract imitate`: what is refused before anything is fitted, and what a small fit leaves."""

import dataclasses
import json
from pathlib import Path

import pytest

from attract.commands.imitate import ImitateOptions
from attract.commands.imitating import imitate_game
from attract.errors import ConfigurationError
from attract.runs.directory import RunDirectory
from attract.settings.run import RunSettings, ServerSettings
from demonstration_recorder import keydoor_player, record, write_demonstrations

OPTIONS = ImitateOptions(run_id="cloned", epochs=3, json_output=True)


async def test_without_recorded_episodes_it_says_where_it_looked_and_leaves_no_run(tmp_path: Path):
    server = ServerSettings(runs_dir=tmp_path / "runs")
    with pytest.raises(ConfigurationError, match=r"no folder .*demonstrations/Keydoor-v1") as refused:
        await imitate_game("keydoor", RunSettings(), OPTIONS, server)
    assert refused.value.exit_code == 2 and not (tmp_path / "runs" / "cloned").exists()


async def test_D1_what_it_leaves_is_a_run_with_a_version_a_row_and_an_export(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    source = write_demonstrations(tmp_path / "played", record("keydoor", keydoor_player, episodes=6))
    server = ServerSettings(runs_dir=tmp_path / "runs")
    settings = RunSettings.from_mapping({"policy": {"recurrent": "gru", "recurrent_size": 8}})
    code = await imitate_game("keydoor", settings, dataclasses.replace(OPTIONS, source=str(source)), server)
    report = json.loads(capsys.readouterr().out)
    directory = RunDirectory.view(server.runs_dir, "cloned")
    assert code == 0 and report["demonstrations"] == 6 and directory.marked("latest") == 0
    assert report["metrics"]["train/cloning_epochs"] == 3
    assert (directory.export / "policy.onnx").is_file() and directory.read_game()[1] is not None
