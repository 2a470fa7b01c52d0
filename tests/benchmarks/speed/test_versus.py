"""A training beside a baseline's, worked out of trainings that are told and not run."""

from typing import Any

import pytest

from attract_benchmarks.baselines.order import BaselineReport, BaselineRequest
from attract_benchmarks.harness.common_work import SKIPPED_UPDATES
from attract_benchmarks.harness.measure import BenchOptions
from attract_benchmarks.harness.training import Training, Update
from attract_benchmarks.speed import versus
from attract_benchmarks.speed.versus import BASELINES, VERSUS, Baseline, measure_versus

BASELINE = Baseline("vs_it", "sb3", "gymnasium", "it", 2, skipped=1, shared_trunk=True, many=True)


def training_at(rate: float) -> Training:
    """So many steps a second after the updates that are left out, and none before."""
    marks = [Update(1.0 * second, 0, {}) for second in range(SKIPPED_UPDATES + 1)]
    return Training({}, [*marks, Update(SKIPPED_UPDATES + 1.0, int(rate), {})])


@pytest.fixture
def trainings(monkeypatch: pytest.MonkeyPatch) -> list[BaselineRequest]:
    """Ours reach 1000 times the seed, twice that with a shared trunk; theirs 100, of many games 400."""
    requests: list[BaselineRequest] = []

    def baseline(_name: str, request: BaselineRequest) -> BaselineReport:
        requests.append(request)
        rate = 400 if request.num_environments == versus.MANY_ENVIRONMENTS else 100
        shares = {"games": 1.0, "inference": 0.5, "learning": 0.25}
        return BaselineReport(marks=[(1.0, 5), (2.0, 5 + rate)], seconds_of=shares)

    def train(_updates: int, *, seed: int, shared_trunk: bool) -> Training:
        return training_at(1000 * seed * (1 + shared_trunk))

    monkeypatch.setattr(versus, "run_baseline", baseline)
    monkeypatch.setattr(versus, "train_cartpole", train)
    return requests


def test_rates_are_compared_round_by_round(trainings: list[BaselineRequest]):
    figure = measure_versus(BASELINE, BenchOptions(rounds=3))["end_to_end/vs_it"]
    assert (figure.value, figure.rounds, figure.ratio) == (2000.0, (1000.0, 2000.0, 3000.0), 20.0)
    detail = figure.detail
    assert detail["baseline_steps_per_second"] == 100.0
    assert (detail["shared_trunk_steps_per_second"], detail["shared_trunk_ratio"]) == (4000.0, 40.0)
    assert (detail["ratio_512"], detail["shared_trunk_ratio_512"]) == (5.0, 10.0)
    assert (detail["baseline_games_share"], detail["baseline_learning_share"]) == (0.5, 0.125)
    assert sorted({(training.seed, training.num_environments) for training in trainings}) == [
        (seed, count) for seed in (1, 2, 3) for count in (16, 512)
    ]


def test_a_slow_baseline_is_seen_in_fewer_rounds(trainings: list[BaselineRequest]):
    slow = Baseline("vs_it", "sb3", "page_evaluate", "it", 1, skipped=0, max_rounds=1)
    figure = measure_versus(slow, BenchOptions(rounds=5))["end_to_end/vs_it"]
    assert len(figure.rounds) == len(trainings) == 1
    assert "shared_trunk_ratio" not in figure.detail


def test_a_quick_round_has_a_short_rollout():
    quick, whole = (BASELINE.order(1, 16, quick=quick).settings["n_steps"] for quick in (True, False))
    assert (quick, whole) == (128, 2048)


def test_each_baseline_is_a_measure_that_runs_when_asked_for():
    assert [measure.names for measure in VERSUS] == [
        (f"end_to_end/{baseline.figure}",) for baseline in BASELINES
    ]
    needs: Any = {measure.names[0]: measure.needs for measure in VERSUS}
    assert needs["end_to_end/vs_minimal_ppo"] == ("gymnasium",)
    assert not any(measure.by_default for measure in VERSUS)
