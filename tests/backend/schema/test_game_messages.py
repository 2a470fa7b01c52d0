"""Limits of what browsers say of a game."""

from typing import Any

import pytest
from pydantic import ValidationError

from attract.schema.game_messages import (
    CheckGame,
    GameChecked,
    GameFailed,
    GameFinding,
    GameLog,
    MethodSource,
)
from fake_worker import counting_game

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
