"""The finalists, and what chance would show."""

import random

import pytest

from attract.tuning.verdict import Point, Sample, chance_of, finalists_of, judge, winner_of


def test_the_best_and_the_quickest_that_is_as_good_as_the_defaults_are_finalists():
    points = [Point(0, 5, 10), Point(1, 9, 30), Point(2, 5, 8), Point(3, 6, 8.5), Point(4, 4, 1)]
    assert finalists_of(points) == [1, 2]


def test_one_that_is_both_is_one_finalist_and_the_defaults_are_none():
    assert finalists_of([Point(0, 5, 10), Point(1, 9, 2)]) == [1]
    assert finalists_of([Point(0, 5, 10)]) == []
    # The best of the others has its chance even below the defaults, which may have been lucky.
    # To a goal all scores are the same: the two quickest, of which luck may have chosen one.
    assert finalists_of([Point(0, 5, 10), Point(1, 5, 8), Point(2, 5, 6), Point(3, 5, 7)]) == [2, 3]
    assert finalists_of([Point(0, 5, 10), Point(1, 5, 9.5), Point(2, 5, 6)]) == [2]
    assert finalists_of([Point(0, 5, 10), Point(1, 3, 10), Point(2, 2, 10)]) == [1]


@pytest.mark.parametrize(
    ("higher", "lower", "chance"),
    [
        # 20 deals of six values into threes; this one alone is so far apart.
        ((4, 5, 6), (1, 2, 3), 1 / 20),
        ((1, 1, 1), (1, 1, 1), 1.0),
        ((1, 2, 3), (4, 5, 6), 1.0),
        # Sums of three of 1 .. 6 that are at least 14: 6+5+4, 6+5+3; the latter is this one.
        ((3, 5, 6), (1, 2, 4), 2 / 20),
    ],
)
def test_the_chance_is_counted_over_all_deals(higher, lower, chance):
    assert chance_of(higher, lower) == pytest.approx(chance)


def test_better_quicker_or_neither():
    default = Sample((1, 2, 3, 4), (10, 11, 12, 13))
    assert judge(Sample((5, 6, 7, 8), (50, 50, 50, 50)), default, num_finalists=2) == ("better", 1 / 70)
    assert judge(Sample((1, 2, 3, 4), (5, 6, 7, 8)), default, num_finalists=2) == ("quicker", 1 / 70)
    # As quick as that, but a little worse.
    verdict, _ = judge(Sample((1, 2, 3, 3.9), (5, 6, 7, 8)), default, num_finalists=2)
    assert verdict == "no better"
    # Quicker for sure, by less than a tenth.
    verdict, _ = judge(
        Sample((1, 2, 3, 4), (9.9, 9.9, 9.9, 9.9)), Sample((1, 2, 3, 4), (10,) * 4), num_finalists=1
    )
    assert verdict == "no better"


def test_luck_alone_wins_in_no_more_than_a_tenth_of_the_studies():
    draw = random.Random(5)

    def sample() -> Sample:
        return Sample([draw.gauss(0, 1) for _ in range(4)], [draw.gauss(10, 1) for _ in range(4)])

    won = 0
    for _ in range(400):
        default = sample()
        won += any(judge(sample(), default, num_finalists=2)[0] == "better" for _ in range(2))
    # 0.1 of 400 are 40; three standard deviations of that count are 18.
    assert won <= 58


def test_what_is_better_wins_over_what_is_quicker():
    high, quick = Sample((5, 5), (9, 9)), Sample((4, 4), (1, 1))
    assert winner_of([(1, "quicker", quick), (2, "better", high)]) == 2
    assert winner_of([(1, "quicker", quick), (2, "no better", high)]) == 1
    assert winner_of([(1, "no better", quick)]) is None
