"""The median stopping rule."""

from attract.tuning.pruning import Rungs, is_behind, is_late, rungs_of, scores_at


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
