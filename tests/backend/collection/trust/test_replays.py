"""What is needed to play a segment again, and when two plays of it agree (rule C10)."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from attract.collection.leases import Lesson
from attract.collection.trust.replays import (
    LAST_EPISODE,
    MAX_HISTORY_BYTES,
    Beginning,
    History,
    Play,
    difference,
    order_of,
    play_of,
)
from attract.schema.episodes import Episode
from attract.schema.messages import ParameterDistribution
from attract.schema.tensor import to_numpy
from blocks import admitted_worker, played_block, train_lease
from fake_worker import counting_description

EASY = Lesson("easy")
HARD = Lesson("hard", {"wind": ParameterDistribution(values=[2.0])})


def actions(first: int) -> Any:
    return np.arange(first, first + 4, dtype=np.int32)[:, None]


def ended(episode: int, step: int) -> Episode:
    return Episode(0, episode, step, (1.0,), 3, 6, "terminated")


def known(beginning: Beginning | None) -> tuple[int, str | None, list[int]]:
    assert beginning is not None
    played = [int(action) for part in beginning.actions for action in part[:, 0]]
    return beginning.episode, beginning.begun.lesson_id, played


# --- what came before ---


def test_C10_a_segment_begins_with_the_actions_of_its_episode_so_far() -> None:
    history = History()
    assert known(history.take(0, EASY, actions(0), None, -1)) == (0, "easy", [])
    # The first episode ends with the sixth action; what follows is the next's, under the lease's lesson.
    assert known(history.take(4, HARD, actions(4), ended(0, 1), -1)) == (0, "easy", [0, 1, 2, 3])
    assert known(history.take(8, HARD, actions(8), None, -1)) == (1, "hard", [6, 7])
    assert known(history.take(12, HARD, actions(12), None, -1)) == (1, "hard", [6, 7, 8, 9, 10, 11])


def test_C10_an_episode_that_ends_with_the_segment_leaves_nothing_behind() -> None:
    history = History()
    history.take(0, EASY, actions(0), ended(0, 3), -1)
    assert known(history.take(4, EASY, actions(4), None, -1)) == (1, "easy", [])


def test_C10_after_a_gap_nothing_is_known_until_an_episode_has_ended() -> None:
    history = History()
    history.take(0, EASY, actions(0), None, -1)
    assert history.take(8, EASY, actions(8), None, -1) is None
    assert history.take(12, EASY, actions(12), ended(7, 2), -1) is None
    assert known(history.take(16, EASY, actions(16), None, -1)) == (8, "easy", [15])


def test_C10_who_was_first_seen_in_the_middle_is_not_known() -> None:
    assert History().take(4, EASY, actions(4), None, -1) is None


def test_C10_a_segment_from_before_changes_nothing() -> None:
    history = History()
    history.take(0, EASY, actions(0), None, -1)
    assert history.take(0, HARD, actions(90), ended(3, 0), -1) is None
    assert known(history.take(4, EASY, actions(4), None, -1)) == (0, "easy", [0, 1, 2, 3])


@pytest.mark.parametrize(("failed_at", "end", "is_known"), [(2, None, False), (2, 1, False), (0, 1, True)])
def test_C10_a_game_that_failed_after_the_last_end_is_not_known(
    failed_at: int, end: int | None, is_known: bool
) -> None:
    history = History()
    history.take(0, EASY, actions(0), None if end is None else ended(0, end), failed_at)
    assert (history.take(4, EASY, actions(4), None, -1) is not None) == is_known


def test_C10_what_takes_too_much_room_is_not_kept() -> None:
    history = History()
    steps = MAX_HISTORY_BYTES // 4
    most = np.zeros((steps, 1), np.int32)
    assert history.take(0, EASY, most, None, -1) is not None
    assert (history.num_bytes, history.is_known) == (MAX_HISTORY_BYTES, True)
    assert history.take(steps, EASY, np.zeros((1, 1), np.int32), None, -1) is not None
    assert (history.num_bytes, history.is_known, history.actions) == (0, False, [])


def test_C5_after_the_last_episode_that_a_stream_can_name_nothing_is_known() -> None:
    history = History()
    history.take(0, EASY, actions(0), ended(LAST_EPISODE - 1, 3), -1)
    assert known(history.take(4, EASY, actions(4), ended(LAST_EPISODE, 3), -1)) == (LAST_EPISODE, "easy", [])
    assert history.take(8, EASY, actions(8), None, -1) is None


def test_C10_an_order_has_the_actions_before_and_those_of_the_segment() -> None:
    play = play_of([(played_block(num_slots=1), np.array([0]))], 1)
    own = play.action[:, 0].tolist()
    order = order_of(3, 20, Beginning(8, EASY, (actions(50), actions(60)[:2])), HARD, play)
    assert (order.instance_id, order.episode, order.first_step, order.num_before) == (3, 8, 20, 6)
    said = to_numpy(order.action, "action", "int32", (10, 1))[:, 0].tolist()
    assert said == [50, 51, 52, 53, 60, 61, *own]
    assert (order.begun.lesson_id, order.terms.lesson_id) == ("easy", "hard")
    assert order.terms.parameters == {"wind": ParameterDistribution(values=[2.0])}


# --- what a segment says ---


def test_C10_of_a_block_the_games_own_columns_are_taken() -> None:
    description = counting_description(num_agents=2)
    block = played_block(num_slots=4, description=description, episode_steps=3)
    play = play_of([(block, np.array([2, 3]))], 2)
    # The observation of slot s at step t is 1000 s + t; an episode of three steps ends in the third.
    assert play.steps["obs.obs"][1, :, 0].tolist() == [2001.0, 3001.0]
    assert play.after["obs"][:, 0].tolist() == [2004.0, 3004.0]
    assert play.steps["truncated"][:, 0].tolist() == [0, 0, 1, 0]
    assert sorted(play.finals) == [(2, 0), (2, 1)]
    assert [(episode.instance_id, episode.step, episode.length_steps) for episode in play.episodes] == [
        (1, 2, 3)
    ]
    assert play.num_failed == 0


def test_C10_E9_agents_that_travel_apart_are_put_together() -> None:
    description = counting_description(num_agents=2)
    worker = admitted_worker(num_slots=4, description=description, episode_steps=3)
    worker.slots_per_block = 3
    first, second = worker.segment_blocks(train_lease(), 0, 0)
    whole = play_of(
        [(played_block(num_slots=4, description=description, episode_steps=3), np.array([2, 3]))], 2
    )
    apart = play_of([(second, np.array([0])), (first, np.array([2]))], 2)
    assert difference(whole, apart) is None
    assert apart.action.tolist() == whole.action.tolist()


# --- whether two agree ---


def play(**changes: Any) -> Play:
    """Two agents, two steps; the second agent takes no part in the last one."""
    steps: dict[str, Any] = {
        "valid": np.array([[1, 1], [1, 0]], np.uint8),
        "terminated": np.array([[0, 0], [0, 0]], np.uint8),
        "truncated": np.array([[0, 1], [0, 0]], np.uint8),
        "executed_ticks": np.array([[2, 2], [2, 0]], np.uint16),
        "reward": np.array([[1, 1000], [0.5, 0]], np.float32),
        "obs.obs": np.arange(8, dtype=np.float32).reshape(2, 2, 2),
    }
    named = {name: changes.pop(name) for name in list(changes) if name in steps}
    one = Play(
        steps=steps | named,
        after={"obs": np.array([[8, 9], [10, 11]], np.float32)},
        finals={(0, 1): {"obs": np.array([6, 7], np.float32)}},
        action=np.zeros((2, 2), np.int32),
        episodes=(Episode(0, 4, 1, (1.5, 1000.0), 2, 4, "terminated", {"food": 2.0}, {}, "easy"),),
    )
    return replace(one, **changes)


def changed(name: str, place: tuple[int, ...], value: float) -> Any:
    array = play().steps[name].copy()
    array[place] = value
    return array


def test_C10_the_same_play_agrees() -> None:
    assert difference(play(), play()) is None


@pytest.mark.parametrize(
    ("name", "place", "value", "says"),
    [
        ("reward", (0, 1), 1001.0, "reward of agent 1 at step 0: 1001 reported, 1000 in the replay"),
        ("valid", (1, 1), 1, "valid of agent 1 at step 1: 1 reported, 0 in the replay"),
        ("terminated", (1, 0), 1, "terminated of agent 0 at step 1: 1 reported, 0 in the replay"),
        ("executed_ticks", (1, 0), 1, "executed_ticks of agent 0 at step 1: 1 reported, 2 in the replay"),
        ("obs.obs", (0, 1, 1), 9.0, "obs.obs of agent 1 at step 0: 9 reported, 3 in the replay"),
    ],
)
def test_C10_what_differs_is_named_with_both_numbers(
    name: str, place: tuple[int, ...], value: float, says: str
) -> None:
    assert difference(play(**{name: changed(name, place, value)}), play()) == says


def test_C10_floats_may_differ_in_their_last_bits() -> None:
    # 1e-5 of max(1, |x|): at 1000 that is 0.01.
    assert difference(play(reward=changed("reward", (0, 1), 1000.009)), play()) is None
    assert difference(play(reward=changed("reward", (0, 1), 1000.02)), play()) is not None
    assert difference(play(reward=changed("reward", (1, 0), 0.500009)), play()) is None
    assert difference(play(reward=changed("reward", (1, 0), 0.50002)), play()) is not None


def test_C10_a_number_that_is_none_is_a_difference_unless_both_are_none() -> None:
    assert difference(play(), play(reward=changed("reward", (1, 0), 7.0))) is not None


def test_C10_E9_what_a_game_leaves_for_who_takes_no_part_means_nothing() -> None:
    assert difference(play(**{"obs.obs": changed("obs.obs", (1, 1, 0), 99.0)}), play()) is None
    assert difference(play(executed_ticks=changed("executed_ticks", (1, 1), 9)), play()) is None
    away = {"obs": np.array([[8, 9], [99, 11]], np.float32)}
    assert difference(play(after=away), play()) is None
    assert difference(play(after={"obs": np.array([[8, 0], [10, 11]], np.float32)}), play()) == (
        "observation obs after the last step"
    )


def test_C10_E8_final_observations_are_compared_by_their_places() -> None:
    other = {(0, 1): {"obs": np.array([6, 8], np.float32)}}
    assert difference(play(finals=other), play()) == "final observation of agent 1 at step 0"
    assert difference(play(), play(finals={})) == "final observation of agent 1 at step 0"
    assert difference(play(finals={}), play()) == "final observations of other steps"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"step": 0}, "episodes that end at steps [0]: [1]"),
        ({"length_steps": 3}, "length_steps of an episode: 3 reported, 2 in the replay"),
        ({"end_reason": "time_limit"}, "end_reason of an episode: time_limit, terminated"),
        ({"lesson_id": "hard"}, "lesson_id of an episode: hard, easy"),
        ({"returns": (9.0, 1000.0)}, "return of an episode: 9 reported, 1.5 in the replay"),
        ({"metrics": {"food": 3.0}}, "metrics of an episode"),
        ({"reward_terms": {"step": 0.0}}, "reward_terms of an episode"),
    ],
)
def test_C10_results_of_episodes_are_compared(change: dict[str, Any], says: str) -> None:
    (episode,) = play().episodes
    assert difference(play(episodes=(episode._replace(**change),)), play()) == says
    assert difference(play(episodes=()), play()) == "episodes that end at steps []: [1]"
