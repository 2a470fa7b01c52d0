"""`--resume=auto`: whether a run is started, goes on, or is done."""

import json
from pathlib import Path
from typing import Any

import pytest

from attract.commands.resuming import finished_code, game_of, goes_on
from attract.errors import ConfigurationError
from attract.processes.exit_codes import DONE, GOAL_MISSED
from attract.runs.checkpoint_document import DOCUMENT_FILE, sealed
from attract.runs.directory import RunDirectory
from attract.runs.metrics import MetricsStore
from attract.schema.api import EvaluationView, RunView
from run_views import run_view


def a_run(runs_dir: Path, run_id: str = "run-1", *, steps: int | None = None, **view: Any) -> None:
    """A run of CartPole; with `steps`, one that has a policy trained for so many."""
    directory = RunDirectory.create(runs_dir, run_id)
    directory.write_config("cartpole", {"seed": 1})
    if steps is not None:
        folder = directory.checkpoints / "3"
        folder.mkdir()
        counters = {"counters": {"agent_steps": steps, "updates": 3}}
        (folder / DOCUMENT_FILE).write_text(json.dumps(sealed(3, counters)))
        directory.mark("latest", 3)
        store = MetricsStore(directory.metrics_path)
        store.put_fact("view", json.loads(whole(run_id, steps, **view).model_dump_json()))
        store.close()
    directory.close()


def whole(run_id: str, steps: int, **changes: Any) -> RunView:
    """A finished run."""
    values = {
        "state": "finished",
        "agent_steps": steps,
        "collected_steps": steps,
        "episode_return_mean": None,
    }
    return run_view(run_id=run_id, **values | changes)


def confirmed(mean: float) -> EvaluationView:
    return EvaluationView(
        policy_version=3, episodes=10, return_mean=mean, return_std=0.0, length_mean=1.0, deterministic=True
    )


def test_a_run_goes_on_where_there_is_one(tmp_path: Path):
    assert not goes_on(tmp_path, "run-1")
    a_run(tmp_path, steps=500)
    assert goes_on(tmp_path, "run-1")
    assert not goes_on(tmp_path, "run-2")


def test_the_latest_is_the_latest_with_a_policy(tmp_path: Path):
    assert not goes_on(tmp_path, "latest")
    a_run(tmp_path, steps=500)
    assert goes_on(tmp_path, "latest")


def test_one_that_was_killed_before_it_had_a_policy_is_in_the_way_of_nobody(tmp_path: Path):
    a_run(tmp_path)
    assert not goes_on(tmp_path, "run-1")
    assert not (tmp_path / "run-1").exists()


def test_which_run_has_to_be_said(tmp_path: Path):
    for ask, setting in ((goes_on, "--resume=auto"), (game_of, "--resume")):
        with pytest.raises(ConfigurationError, match="which run") as refused:
            ask(tmp_path, None)
        assert refused.value.setting == setting


def test_the_game_is_that_which_the_run_was_started_with(tmp_path: Path):
    a_run(tmp_path, steps=500)
    assert game_of(tmp_path, "run-1") == game_of(tmp_path, "latest") == "cartpole"
    with pytest.raises(ConfigurationError, match="no run run-2"):
        game_of(tmp_path, "run-2")


def test_a_run_that_has_its_steps_is_done_and_more_steps_are_more_to_do(tmp_path: Path):
    a_run(tmp_path, steps=500)
    assert finished_code(tmp_path, "run-1", {"total_steps": 500}) == DONE
    assert finished_code(tmp_path, "run-1", {"total_steps": 501}) is None
    assert finished_code(tmp_path, "run-1", {}) is None
    assert finished_code(tmp_path, "run-1", {"total_steps": 500, "until_return": 9.0}) == GOAL_MISSED


def test_a_run_whose_goal_was_confirmed_is_done_and_another_goal_is_more_to_do(tmp_path: Path):
    a_run(tmp_path, steps=500, goal=9.0, evaluation=confirmed(9.5))
    assert finished_code(tmp_path, "run-1", {"until_return": 9.0, "total_steps": 10_000}) == DONE
    assert finished_code(tmp_path, "run-1", {"until_return": 9.4}) is None


@pytest.mark.parametrize(
    "view",
    [{"evaluation": None}, {"evaluation": confirmed(8.9)}, {"state": "stopped", "evaluation": confirmed(9)}],
)
def test_a_goal_that_was_not_confirmed_is_not_reached(tmp_path: Path, view: dict[str, Any]):
    a_run(tmp_path, steps=500, goal=9.0, **view)
    assert finished_code(tmp_path, "run-1", {"until_return": 9.0}) is None


def test_a_run_without_a_policy_has_everything_to_do(tmp_path: Path):
    a_run(tmp_path)
    assert finished_code(tmp_path, "run-1", {"total_steps": 0}) is None
