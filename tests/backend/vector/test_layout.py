"""Shapes and dtypes of a game's slots, as the store has them."""

import pytest

from attract.errors import ConfigurationError
from attract.schema.spaces import BoxSpace, DictSpace, DiscreteSpace, MultiDiscreteSpace
from attract.vector.layout import VectorLayout
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
