"""The search: trials on disk, which end early, and which win."""

import random
from pathlib import Path

import pytest

from attract.tuning.search import NEAR_TRIALS, Search, SearchTrial
from attract.tuning.space import SPACE_DATA, Choice, Range
from attract.tuning.verdict import (
    Point,
    Rungs,
    Sample,
    chance_of,
    finalists_of,
    is_behind,
    is_late,
    judge,
    rungs_of,
    scores_at,
    winner_of,
)

SPACE = {
    "ppo.gamma": Choice((0.9, 0.99)),
    "policy.hidden_sizes": Choice(([64, 64], [64])),
    "ppo.gae_lambda": Choice((None, 0.9)),
    "ppo.learning_rate": Range(1e-4, 1e-2, log=True, whole=False),
    "ppo.n_epochs": Range(1, 8, log=False, whole=True),
}
DEFAULTS = {
    "ppo.gamma": 0.99,
    "policy.hidden_sizes": [64, 64],
    "ppo.gae_lambda": None,
    "ppo.learning_rate": 1e-3,
    "ppo.n_epochs": 4,
}


def begun(folder: Path) -> Search:
    search = Search(folder)
    default = SearchTrial(
        number=0, state="finished", settings=DEFAULTS, score=1.0, seconds=2.0, agent_steps=100,
        took_seconds=3.0, rungs={25: 0.5, 50: None},
    )  # fmt: skip
    search.add_default(SPACE, default)
    return search


def finish(search: Search, trial: SearchTrial, score: float | None) -> None:
    trial.state, trial.score, trial.seconds = "finished", score, 1.0
    search.finish(trial)


def test_values_are_of_the_space_and_the_defaults_are_the_first(tmp_path: Path):
    search = begun(tmp_path)
    for _ in range(12):
        trial = search.ask(SPACE)
        assert all(domain.holds(trial.settings[name]) for name, domain in SPACE.items()), trial.settings
        finish(search, trial, trial.settings["ppo.gamma"])
    trials = search.trials()
    assert [trial.number for trial in trials] == list(range(13))
    assert trials[0].settings == DEFAULTS
    assert trials[0].rungs == {25: 0.5, 50: None}


def test_what_ended_is_there_when_the_study_is_opened_again(tmp_path: Path):
    search = begun(tmp_path)
    pruned, failed, scoreless = (search.ask(SPACE) for _ in range(3))
    pruned.state, pruned.score, pruned.rungs = "pruned", -1.0, {25: -1.0}
    failed.state, failed.error = "failed", "it broke"
    search.finish(pruned)
    search.finish(failed)
    finish(search, scoreless, None)
    again = Search(tmp_path).trials()
    assert [(trial.state, trial.score, trial.error) for trial in again] == [
        ("finished", 1.0, None),
        ("pruned", -1.0, None),
        ("failed", None, "it broke"),
        ("finished", None, None),
    ]
    assert again[1].rungs == {25: -1.0}


def test_what_a_killed_tuner_left_running_is_tried_again_once(tmp_path: Path):
    lost = begun(tmp_path).ask(SPACE)
    again = Search(tmp_path)
    assert [trial.number for trial in again.trials()] == [0]
    tried = [again.ask(SPACE) for _ in range(2 * NEAR_TRIALS)]
    for trial in tried:
        finish(again, trial, 1.0)
    assert [trial.settings for trial in tried].count(lost.settings) == 1


def test_the_first_trials_differ_from_the_defaults_in_some_settings(tmp_path: Path):
    search = begun(tmp_path)
    for _ in range(NEAR_TRIALS):
        values = search.ask(SPACE).settings
        # A third of five settings are two.
        assert sum(values[name] != DEFAULTS[name] for name in SPACE) in (1, 2)
    assert sum(search.ask(SPACE).settings[name] != DEFAULTS[name] for name in SPACE) > 2


def test_a_study_that_is_opened_again_does_not_draw_the_same_again(tmp_path: Path):
    first = begun(tmp_path)
    one = first.ask(SPACE)
    finish(first, one, 1.0)
    second = Search(tmp_path).ask(SPACE)
    assert second.settings["ppo.learning_rate"] != one.settings["ppo.learning_rate"]


def test_the_sampler_learns_which_values_score(tmp_path: Path):
    search = begun(tmp_path)
    for _ in range(40):
        trial = search.ask(SPACE)
        finish(search, trial, 100.0 * (trial.settings["ppo.gamma"] == 0.9))
    late = [trial.settings["ppo.gamma"] for trial in search.trials()[21:]]
    assert late.count(0.9) >= 15


def test_facts_and_spaces_are_kept(tmp_path: Path):
    search = Search(tmp_path)
    assert search.fact("space") is None
    search.keep("space", SPACE_DATA.dump_python(SPACE, mode="json"))
    assert SPACE_DATA.validate_python(Search(tmp_path).fact("space")) == SPACE


def test_the_front_is_what_nothing_dominates_and_has_both_of_equals(tmp_path: Path):
    search = begun(tmp_path)
    # The defaults have score 1 in 2 seconds.
    for score, seconds in ((2.0, 3.0), (1.0, 2.5), (0.5, 1.0), (2.0, 3.5), (2.0, 3.0), (None, 0.1)):
        trial = search.ask(SPACE)
        trial.state, trial.score, trial.seconds = "finished", score, seconds
        search.finish(trial)
    assert search.front() == {0, 1, 3, 5}


def test_trials_are_compared_at_a_quarter_a_half_and_three_quarters():
    assert rungs_of(1000) == (250, 500, 750)


def test_the_first_score_at_or_after_a_rung_counts_for_it():
    rungs = Rungs(1000)
    assert rungs.reached(200, 1.0) == []
    assert rungs.reached(260, 2.0) == [250]
    assert rungs.reached(300, 3.0) == []
    # An update so large that it passes two of them.
    assert rungs.reached(760, 4.0) == [500, 750]
    assert rungs.scores == {250: 2.0, 500: 4.0, 750: 4.0}


def test_one_that_ends_sooner_has_what_it_came_to_at_every_later_rung():
    rungs = Rungs(1000)
    rungs.reached(250, 1.0)
    rungs.ended(9.0)
    assert rungs.scores == {250: 1.0, 500: 9.0, 750: 9.0}


def test_nothing_is_ended_before_four_others_came_so_far():
    assert not is_behind(-100.0, [1.0, 2.0, 3.0])
    assert is_behind(-100.0, [1.0, 2.0, 3.0, 4.0])


def test_the_median_itself_goes_on():
    # The median of 1, 2, 4 and 5 is 3.
    assert not is_behind(3.0, [1.0, 5.0, 2.0, 4.0])
    assert is_behind(2.99, [1.0, 5.0, 2.0, 4.0])


def test_no_episode_is_worse_than_any_and_no_worse_than_none():
    assert is_behind(None, [-1e9, -1e9, -1e9, None])
    assert not is_behind(None, [None, None, None, None])


def test_only_trials_that_came_so_far_are_compared_with():
    assert scores_at(500, [{250: 1.0}, {250: 2.0, 500: 3.0}, {500: None}]) == [3.0, None]


def test_on_the_way_to_a_goal_it_is_time_that_counts():
    assert not is_late(100.0, [1.0, 2.0, 3.0])
    # The median of 4, 5, 6 and 8 is 5.5.
    assert not is_late(5.5, [8.0, 6.0, 4.0, 5.0])
    assert is_late(5.6, [8.0, 6.0, 4.0, 5.0])


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
