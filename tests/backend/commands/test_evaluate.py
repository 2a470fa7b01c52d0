"""`attract eval`: what is refused before a browser is started; the rest is `tests/end_to_end`'s."""

import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from attract.browser import chromium
from attract.commands import evaluating
from attract.commands.evaluate import EvaluateOptions
from attract.commands.evaluating import (
    EvaluationProgress,
    copy_version,
    evaluate_run,
    hint_of_best,
    readable_run,
    save_episodes,
    saved_text,
)
from attract.errors import ConfigurationError
from attract.runs.directory import RunDirectory
from attract.runs.episodes import read_episode
from attract.settings.run import ServerSettings
from known_runs import read_only_folder
from recorded_episodes import recorded

OPTIONS = EvaluateOptions(episodes=1, deterministic=True, json_output=True)


async def test_a_run_that_is_not_there_is_refused(tmp_path: Path):
    for run_id in ("run-1", "latest"):
        with pytest.raises(ConfigurationError, match="there is no"):
            await evaluate_run(run_id, OPTIONS, ServerSettings(runs_dir=tmp_path))


async def test_a_version_that_is_not_there_is_refused_before_a_browser_is_looked_for(tmp_path: Path):
    directory = RunDirectory.create(tmp_path / "runs", "run-1")
    directory.write_config("cartpole", {})
    (directory.checkpoints / "4").mkdir()
    directory.close()
    options = replace(OPTIONS, version="5")
    with pytest.raises(ConfigurationError, match="version 5 is not there") as refused:
        await evaluate_run("run-1", options, ServerSettings(runs_dir=tmp_path / "runs"))
    assert "these are: 4;" in str(refused.value.fix)


def test_the_copy_of_a_run_in_training_has_one_version_and_its_game(tmp_path: Path):
    directory = RunDirectory.create(tmp_path / "runs", "run-1")
    with pytest.raises(ConfigurationError, match="run run-1 has no policy yet"):
        copy_version(directory, None, tmp_path / "none")
    directory.write_config("cartpole", {})
    for version in (4, 10):
        (directory.checkpoints / str(version)).mkdir()
        (directory.checkpoints / str(version) / "state").write_text(f"of {version}")
    (directory.path / "game.js").write_text("code")
    (directory.path / "metrics.db").write_text("written to all the time")
    for asked, version in ((None, 10), (4, 4)):
        copy_version(directory, asked, tmp_path / f"copy{version}")
        copy = RunDirectory.open_locked(tmp_path / f"copy{version}", "run-1")
        copy.close()
        assert copy.versions() == [version]
        assert (copy.checkpoints / str(version) / "state").read_text() == f"of {version}"
        names = {path.name for path in copy.path.iterdir()}
        assert names == {"config.yaml", "game.js", "checkpoints", ".lock"}
    with pytest.raises(ConfigurationError, match="version 7 of run run-1 was thinned out just now"):
        copy_version(directory, 7, tmp_path / "gone")
    directory.close()


def test_a_run_that_cannot_be_locked_is_read_in_a_copy(tmp_path: Path):
    directory = RunDirectory.create(tmp_path / "runs", "run-1")
    directory.write_config("cartpole", {})
    (directory.checkpoints / "4").mkdir()
    server = ServerSettings(runs_dir=tmp_path / "runs")
    with readable_run(directory, None, server) as copied:
        assert RunDirectory.view(copied.runs_dir, "run-1").versions() == [4]
        assert copied.runs_dir != server.runs_dir
    assert not copied.runs_dir.exists()
    directory.close()
    with readable_run(directory, None, server) as own:
        assert own is server
    with read_only_folder() as folder:
        shutil.copytree(tmp_path / "runs", folder / "runs")
        (folder / "runs" / "run-1").chmod(0o555)
        if os.geteuid() == 0:
            os.seteuid(65_534)
        archived = RunDirectory.view(folder / "runs", "run-1")
        with readable_run(archived, None, ServerSettings(runs_dir=folder / "runs")) as copied:
            RunDirectory.open_locked(copied.runs_dir, "run-1").close()


