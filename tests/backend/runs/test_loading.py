"""A run's folder as data frames."""

from pathlib import Path

import numpy as np
import pytest

import attract
from attract.errors import ConfigurationError, FileError, UnknownRunError
from attract.runs.directory import RunDirectory
from attract.runs.episode_choice import EpisodeLimits
from attract.runs.episodes import FOLDER, EpisodeStore, NewEpisode
from attract.runs.metrics import MetricsStore, UpdateRow
from recorded_episodes import recorded


def update_row(update: int, **metrics: float) -> UpdateRow:
    return UpdateRow(
        update=update,
        agent_steps=100 * update,
        collected_steps=100 * update,
        seconds=0.5 * update,
        policy_version=update,
        checkpoint="",
        weights_sha256="",
        values=metrics,
    )


@pytest.fixture
def runs_dir(tmp_path: Path) -> Path:
    """With the run `two`: three updates, episodes ended in the second, an evaluation after the third."""
    directory = RunDirectory.create(tmp_path, "two")
    settings = {"seed": 3, "ppo": {"learning_rate": 0.1, "schedule": {"kind": "linear"}}, "parameters": {}}
    directory.write_config("cartpole", settings)
    store = MetricsStore(directory.path / "metrics.db")
    store.commit_update(update_row(1, **{"train/loss": 4.0}), {})
    store.commit_update(update_row(2, **{"train/loss": 3.0, "rollout/ep_rew_mean": 20.0}), {})
    store.commit_update(update_row(3, **{"train/loss": 2.0, "eval/mean_reward": 30.0}), {})
    store.close()
    directory.close()
    return tmp_path


def test_every_update_is_a_row_and_every_metric_a_column(runs_dir: Path):
    run = attract.load_run("two", runs_dir)
    assert (run.run_id, run.game, run.path) == ("two", "cartpole", runs_dir / "two")
    assert run.metrics.index.tolist() == [1, 2, 3]
    assert run.metrics["agent_steps"].tolist() == [100, 200, 300]
    assert run.metrics["seconds"].tolist() == [0.5, 1.0, 1.5]
    assert run.metrics["train/loss"].tolist() == [4, 3, 2]
    assert np.isnan(run.metrics["eval/mean_reward"].tolist()).tolist() == [True, True, False]


def test_episodes_and_evaluations_are_the_rows_that_tell_of_any(runs_dir: Path):
    run = attract.load_run("two", str(runs_dir))
    always = ["agent_steps", "seconds", "policy_version"]
    assert list(run.episodes.columns) == [*always, "rollout/ep_rew_mean"]
    assert run.episodes.index.tolist() == [2]
    assert run.evaluations["eval/mean_reward"].to_dict() == {3: 30.0}


def test_the_kept_episodes_are_listed_and_read(runs_dir: Path):
    run = attract.load_run("two", runs_dir)
    assert run.recorded_episodes() == []
    store = EpisodeStore(runs_dir / "two", EpisodeLimits(1 << 20, 10))
    (first,) = store.add([NewEpisode(recorded(3.0), "evaluation", "best")])
    (second,) = store.add([NewEpisode(recorded(1.0), "training", "worst")])
    assert run.recorded_episodes() == [second, first]
    assert run.episode(first.id).returns == [3.0]
    with pytest.raises(UnknownRunError, match="run two has no episode other"):
        run.episode("other")
    (runs_dir / "two" / FOLDER / f"{first.id}.json").write_text("{}")
    with pytest.raises(FileError, match="is no recorded episode"):
        run.episode(first.id)


def test_settings_stand_under_their_whole_path(runs_dir: Path):
    values = attract.load_run("two", runs_dir).settings["value"].to_dict()
    assert values == {
        "seed": 3,
        "ppo.learning_rate": 0.1,
        "ppo.schedule.kind": "linear",
        "parameters": {},
    }


def test_a_run_that_has_learned_nothing_yet_is_empty_frames(tmp_path: Path):
    directory = RunDirectory.create(tmp_path, "new")
    directory.write_config("cartpole", {"seed": 1})
    directory.close()
    run = attract.load_run("new", tmp_path)
    assert run.metrics.empty and run.episodes.empty and run.evaluations.empty
    assert "agent_steps" in run.metrics.columns


def test_a_run_that_is_not_there_is_named(tmp_path: Path):
    with pytest.raises(ConfigurationError, match="none"):
        attract.load_run("none", tmp_path)
    with pytest.raises(ConfigurationError, match="latest"):
        attract.load_run(runs_dir=tmp_path)


def test_nothing_else_is_there_by_chance():
    with pytest.raises(AttributeError, match="lode_run"):
        attract.lode_run  # noqa: B018  # pyright: ignore[reportAttributeAccessIssue]
