"""Models of the HTTP API that do more than hold values."""

from typing import Any

import pytest
from pydantic import ValidationError

from attract.schema.api import MetricsRow, RunView, StartRun
from attract.schema.metrics import MetricSeries, MetricsView

RUN: dict[str, Any] = {
    "run_id": "run-1",
    "game": "cartpole",
    "state": "running",
    "created": "2026-01-01T00:00:00+00:00",
    "seed": 1,
    "policy_version": 0,
    "agent_steps": 0,
    "collected_steps": 0,
    "updates": 0,
    "episodes": 0,
    "elapsed_seconds": 0.0,
    "steps_per_second": 0.0,
    "episode_return_mean": None,
    "goal": None,
    "total_steps": None,
}


def test_a_series_stands_at_the_steps_of_its_own_updates():
    view = MetricsView(
        run_id="run-1",
        names=["train/loss", "eval/mean_reward", "gone"],
        agent_steps=[10.0, 20.0, 30.0],
        seconds=[1.0, 2.0, 3.0],
        series=[
            MetricSeries(name="train/loss", values=[3.0, 2.0, 1.0]),
            MetricSeries(name="eval/mean_reward", at=[0, 2], values=[7.0, 8.0]),
        ],
    )
    assert view.steps_of("train/loss") == [10.0, 20.0, 30.0]
    assert view.steps_of("eval/mean_reward") == [10.0, 30.0]
    with pytest.raises(StopIteration):
        view.steps_of("gone")


def test_what_pages_read_has_no_infinite_number():
    assert RunView(**RUN).findings == []
    with pytest.raises(ValidationError, match="elapsed_seconds"):
        RunView(**RUN | {"elapsed_seconds": float("inf")})
    with pytest.raises(ValidationError, match="values"):
        MetricsRow(update=1, agent_steps=1, seconds=1.0, values={"train/loss": float("nan")})


def test_a_run_is_started_by_settings_that_nest_and_by_nothing_else():
    assert StartRun(game="cartpole").settings == {}
    with pytest.raises(ValidationError, match="seed"):
        StartRun.model_validate({"game": "cartpole", "seed": 1})
    with pytest.raises(ValidationError, match="game"):
        StartRun(game="")
