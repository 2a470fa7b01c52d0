"""What is read of a training, and that the baselines really train."""

import pytest

from attract.benchmarks.baselines.order import BaselineRequest, run_baseline
from attract.benchmarks.harness.common_work import BATCH_STEPS, baseline_settings
from attract.benchmarks.harness.training import Training, Update, steady_rate
from attract.benchmarks.learning.plan import CARTPOLE_BASELINE
from attract.benchmarks.speed.versus import BASELINES
from attract.errors import AttractError


def test_the_first_updates_do_not_count() -> None:
    marks = [(10.0, 100), (11.0, 300), (12.0, 500)]
    assert steady_rate(marks, 0) == 200
    assert steady_rate(marks, 1) == 200
    assert steady_rate([(0.0, 0), *marks], 0) == 500 / 12
    with pytest.raises(RuntimeError, match="expected at least 4 updates, got 3"):
        steady_rate(marks, 2)


def test_a_metric_that_is_missing_in_some_updates_is_averaged_over_the_others() -> None:
    updates = [Update(1.0, 10, {"a": 9.0}), Update(2.0, 20, {"a": 1.0}), Update(3.0, 30, {}),
               Update(4.0, 40, {"a": 3.0})]  # fmt: skip
    training = Training({}, updates)
    assert training.mean("a", 1) == 2.0
    assert training.mean("b", 0) == 0.0
    assert training.steady_rate(1) == 10.0


def test_the_baselines_work_is_the_same_however_many_environments_share_it() -> None:
    for environments in (16, 512):
        assert baseline_settings(environments)["n_steps"] * environments == BATCH_STEPS


@pytest.mark.parametrize("baseline", BASELINES, ids=lambda baseline: baseline.figure)
def test_a_baseline_trains_and_its_time_is_accounted_for(baseline) -> None:  # type: ignore[no-untyped-def]
    order = BaselineRequest(
        4, {**baseline_settings(), "n_steps": 64, "batch_size": 64}, iterations=2, games=baseline.games
    )
    report = run_baseline(baseline.name, order)
    assert [steps for _, steps in report.marks] == [256, 512]
    assert report.seconds == report.marks[-1][0] > report.marks[0][0] > 0
    parts = {part: report.share_of(part) for part in ("games", "inference", "learning")}
    assert all(share > 0 for share in parts.values())
    assert 0.5 < sum(parts.values()) < 1
    assert report.steady_rate(1) > 0


def test_stable_baselines3_stops_once_it_has_what_was_asked_for() -> None:
    settings = {**CARTPOLE_BASELINE.settings, "n_epochs": 4}
    order = BaselineRequest(8, settings, iterations=300, linear=CARTPOLE_BASELINE.linear, until_return=40.0)
    report = run_baseline("sb3", order)
    assert report.solved_seconds is not None
    assert 0 < report.solved_seconds <= report.seconds
    assert report.marks[-1][1] < 300 * 8 * settings["n_steps"]


def test_a_baseline_that_fails_says_why() -> None:
    with pytest.raises(AttractError, match="unexpected keyword argument 'minibatches'"):
        run_baseline("sb3", BaselineRequest(2, {"minibatches": 3}, iterations=1))
