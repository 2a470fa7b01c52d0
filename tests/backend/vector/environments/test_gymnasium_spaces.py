"""A game's spaces in Gymnasium's terms; numbers by hand."""

import numpy as np
import pytest
from gymnasium import spaces

from attract.errors import ConfigurationError
from attract.schema.game import GameDescription
from attract.vector.environments.gymnasium_spaces import GameSpaces, require_one_agent, together
from fake_worker import counting_description


def described(observation: dict, action: dict, **more: object) -> GameDescription:
    base = counting_description().model_dump()
    return GameDescription.model_validate(base | {"observation": observation, "action": action} | more)


BYTES = {"kind": "box", "dtype": "uint8", "shape": [2, 2]}
PLAIN = {"kind": "box", "shape": [2], "low": [-1.0, 0.0], "high": None}


def test_boxes_have_the_games_limits_and_bytes_span_all_of_theirs():
    plain = GameSpaces(described(PLAIN, {"kind": "discrete", "n": 3}))
    assert plain.observation == spaces.Box(
        np.float32([-1, 0]), np.float32([np.inf, np.inf]), dtype=np.float32
    )
    assert plain.action == spaces.Discrete(3)
    whole = GameSpaces(described(BYTES, {"kind": "multi_binary", "n": 2}))
    assert whole.observation == spaces.Box(0, 255, (2, 2), np.uint8)
    assert whole.action == spaces.MultiBinary(2)


def test_a_set_is_its_rows_each_with_whether_it_holds_a_thing():
    seen = GameSpaces(described({"kind": "set", "max": 3, "shape": [2]}, {"kind": "discrete", "n": 3}))
    assert seen.observation == spaces.Box(-np.inf, np.inf, (3, 3), np.float32)


def test_named_choices_are_int64_and_copies():
    seen = {"kind": "dict", "spaces": {"eye": BYTES, "door": {"kind": "discrete", "n": 4}}}
    game = GameSpaces(described(seen, {"kind": "multi_discrete", "nvec": [2, 3]}))
    batch = {"eye": np.ones((2, 2, 2), np.uint8), "door": np.array([3, 1], np.int32)}
    copies = game.observations(batch)
    assert isinstance(copies, dict)
    batch["eye"][:] = 0
    assert copies["eye"].tolist() == np.ones((2, 2, 2)).tolist()
    assert (copies["door"].dtype, copies["door"].tolist()) == (np.int64, [3, 1])
    assert game.observation.contains(game.row(batch, 0))
    assert game.action == spaces.MultiDiscrete([2, 3])


def test_P6_box_actions_are_told_in_the_games_units():
    action = {"kind": "box", "shape": [2], "low": [-2.0, 0.0], "high": [2.0, 10.0]}
    game = GameSpaces(described(PLAIN, action))
    unit = game.actions([[-2, 0], [0, 5], [1, 10]], 3)
    assert (unit.dtype, unit.tolist()) == (np.float32, [[-1, -1], [0, 0], [0.5, 1]])


@pytest.mark.parametrize(
    ("action", "given", "problem"),
    [
        ({"kind": "discrete", "n": 3}, [[0], [1]], r"shape \(2,\)"),
        ({"kind": "discrete", "n": 3}, [0, 3], "Discrete"),
        ({"kind": "discrete", "n": 3}, [0, -1], "Discrete"),
        ({"kind": "discrete", "n": 3}, [0.0, 1.0], "whole numbers"),
        ({"kind": "multi_discrete", "nvec": [2, 3]}, [[0, 2], [2, 0]], "MultiDiscrete"),
        ({"kind": "multi_binary", "n": 2}, [[0, 2], [1, 0]], "MultiBinary"),
    ],
)
def test_actions_that_are_none_are_refused(action: dict, given: list, problem: str):
    with pytest.raises(ValueError, match=problem):
        GameSpaces(described(PLAIN, action)).actions(given, 2)


MIXED = {
    "kind": "mixed",
    "spaces": {
        "gear": {"kind": "multi_discrete", "nvec": [2, 3]},
        "aim": {"kind": "box", "shape": [2, 1], "low": [-2.0, 0.0], "high": [2.0, 10.0]},
        "button": {"kind": "discrete", "n": 2},
    },
}


def test_P6_a_mixed_action_is_a_dict_of_its_parts():
    game = GameSpaces(described(PLAIN, MIXED))
    assert isinstance(game.action, spaces.Dict) and list(game.action) == ["aim", "button", "gear"]
    one = {"gear": np.array([1, 2]), "aim": np.array([[1.0], [5.0]]), "button": 1}
    assert game.action.contains(
        {key: np.asarray(value, game.action[key].dtype) for key, value in one.items()}
    )
    sent = game.actions(together([one, {**one, "button": 0, "aim": [[-2], [10]]}]), 2)
    # Choices by name, then the box in unit space.
    assert (sent.dtype, sent.tolist()) == (np.float32, [[1, 1, 2, 0.5, 0], [0, 1, 2, -1, 1]])


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"button": [2]}, "for button of Discrete"),
        ({"gear": [[0, 3]]}, "for gear of MultiDiscrete"),
        ({"aim": [[0.0]]}, "for aim of shape"),
        ({"else": [1]}, "actions of Dict"),
    ],
)
def test_a_part_of_a_mixed_action_that_is_none_is_named(change: dict, problem: str):
    good = {"gear": [[0, 1]], "aim": [[0.0, 1.0]], "button": [1]}
    with pytest.raises(ValueError, match=problem):
        GameSpaces(described(PLAIN, MIXED)).actions(good | change, 1)


def test_choices_of_any_whole_type_become_what_is_sent():
    game = GameSpaces(described(PLAIN, {"kind": "discrete", "n": 3}))
    for dtype in (np.int64, np.uint8, np.int32, bool):
        assert game.actions(np.array([1, 0], dtype), 2).dtype == np.int32
    pairs = GameSpaces(described(PLAIN, {"kind": "multi_discrete", "nvec": [2, 3]}))
    assert pairs.actions(np.array([[1, 2]]), 1).tolist() == [[1, 2]]


def test_a_game_of_several_agents_is_refused_and_what_plays_it_is_said():
    with pytest.raises(ConfigurationError, match=r"3 agents.*\n.*the other one"):
        require_one_agent(described(PLAIN, {"kind": "discrete", "n": 3}, num_agents=3), "use the other one")
