"""How long it takes until CartPole is solved, worked out of trainings that are told and not run."""

from typing import Any

import pytest

from attract_benchmarks.baselines.order import BaselineReport, BaselineRequest
from attract_benchmarks.harness.measure import BenchOptions
from attract_benchmarks.harness.training import Training, Update
from attract_benchmarks.speed import solve
from attract_benchmarks.speed.solve import BASELINE_STEPS, measure_solve

SECONDS = {1: 4.0, 2: 2.0, 3: 3.0}
"""Seconds of Attract, by seed; the second seed does not hold its goal."""


def ours(_game: str, *, seed: int, settings: dict[str, Any], metrics: Any) -> Training:
    assert settings["until_return"] == 475.0
    updates = [Update(1.0, 100, {}), Update(SECONDS[seed], 1000 * seed, {})]
    return Training({"goal_reached": seed != 2, "episode_return_mean": 490.0 - 100 * (seed == 2)}, updates)


def theirs(_name: str, request: BaselineRequest) -> BaselineReport:
    solved = None if request.seed == 3 else 12.0
    return BaselineReport(marks=[(10.0, 400), (30.0, 900)], solved_seconds=solved)


def test_each_seed_is_compared_with_its_own_and_what_was_not_reached_is_counted(
    monkeypatch: pytest.MonkeyPatch,
):
    requests: list[BaselineRequest] = []

    def baseline(name: str, request: BaselineRequest) -> BaselineReport:
        requests.append(request)
        return theirs(name, request)

    monkeypatch.setattr(solve, "train", ours)
    monkeypatch.setattr(solve, "run_baseline", baseline)
    said: list[str] = []
    figure = measure_solve(BenchOptions(rounds=3, say=said.append))["solve/cartpole_vs_sb3"]
    assert (figure.value, figure.rounds, figure.better) == (3.0, (4.0, 2.0, 3.0), "lower")
    # 12 / 4, 12 / 2 and, never solved, all of its 30 s / 3.
    assert figure.ratio == 6.0
    assert figure.detail["ratio_of_medians"] == 4.0  # 12 / 3
    assert (figure.detail["not_reached"], figure.detail["sb3_not_reached"]) == (1, 1)
    assert (figure.detail["steps"], figure.detail["sb3_steps"]) == (2000, 900)
    assert figure.detail["worst_evaluation"] == 390.0
    assert said[0] == "  seed 1: 4.00 s, Stable-Baselines3 12.00 s"
    steps = [
        request.iterations * request.num_environments * request.settings["n_steps"] for request in requests
    ]
    assert all(BASELINE_STEPS <= step < 1.2 * BASELINE_STEPS for step in steps), "its schedules end then"
