"""`attract eval`: what is refused before a browser is started; the rest is `tests/end_to_end`'s."""

from dataclasses import replace
from pathlib import Path

import pytest

from attract.browser import chromium
from attract.commands.evaluate import EvaluateOptions, evaluate_run, hint_of_best
from attract.errors import ConfigurationError
from attract.runs.directory import RunDirectory
from attract.settings.run import ServerSettings


def options(run_id: str) -> EvaluateOptions:
    return EvaluateOptions(run_id=run_id, episodes=1, seed=None, deterministic=True, json_output=True)


async def test_a_run_that_is_not_there_is_refused(tmp_path: Path):
    for run_id in ("run-1", "latest"):
        with pytest.raises(ConfigurationError, match="there is no"):
            await evaluate_run(options(run_id), ServerSettings(runs_dir=tmp_path))


async def test_a_version_that_is_not_there_is_refused_before_a_browser_is_looked_for(tmp_path: Path):
    directory = RunDirectory.create(tmp_path / "runs", "run-1")
    directory.write_config("cartpole", {})
    (directory.checkpoints / "4").mkdir()
    directory.close()
    order = replace(options("run-1"), version="5")
    with pytest.raises(ConfigurationError, match="version 5 is not there") as refused:
        await evaluate_run(order, ServerSettings(runs_dir=tmp_path / "runs"))
    assert "these are: 4;" in str(refused.value.fix)


async def test_without_a_browser_nothing_is_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    directory = RunDirectory.create(tmp_path / "runs", "run-1")
    directory.write_config("cartpole", {})
    directory.close()
    for name in (chromium.SETTING, "PLAYWRIGHT_BROWSERS_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(ConfigurationError, match=chromium.SETTING):
        await evaluate_run(options("run-1"), ServerSettings(runs_dir=tmp_path / "runs"))


def test_it_says_where_another_version_ships():
    assert hint_of_best(12, None) == hint_of_best(12, 12) == ""
    assert "`attract export` ships v9 unless you give --version 12" in hint_of_best(12, 9)
