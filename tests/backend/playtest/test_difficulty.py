import math
import random

import pytest
import scipy

from attract.playtest.difficulty import (
    ValueDifficulty,
    Wins,
    attempts,
    common_seeds,
    mean,
    measure,
    outside,
    rank_correlation,
    share,
)
from attract.playtest.outcomes import Outcome, Outcomes
from attract.schema.match import Estimate
from fake_worker import counting_description

PLAYERS = ["idle", "random"]
BY_METRIC = Wins("metric", "won")


def outcome(value: float, won: float = 0.0, end: str = "terminated", length: float = 10.0) -> Outcome:
    return Outcome(end, {"return": value, "length": length, "info won": won})


def outcomes(**players: list[Outcome]) -> Outcomes:
    return Outcomes({name: dict(enumerate(episodes)) for name, episodes in players.items()})


def row(**numbers: Estimate) -> ValueDifficulty:
    usual = Estimate(mean=0.5, low=0.4, high=0.6)
    given = dict.fromkeys(("difficulty", "win_rate", "attempts", "episode_return", "length"), usual)
    return ValueDifficulty(value=1.0, episodes=8, **{**given, **numbers})  # type: ignore[arg-type]


def test_the_share_of_independent_episodes_has_wilsons_interval() -> None:
    estimate = share([1.0] * 14 + [0.0] * 26, per_seed=1)
    # By `share`, n - 1 = 39 takes the place of n = 40.
    low, high = scipy.stats.binomtest(14, 40).proportion_ci(0.95, "wilson")
    assert estimate.mean == pytest.approx(0.35)
    assert estimate.low == pytest.approx(low, abs=0.005)
    assert estimate.high == pytest.approx(high, abs=0.005)


def test_episodes_that_all_go_by_the_seed_are_worth_one_each() -> None:
    alike = share([1.0] * 14 + [0.0] * 26, per_seed=8)
    single = share([1.0] * 14 + [0.0] * 26, per_seed=1)
    assert (alike.low, alike.high) == (single.low, single.high)
    mixed = share([0.5] * 40, per_seed=8)
    assert mixed.low == pytest.approx(scipy.stats.binomtest(160, 320).proportion_ci(0.95, "wilson")[0])


def test_a_share_of_nothing_or_all_is_bounded_by_the_number_of_seeds() -> None:
    none = share([0.0] * 20, per_seed=6)
    assert (none.mean, none.low) == (0.0, 0.0)
    assert none.high == pytest.approx(scipy.stats.binomtest(0, 20).proportion_ci(0.95, "wilson")[1])
    assert share([1.0] * 20, per_seed=6).high == 1.0


def test_a_mean_has_students_interval_over_the_seeds() -> None:
    estimate = mean([1.0, 2.0, 3.0])
    half = float(scipy.stats.t.ppf(0.975, 2)) / math.sqrt(3)  # The standard deviation is 1.
    assert (estimate.mean, estimate.low, estimate.high) == pytest.approx((2.0, 2.0 - half, 2.0 + half))
    assert mean([4.0]) == Estimate(mean=4.0, low=None, high=None)


def test_attempts_are_one_over_the_win_rate_and_without_bound_where_nobody_won() -> None:
    some = attempts(Estimate(mean=0.25, low=0.2, high=0.5))
    assert (some.mean, some.low, some.high) == (4.0, 2.0, 5.0)
    none = attempts(Estimate(mean=0.0, low=0.0, high=0.1))
    assert (none.mean, none.low, none.high) == (None, 10.0, None)


def test_a_won_episode_is_what_the_game_says_or_else_how_it_ends() -> None:
    timed = counting_description().model_copy(update={"metrics": {}, "max_steps": 50})
    assert Wins.of(timed, None) == Wins("time_limit")
    assert Wins("time_limit").count(outcome(0, end="time_limit")) == 1
    assert Wins("time_limit").count(outcome(0, end="terminated")) == 0
    endless = timed.model_copy(update={"max_steps": None})
    assert Wins.of(endless, None) == Wins("ended")
    assert Wins("ended").count(outcome(0, end="terminated")) == 1
    assert Wins("ended").count(outcome(0, end="stopped")) == 0
    says = timed.model_copy(update={"metrics": {"won": "last", "landed": "last"}})
    assert Wins.of(says, None) == BY_METRIC
    assert Wins.of(says, "landed") == Wins("metric", "landed")
    assert [BY_METRIC.count(outcome(0, won=value)) for value in (0, 1, 3)] == [0, 1, 1]


