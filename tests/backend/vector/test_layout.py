"""The layout of games that step in groups, and their trace."""

import json

import pytest

from attract.errors import ConfigurationError
from attract.schema.spaces import BoxSpace, DictSpace, DiscreteSpace, MultiDiscreteSpace
from attract.vector.batch import VectorLayout
from attract.vector.group import even_parts
from attract.vector.trace import POLICY_TRACK, Timeline, games_track
from fake_worker import counting_description

GAME = counting_description(num_agents=3)


def test_a_plain_game_has_one_observation_and_one_number_to_choose():
    layout = VectorLayout.for_game(GAME, 64)
    assert (layout.horizon, layout.num_agents, layout.ticks_per_step) == (64, 3, 2)
    assert dict(layout.observations) == {"obs": ("float32", (2,))}
    assert (layout.action_dtype, layout.action_shape, layout.num_actions) == ("int32", (), 3)
    assert layout.mask_size == 0


def test_entries_are_sorted_and_a_mask_has_a_place_for_each_choice():
    spaces = {"z": BoxSpace(dtype="uint8", shape=[3, 3]), "a": DiscreteSpace(n=5)}
    game = GAME.model_copy(
        update={
            "observation": DictSpace(spaces=spaces),
            "action": MultiDiscreteSpace(nvec=[2, 5]),
            "action_mask": True,
        }
    )
    layout = VectorLayout.for_game(game, 1)
    assert list(layout.observations) == ["a", "z"]
    assert layout.observations["z"] == ("uint8", (3, 3))
    assert (layout.action_shape, layout.num_actions, layout.mask_size) == ((2,), None, 7)


def test_continuous_actions_travel_as_floats():
    game = GAME.model_copy(update={"action": BoxSpace(shape=[2], low=-1, high=1)})
    layout = VectorLayout.for_game(game, 4)
    assert (layout.action_dtype, layout.action_shape, layout.num_actions) == ("float32", (2,), None)


def test_a_horizon_of_nothing_is_refused():
    with pytest.raises(ConfigurationError):
        VectorLayout.for_game(GAME, 0)


def test_I2_games_are_cut_into_ranges_as_even_as_can_be():
    parts = [(part.group, part.worker_id, part.instance_ids.tolist()) for part in even_parts(10, 2, 2)]
    assert parts == [(0, 0, [0, 1]), (0, 1, [2, 3, 4]), (1, 0, [5, 6]), (1, 1, [7, 8, 9])]


def test_I2_one_game_of_each_part_is_enough():
    assert [part.instance_ids.tolist() for part in even_parts(6, 3, 2)] == [[0], [1], [2], [3], [4], [5]]


@pytest.mark.parametrize(("games", "groups", "workers", "least"), [(5, 3, 2, 6), (4, 0, 2, 2), (0, 1, 1, 1)])
def test_I2_fewer_games_than_parts_are_refused_with_how_many_would_do(
    games: int, groups: int, workers: int, least: int
):
    with pytest.raises(ConfigurationError, match=f"I2: {games} games") as refused:
        even_parts(games, groups, workers)
    assert refused.value.setting == "num_games"
    assert f"at least {least} games" in str(refused.value)


def test_spans_are_complete_events_in_microseconds_on_named_tracks():
    timeline = Timeline()
    timeline.span(games_track(1), "step 1", 1.0, 1.5, game_seconds=0.25)
    timeline.span(POLICY_TRACK, "policy, group 0", 1.25, 1.375, group=0)
    trace = json.loads(json.dumps(timeline.to_json()))
    names = {event["tid"]: event["args"]["name"] for event in trace["traceEvents"] if event["ph"] == "M"}
    assert names == {1: "games of group 1", 2: "policy"}
    spans = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    assert [(span["tid"], span["ts"], span["dur"]) for span in spans] == [(1, 1e6, 5e5), (2, 1.25e6, 1.25e5)]
    assert spans[0]["args"] == {"game_seconds": 0.25}


def test_only_the_first_spans_are_kept():
    timeline = Timeline(max_events=2)
    for place in range(5):
        timeline.span(POLICY_TRACK, str(place), place, place + 1)
    spans = [event["name"] for event in timeline.to_json()["traceEvents"] if event["ph"] == "X"]
    assert spans == ["0", "1"]
