"""What blocks say of whole games, counted by hand: four steps, episodes of known rewards."""

from typing import Any

import numpy as np
import pytest

from attract.collection.trust.plausibility import Claim, Ends, joined_claim
from attract.errors import ProtocolError
from attract.schema.messages import EpisodeColumns
from attract.schema.tensor import to_numpy
from blocks import played_block

HORIZON = 4


def columns(*ends: tuple[int, int, str]) -> EpisodeColumns:
    """(instance, step, end_reason) of each."""
    return EpisodeColumns(
        instance_id=[instance for instance, _, _ in ends],
        step=[step for _, step, _ in ends],
        end_reason=[reason for _, _, reason in ends],
    )


def claim(places: list[int], episodes: EpisodeColumns | None = None, **arrays: Any) -> Claim:
    shape = (HORIZON, len(places))
    numbers: dict[str, Any] = {
        "reward": np.zeros(shape, np.float32),
        "terminated": np.zeros(shape, np.bool_),
        "truncated": np.zeros(shape, np.bool_),
        "valid": np.ones(shape, np.bool_),
        "ticks": np.ones(shape, np.uint16),
    }
    return Claim(
        places=np.array(places),
        first_step=np.array(places) * 100,
        episodes=episodes or EpisodeColumns(),
        **numbers | arrays,
    )


def ends(one: Claim, instances: list[int], num_agents: int = 1) -> Ends:
    return Ends(HORIZON, num_agents, one, np.array(instances))


REWARD = np.array([[1, 10], [2, 20], [3, 30], [4, 40]], np.float32)
THREE = columns((10, 1, "terminated"), (10, 3, "time_limit"), (11, 2, "cut"))


def test_a_block_is_read_as_it_travels() -> None:
    block = played_block(num_slots=2, first_step=8, episode_steps=3)
    one = Claim.of(block, np.array([5, 6]))
    assert one.places.tolist() == [5, 6]
    assert one.first_step.tolist() == [8, 8]
    assert one.reward.tolist() == to_numpy(block.reward, "reward", "float32", (4, 2)).tolist()
    # Episodes of three steps: the ninth step is the last of the third one, the twelfth of the fourth.
    assert one.truncated[:, 0].tolist() == [True, False, False, True]
    assert (one.valid.all(), one.terminated.any(), one.ticks.tolist()) == (True, False, [[2, 2]] * 4)
    assert one.episodes is block.episodes


def test_E9_a_claim_is_whole_when_it_has_all_agents_of_its_games_side_by_side() -> None:
    assert claim([3, 1]).is_whole(1)
    assert claim([2, 3, 4, 5]).is_whole(2)
    assert not claim([2, 3, 4]).is_whole(2)
    assert not claim([3, 2]).is_whole(2)
    assert not claim([1, 2]).is_whole(2)


def test_claims_of_one_segment_are_joined_in_the_order_of_their_slots() -> None:
    late = claim([2, 3], columns((9, 1, "cut")), reward=REWARD)
    early = claim([0, 1], columns((8, 0, "terminated")), reward=REWARD * 100)
    both = joined_claim([late, early])
    assert both.places.tolist() == [0, 1, 2, 3]
    assert both.first_step.tolist() == [0, 100, 200, 300]
    assert both.reward[1].tolist() == [200, 2000, 2, 20]
    assert both.is_whole(2)
    assert both.episodes.instance_id == [9, 8]


def test_each_end_is_counted_from_the_one_before_or_from_before_the_block() -> None:
    one = ends(claim([0, 1], THREE), [10, 11])
    assert (one.count, one.game.tolist(), one.step.tolist()) == (3, [0, 0, 1], [1, 3, 2])
    assert one.is_first.tolist() == [True, False, True]
    assert one.is_finished.tolist() == [True, True, False]
    assert one.is_at_limit.tolist() == [False, True, False]
    assert one.marks.tolist() == [1, 3, 6]
    assert one.has_any.tolist() == [True, True]
    lengths, still_open = one.lengths(np.array([5, 2]))
    # Game 0: five steps before and two here, then two; game 1: two before and three here, then one.
    assert lengths.tolist() == [7, 2, 5]
    assert still_open.tolist() == [0, 1]


def test_numbers_are_summed_over_each_episode_and_over_what_is_left_open() -> None:
    one = ends(claim([0, 1], THREE), [10, 11])
    sums, still_open = one.sums(REWARD, np.array([100.0, 200.0]))
    assert sums.tolist() == [[103.0], [7.0], [260.0]]
    assert still_open.tolist() == [0.0, 40.0]


def test_the_agents_of_a_game_end_together_and_each_has_its_own_sum() -> None:
    one = ends(claim([0, 1], columns((7, 2, "terminated"))), [7], num_agents=2)
    assert one.num_games == 1
    sums, still_open = one.sums(REWARD, np.array([100.0, 200.0]))
    assert sums.tolist() == [[106.0, 260.0]]
    assert still_open.tolist() == [4.0, 40.0]
    assert [each.tolist() for each in one.lengths(np.array([3]))] == [[6], [1]]


def test_where_nothing_ends_everything_stays_open() -> None:
    one = ends(claim([0, 1]), [10, 11])
    lengths, still_open = one.lengths(np.array([5, 2]))
    assert (lengths.tolist(), still_open.tolist()) == ([], [9, 6])
    sums, open_sums = one.sums(REWARD, np.array([100.0, 0.0]))
    assert (sums.shape, open_sums.tolist()) == ((0, 1), [110.0, 100.0])
    assert not one.has_any.any()


def test_a_step_in_which_a_game_failed_ends_an_episode_that_nobody_tells_of() -> None:
    valid = np.ones((HORIZON, 4), np.bool_)
    valid[1, 2:] = False  # both agents of the second game
    valid[2, 0] = False  # one agent alone: it takes no part
    one = ends(claim([0, 1, 2, 3], valid=valid), [10, 11], num_agents=2)
    assert (one.count, one.marks.tolist(), one.has_any.tolist()) == (0, [5], [False, True])
    _, still_open = one.lengths(np.array([5, 2]))
    assert still_open.tolist() == [9, 2]


def test_two_episodes_cannot_end_in_one_step() -> None:
    with pytest.raises(ProtocolError, match="two episodes end in one step"):
        ends(claim([0], columns((10, 1, "cut"), (10, 1, "terminated"))), [10])
