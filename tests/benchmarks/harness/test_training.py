"""What is read of a training."""

import pytest

from attract_benchmarks.harness.training import Training, Update, steady_rate


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
