"""A game description is refused when its numbers contradict each other."""

from typing import Any

import pytest
from pydantic import ValidationError

from attract.schema.game import GameDescription, GameReference

PLAIN: dict[str, Any] = {
    "id": "Counting-v1",
    "tick_seconds": 1 / 60,
    "seconds_per_step": 6 / 60,
    "ticks_per_step": 6,
    "max_seconds": None,
    "max_steps": None,
    "observation": {"kind": "box", "shape": [1]},
    "action": {"kind": "discrete", "n": 2},
}


def test_T1_ticks_per_step_must_be_the_ratio_of_step_and_tick():
    assert GameDescription.model_validate(PLAIN).ticks_per_step == 6
    # 0.1 / (1/60) is 6; within 1e-6 is rounding, beyond it is another game
    assert GameDescription.model_validate(PLAIN | {"seconds_per_step": 0.1 + 1e-9}).ticks_per_step == 6
    for wrong in ({"ticks_per_step": 7}, {"seconds_per_step": 0.1 + 1e-7}, {"tick_seconds": 1 / 61}):
        with pytest.raises(ValidationError, match="T1: seconds_per_step / tick_seconds is"):
            GameDescription.model_validate(PLAIN | wrong)


@pytest.mark.parametrize(
    "wrong",
    [
        {"tick_seconds": 0},
        {"tick_seconds": float("nan")},
        {"max_seconds": float("inf")},
        {"max_steps": 0},
        {"num_agents": 0},
        {"num_agents": 257},
        {"contract_version": 2},
        {"action": {"kind": "dict", "spaces": {}}},
        {"observation": {"kind": "discrete", "n": 2}},
        {"metrics": {"food": "median"}},
        {"fps": 60},
        {"picture_stacks": {"obs": 1}},
        {"picture_stacks": {"obs": 17}},
    ],
)
def test_what_no_game_can_mean_is_refused(wrong: dict[str, Any]):
    with pytest.raises(ValidationError):
        GameDescription.model_validate(PLAIN | wrong)


def pixels(*shape: int) -> dict[str, Any]:
    return {"kind": "box", "dtype": "uint8", "shape": list(shape)}


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"observation": pixels(4, 4, 6), "picture_stacks": {"eye": 2}}, "no observation 'eye'; there are"),
        ({"observation": pixels(4, 4, 6), "picture_stacks": {"obs": 4}}, "6 channels are not 4 pictures"),
        ({"observation": pixels(24), "picture_stacks": {"obs": 4}}, "must be a uint8 box of shape"),
        (
            {"observation": {"kind": "box", "shape": [4, 4, 6]}, "picture_stacks": {"obs": 2}},
            "must be a uint8 box of shape",
        ),
        (
            {
                "observation": {"kind": "dict", "spaces": {"eye": {"kind": "discrete", "n": 2}}},
                "picture_stacks": {"eye": 2},
            },
            "must be a uint8 box of shape",
        ),
    ],
)
def test_a_stack_of_pictures_that_its_space_cannot_be_is_refused(wrong: dict[str, Any], reason: str):
    with pytest.raises(ValidationError, match=reason):
        GameDescription.model_validate(PLAIN | wrong)


def test_a_stack_of_pictures_is_a_box_of_bytes():
    alone = {"observation": pixels(4, 4, 6), "picture_stacks": {"obs": 3}}
    beside = {
        "observation": {"kind": "dict", "spaces": {"eye": pixels(4, 4, 6)}},
        "picture_stacks": {"eye": 2},
    }
    for right in (alone, beside):
        assert GameDescription.model_validate(PLAIN | right).picture_stacks == right["picture_stacks"]
    assert GameDescription.model_validate(PLAIN).picture_stacks == {}


def test_a_module_is_named_by_its_hash():
    with pytest.raises(ValidationError):
        GameReference(name="cartpole", sha256="A" * 64, url="games/x.js")
