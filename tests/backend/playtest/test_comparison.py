import numpy as np
import pytest
from scipy.stats import wilcoxon

from attract.playtest.comparison import FALSE_ALARM, LOOKS, compare, reached_no_more, threshold


def numbered(values: list[float]) -> dict[int, float]:
    return dict(enumerate(values))


def test_all_tests_and_looks_share_one_chance_of_a_false_alarm() -> None:
    assert threshold(40) == pytest.approx(0.01 / (40 * 5))
    assert (FALSE_ALARM, len(LOOKS)) == (0.01, 5)


def test_a_change_names_means_direction_and_the_pair_that_differs_most() -> None:
    before = [float(10 + i % 3) for i in range(32)]
    now = [value - 2.0 - 0.01 * i for i, value in enumerate(before)]
    change = compare("random", "return", numbered(before), numbered(now), 4)
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
    change = compare("random", "return", numbered(list(before)), numbered(list(now)), 4)
    assert change is not None
    assert change.p_value == pytest.approx(float(wilcoxon((now - before)[20:])[1]))


def test_equal_outcomes_are_no_change() -> None:
    values = numbered([1.0, 2.0, 3.0] * 20)
    assert compare("random", "return", values, values, 1) is None


def test_a_certain_change_of_less_than_three_percent_does_not_matter() -> None:
    before = [100.0] * 64
    assert compare("idle", "length", numbered(before), numbered([102.9] * 64), 1) is None
    assert compare("idle", "length", numbered(before), numbered([103.1] * 64), 1) is not None


def test_too_few_pairs_are_no_change_however_they_differ() -> None:
    assert compare("idle", "length", numbered([1.0] * 10), numbered([9.0] * 10), 10) is None


def test_only_equal_seeds_are_compared() -> None:
    before = dict.fromkeys(range(100), 1.0)
    now = dict.fromkeys(range(100, 200), 9.0)
    assert compare("idle", "length", before, now, 1) is None


def test_unchanged_games_with_other_dice_raise_no_alarm() -> None:
    rng = np.random.default_rng(11)
    alarms = 0
    for _ in range(400):
        before, now = rng.exponential(5, 64), rng.exponential(5, 64)
        alarms += compare("random", "return", numbered(list(before)), numbered(list(now)), 1) is not None
    # 0.002 each: 0.8 are expected.
    assert alarms <= 4


def test_a_value_that_many_reached_and_none_does_any_more() -> None:
    assert reached_no_more([0.0] * 30 + [2.0] * 30, [0.0, 1.0] * 30, 10) == 2.0


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ([0.0] * 60, [0.0] * 60),
        # One of sixty reached it: the others may have had bad luck.
        ([0.0] * 59 + [2.0], [0.0] * 60),
        ([0.0] * 30 + [2.0] * 30, [0.0] * 59 + [2.0]),
        ([0.0] * 30 + [2.0] * 30, [0.0] * 3),
        ([], [1.0]),
    ],
)
def test_what_chance_explains_is_not_unreached(before: list[float], now: list[float]) -> None:
    assert reached_no_more(before, now, 10) is None
