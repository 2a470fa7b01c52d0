"""How far advantages have spread lately."""

import json

import pytest

from attract.learner.ppo.algorithm import AdvantageScale


def test_P1_nothing_is_known_before_the_first_update():
    assert AdvantageScale().deviation == 0.0


def test_P1_the_first_update_counts_in_full():
    assert AdvantageScale().then(9.0, 0.98).deviation == pytest.approx(3.0)


def test_P1_older_updates_count_for_less():
    # Weights 0.5 * 0.5 and 0.5: (0.25 * 1 + 0.5 * 4) / 0.75 = 3.
    assert AdvantageScale().then(1.0, 0.5).then(4.0, 0.5).deviation == pytest.approx(3.0**0.5)
    assert AdvantageScale().then(1.0, 0.0).then(4.0, 0.0).deviation == pytest.approx(2.0)


@pytest.mark.parametrize("variance", [float("inf"), float("nan")])
def test_P1_a_variance_that_is_not_finite_does_not_count(variance: float):
    known = AdvantageScale().then(9.0, 0.98)
    assert known.then(variance, 0.98) == known


def test_P1_it_comes_back_from_a_document():
    known = AdvantageScale().then(9.0, 0.98)
    assert AdvantageScale.restore(json.loads(json.dumps(known.to_document()))) == known
    with pytest.raises(KeyError):
        AdvantageScale.restore({"variance": 0.0})