def test_only_seeds_that_all_played_at_all_values_without_a_failure_count() -> None:
    easy = outcomes(idle=[outcome(i) for i in range(4)], random=[outcome(i) for i in range(3)])
    hard = outcomes(idle=[outcome(i) for i in range(4)], random=[outcome(i) for i in range(4)])
    hard.players["idle"][1] = outcome(0, end="failed")
    kept = common_seeds([easy, hard], PLAYERS)
    assert [sorted(episodes) for table in kept for episodes in table.values()] == [[0, 2]] * 4
    with pytest.raises(ValueError, match="no seed"):
        measure([1.0, 2.0], [easy, outcomes(idle=[])], PLAYERS, BY_METRIC, {})


def test_with_a_metric_the_difficulty_is_the_share_that_is_lost() -> None:
    easy = outcomes(idle=[outcome(0, won=i % 4 > 0) for i in range(40)], random=[outcome(0, won=1)] * 40)
    hard = outcomes(idle=[outcome(0)] * 40, random=[outcome(0, won=i % 2) for i in range(40)])
    (first, second), (step,) = measure([1.0, 2.0], [easy, hard], PLAYERS, BY_METRIC, {})
    # Won: (30 + 40) / 80 and (0 + 20) / 80.
    assert first.difficulty is not None
    assert second.difficulty is not None
    assert (first.difficulty.mean, second.difficulty.mean) == (0.125, 0.75)
    assert (first.win_rate.mean, second.attempts.mean) == (0.875, 4.0)
    assert (step.differs, step.number, step.direction) == (True, "difficulty", "higher")
    assert first.episodes == 80


def test_without_one_it_is_the_place_among_the_returns_of_all_values() -> None:
    wins = Wins("ended")
    # All returns: 50 of 0, 50 of 10; a tenth of the value's episodes apart.
    easy = outcomes(idle=[outcome(10.0)] * 45 + [outcome(0.0)] * 5)
    hard = outcomes(idle=[outcome(0.0)] * 45 + [outcome(10.0)] * 5)
    (first, second), _ = measure([1.0, 2.0], [easy, hard], ["idle"], wins, {})
    assert first.difficulty is not None
    assert second.difficulty is not None
    assert first.difficulty.mean == pytest.approx(0.1)
    assert second.difficulty.mean == pytest.approx(0.9)
    assert first.episode_return.mean == 9.0


def test_equal_returns_say_nothing_of_difficulty() -> None:
    same = outcomes(idle=[outcome(3.0)] * 8)
    rows, (step,) = measure([1.0, 2.0], [same, same], ["idle"], Wins("ended"), {})
    assert [row.difficulty for row in rows] == [None, None]
    assert not step.differs
    assert rank_correlation(rows) is None


def test_neighbours_that_differ_by_chance_alone_are_not_differs() -> None:
    for seed in range(40):
        dice = random.Random(seed)
        played = [
            outcomes(
                idle=[outcome(dice.gauss(0, 1)) for _ in range(64)],
                random=[outcome(dice.gauss(3, 1)) for _ in range(64)],
            )
            for _ in range(4)
        ]
        _, steps = measure([1.0, 2.0, 3.0, 4.0], played, PLAYERS, Wins("ended"), {})
        assert not any(step.differs for step in steps), f"seed {seed}"


def test_a_number_is_outside_a_band_only_with_its_whole_interval() -> None:
    wide = row(win_rate=Estimate(mean=0.2, low=0.1, high=0.35))
    assert outside(wide, {"win_rate": (0.3, 0.7)}) == {"win_rate": "unsure"}
    assert outside(wide, {"win_rate": (0.4, 0.7)}) == {"win_rate": "below"}
    assert outside(wide, {"win_rate": (None, 0.05)}) == {"win_rate": "above"}
    assert outside(wide, {"win_rate": (0.1, None), "difficulty": (0.4, 0.6)}) == {}
    assert outside(row(episode_return=Estimate(mean=9, low=8, high=9.5)), {"return": (10, None)}) == {
        "return": "below"
    }


def test_a_game_that_nobody_wins_takes_more_attempts_than_any_band_has() -> None:
    nobody = row(attempts=Estimate(mean=None, low=20.0, high=None))
    assert outside(nobody, {"attempts": (1, 10)}) == {"attempts": "above"}
    assert outside(nobody, {"attempts": (1, 30)}) == {"attempts": "unsure"}


def test_the_rank_correlation_is_spearmans() -> None:
    def at(value: float, difficulty: float) -> ValueDifficulty:
        estimate = Estimate(mean=difficulty, low=None, high=None)
        return row(difficulty=estimate).model_copy(update={"value": value})

    rising = [at(1, 0.1), at(2, 0.15), at(3, 0.9), at(4, 0.5)]
    # Ranks 1 2 4 3: 1 - 6 * 2 / (4 * 15).
    assert rank_correlation(rising) == pytest.approx(0.8)
    assert rank_correlation([at(1, 0.5), at(2, 0.5)]) is None