async def test_without_a_browser_nothing_is_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    directory = RunDirectory.create(tmp_path / "runs", "run-1")
    directory.write_config("cartpole", {})
    directory.close()
    for name in (chromium.SETTING, "PLAYWRIGHT_BROWSERS_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(ConfigurationError, match=chromium.SETTING):
        await evaluate_run("run-1", OPTIONS, ServerSettings(runs_dir=tmp_path / "runs"))


def test_it_says_where_another_version_ships():
    assert hint_of_best(12, None) == hint_of_best(12, 12) == ""
    assert "`attract export` ships v9 unless you give --version 12" in hint_of_best(12, 9)


def test_each_episode_is_a_file_of_its_own(tmp_path: Path):
    episodes = [recorded(float(place), version=4, run_id="run-1", instance=place) for place in range(2)]
    folder = tmp_path / "new" / "folder"
    save_episodes(folder, episodes)
    names = ["run-1-v4-00000001-0000.episode.json", "run-1-v4-00000001-0001.episode.json"]
    assert sorted(path.name for path in folder.iterdir()) == names
    assert [read_episode(folder / name) for name in names] == episodes
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigurationError, match="file cannot be written"):
        save_episodes(tmp_path / "file", episodes)


def test_it_says_how_many_were_saved_and_why_not_all(tmp_path: Path):
    assert saved_text(20, 20, Path("here")) == "saved 20 episodes in here"
    assert saved_text(19, 20, Path("here")) == (
        "saved 19 episodes in here; 1 were too long to be recorded, or their game failed"
    )


async def test_a_folder_that_cannot_be_written_is_refused_before_a_browser_starts(tmp_path: Path):
    directory = RunDirectory.create(tmp_path / "runs", "run-1")
    directory.write_config("cartpole", {})
    directory.close()
    (tmp_path / "file").write_text("")
    options = replace(OPTIONS, save=tmp_path / "file" / "folder")
    with pytest.raises(ConfigurationError, match="cannot be written: Not a directory"):
        await evaluate_run("run-1", options, ServerSettings(runs_dir=tmp_path / "runs"))


def test_progress_says_how_many_episodes_are_done_and_how_long_the_others_take():
    progress = EvaluationProgress(0.0)
    # The learner and the browser start.
    assert progress.line(None, 20.0) is None
    assert progress.line((0, 20), 22.0) is None
    assert progress.line((0, 20), 26.9) is None
    assert progress.line((0, 20), 27.0) == "0 of 20 episodes after 5 s"
    assert progress.line((5, 20), 31.0) is None
    assert progress.line((5, 20), 32.0) == "5 of 20 episodes after 10 s, about 30 s left"
    # A sixtieth of the time so far, in long ones.
    assert progress.line((10, 20), 22.0 + 600.0) == "10 of 20 episodes after 600 s, about 600 s left"
    assert progress.line((10, 20), 22.0 + 609.0) is None
    assert progress.line((11, 20), 22.0 + 611.0) == "11 of 20 episodes after 611 s, about 500 s left"


def test_eval_leaves_to_the_run_what_was_not_given(
    attract: Callable[..., object], monkeypatch: pytest.MonkeyPatch, run_of_three: Path
) -> None:
    evaluated: list[tuple[str, EvaluateOptions, ServerSettings]] = []

    async def evaluate_run(run: str, options: EvaluateOptions, server: ServerSettings) -> int:
        evaluated.append((run, options, server))
        return 0

    monkeypatch.setattr(evaluating, "evaluate_run", evaluate_run)
    assert attract("eval", "walk", "--runs-dir", str(run_of_three)) == 0
    assert attract("eval", "walk", "--episodes", "4", "--seed", "5", "--no-deterministic", "--json") == 0
    (run, plain, server), (_, options, _) = evaluated
    assert (run, plain) == ("walk", EvaluateOptions(runs_dir=run_of_three))
    assert (server.runs_dir, server.port) == (run_of_three, 0)
    assert options == EvaluateOptions(episodes=4, seed=5, deterministic=False, json_output=True)
