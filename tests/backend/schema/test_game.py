"""Descriptions of games, and limits of what browsers say of them."""

from typing import Any

import pytest
from pydantic import ValidationError

from attract.schema.game import GameDescription, GameReference
from attract.schema.game_messages import (
    CheckGame,
    GameChecked,
    GameFailed,
    GameFinding,
    GameLog,
    MethodSource,
)
from fake_worker import counting_game

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


FAILED: dict[str, Any] = {"run_id": "run-1", "kind": "throw", "name": "Error", "text": "x", "stack": None}
FINDING = GameFinding(id="reward-constant", severity="warning", text="t", fix="f")


def test_a_failure_may_know_no_more_than_its_kind_and_text():
    failed = GameFailed.model_validate(FAILED)
    assert (failed.method, failed.worker_index, failed.slot_id, failed.seed) == (None, None, None, None)


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "melted"},
        {"text": "x" * 20_001},
        {"slot_id": -1},
        {"tick": -1},
        {"seed": {"low": -1, "high": 0}},
    ],
)
def test_hostile_06_a_failure_out_of_its_limits_is_refused(change: dict[str, Any]):
    with pytest.raises(ValidationError):
        GameFailed.model_validate(FAILED | change)


def test_hostile_06_a_line_of_the_game_and_a_methods_source_are_short():
    assert GameLog(run_id="r", level="warn", text="x" * 2_000).dropped == 0
    with pytest.raises(ValidationError):
        GameLog(run_id="r", level="warn", text="x" * 2_001)
    with pytest.raises(ValidationError):
        MethodSource(name="Catch.update", text="x" * 4_001)


def test_a_check_takes_a_while_and_never_long():
    game = counting_game()
    assert CheckGame(check_id=1, game=game, budget_seconds=60).budget_seconds == 60
    for wrong in (0.0, 60.1):
        with pytest.raises(ValidationError, match="budget_seconds"):
            CheckGame(check_id=1, game=game, budget_seconds=wrong)


def test_hostile_06_a_check_finds_at_most_two_hundred_things():
    checked: dict[str, Any] = {"check_id": 1, "description": None, "play": None, "unplayable": True}
    assert len(GameChecked(findings=[FINDING] * 200, seconds=1.0, **checked).findings) == 200
    with pytest.raises(ValidationError, match="findings"):
        GameChecked(findings=[FINDING] * 201, seconds=1.0, **checked)
