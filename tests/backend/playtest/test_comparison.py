import math

import numpy as np
import pytest
from scipy.stats import wilcoxon

from attract.playtest.comparison import FALSE_ALARM, beyond, compare, least_p_value, threshold


def numbered(values: list[float]) -> dict[int, float]:
    return dict(enumerate(values))


def test_all_tests_share_one_chance_of_a_false_alarm() -> None:
    assert FALSE_ALARM == 0.01
    assert threshold([1e-9] * 40) == pytest.approx(0.01 / 40)


def test_tests_that_could_reach_no_limit_do_not_lower_it() -> None:
    # 0.01 / 2 = 0.005: two tests can come below it; the third only below 0.01.
    assert threshold([1e-9, 0.004, 0.006, 0.5, 1.0]) == pytest.approx(0.005)
    assert threshold([1.0] * 100) == 0.01
    assert threshold([]) == 0.01


def test_the_least_p_value_has_all_pairs_that_differ_on_one_side() -> None:
    assert least_p_value({0: 1.0, 1: 1.0, 2: 1.0, 3: 5.0}, {0: 2.0, 1: 0.0, 2: 1.0, 4: 1.0}) == 0.5
    assert least_p_value({}, {}) == 1.0


def test_a_change_names_means_direction_and_the_pair_that_differs_most() -> None:
    before = [float(10 + i % 3) for i in range(32)]
    now = [value - 2.0 - 0.01 * i for i, value in enumerate(before)]
    change = compare("random", "return", numbered(before), numbered(now), 1e-4)
    assert change is not None
    assert (change.direction, change.pairs, change.largest) == ("lower", 32, 31)
    assert change.before == pytest.approx(sum(before) / 32)
    assert change.now == pytest.approx(sum(now) / 32)
    assert change.p_value == pytest.approx(2.0**-31)  # All 32 ranks on one side.


def test_p_values_are_those_of_the_signed_ranks_without_the_equal_pairs() -> None:
    rng = np.random.default_rng(3)
    before = rng.normal(10, 1, 60)
    now = before + rng.normal(1.0, 0.5, 60)
    now[:20] = before[:20]
    change = compare("random", "return", numbered(list(before)), numbered(list(now)), 1e-4)
    assert change is not None
    assert change.p_value == pytest.approx(float(wilcoxon((now - before)[20:])[1]))


def test_equal_outcomes_are_no_change() -> None:
    values = numbered([1.0, 2.0, 3.0] * 20)
    assert compare("random", "return", values, values, 0.01) is None


def test_a_certain_change_of_less_than_three_percent_does_not_matter() -> None:
    before = [100.0] * 64
    assert compare("idle", "length", numbered(before), numbered([102.9] * 64), 0.01) is None
    assert compare("idle", "length", numbered(before), numbered([103.1] * 64), 0.01) is not None


def test_too_few_pairs_are_no_change_however_they_differ() -> None:
    assert compare("idle", "length", numbered([1.0] * 10), numbered([9.0] * 10), 1e-3) is None


def test_only_equal_seeds_are_compared() -> None:
    before = dict.fromkeys(range(100), 1.0)
    now = dict.fromkeys(range(100, 200), 9.0)
    assert compare("idle", "length", before, now, 0.01) is None


def test_unchanged_games_with_other_dice_raise_no_alarm() -> None:
    rng = np.random.default_rng(11)
    alarms = 0
    for _ in range(400):
        before, now = rng.exponential(5, 64), rng.exponential(5, 64)
        alarms += compare("random", "return", numbered(list(before)), numbered(list(now)), 0.002) is not None
    # 0.002 each: 0.8 are expected.
    assert alarms <= 4


def test_a_value_that_many_reached_and_none_does_any_more() -> None:
    value, chance = beyond([0.0] * 30 + [2.0] * 30, [0.0, 1.0] * 30)
    assert value == 2.0
    # All 30 highest of 120 are among the 60 of before.
    assert chance == pytest.approx(math.comb(60, 30) / math.comb(120, 30))


@pytest.mark.parametrize(
    ("before", "now", "value", "chance"),
    [
        ([0.0] * 60, [0.0] * 60, None, 1.0),
        # One of sixty reached it: too few to say so, and as likely as not.
        ([0.0] * 59 + [2.0], [0.0] * 60, None, 0.5),
        ([0.0] * 30 + [2.0] * 30, [0.0] * 59 + [2.0], None, 1.0),
        ([0.0] * 2 + [2.0] * 2, [0.0] * 4, 2.0, 6 / 28),
        ([], [1.0], None, 1.0),
    ],
)
def test_what_chance_explains_has_a_high_chance(
    before: list[float], now: list[float], value: float | None, chance: float
) -> None:
    assert beyond(before, now) == (value, pytest.approx(chance))
