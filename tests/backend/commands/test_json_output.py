"""One object on one line, and what an error has in it."""

import json

import pytest

from attract.commands.json_output import MAX_ERROR_LENGTH, answer_to, is_wanted, json_text
from attract.errors import ConfigurationError, FederationError, GameError, LearnerError, QueryError
from attract.schema.answers import HealthAnswer, ImitateAnswer


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("check snake --json", True),
        ("check --json=true snake", True),
        ("train snake --json-lines", True),
        ("check --json=false snake", False),
        ("check snake", False),
        ("check -- --json", False),
        ("check --jsonish", False),
    ],
)
def test_json_is_wanted_by_its_options_alone(words: str, wanted: bool) -> None:
    assert is_wanted(words.split()) is wanted


def test_an_answer_is_one_line_of_ascii_and_valid_json() -> None:
    text = json_text(HealthAnswer(url="\x9b31m\n\u2028", ok=False, problem=None))
    assert text.isascii() and "\n" not in text
    assert json.loads(text)["url"] == "\x9b31m\n\u2028"
    metrics = {"a": float("nan"), "b": float("-inf"), "c": 3.0, "d": 0.5, "e": 1e300}
    answer = ImitateAnswer(
        run_id="r",
        demonstrations=1,
        steps=1,
        return_mean=float("inf"),
        policy_version=0,
        wall_seconds=2.0,
        export="e",
        metrics=metrics,
    )
    assert '"c":3,"d":0.5' in json_text(answer)
    found = json.loads(json_text(answer), parse_constant=pytest.fail)
    assert found["metrics"] == {"a": None, "b": None, "c": 3, "d": 0.5, "e": 1e300}
    assert found["return_mean"] is None


def test_an_error_has_its_code_its_place_and_what_to_do() -> None:
    given = ConfigurationError("must be 1", setting="--seed", fix="--seed 1")
    answer = answer_to(given, 2)
    assert (answer.error, answer.code, answer.setting) == ("must be 1", "configuration", "--seed")
    assert (answer.fix, answer.exit_code) == ("--seed 1", 2)
    # The first of several settings; without a fix of its own, that of its kind.
    several = answer_to(ConfigurationError("a, b", problems=[("ppo.gamma", "a"), ("seed", "b")]), 2)
    assert several.setting == "ppo.gamma" and "help" in several.fix
    assert answer_to(QueryError("no field", 3), 2).error == "character 4: no field"
    assert answer_to(GameError("hang", "it never came back"), 1).code == "game-hang"
    assert answer_to(FederationError("gone"), 1).code == "federation"
    assert "attract doctor" in answer_to(LearnerError("gone"), 1).fix


def test_errors_that_are_not_ours_have_a_code_too() -> None:
    assert answer_to(KeyboardInterrupt(), 130).code == "interrupted"
    full = answer_to(OSError(28, "No space left on device", "a.json"), 1)
    assert full.code == "file-system" and "a.json" in full.error
    assert answer_to(ZeroDivisionError("by zero"), 1).code == "internal"


def test_a_long_error_is_cut() -> None:
    answer = answer_to(ConfigurationError("x" * 9_000, setting="y" * 9_000, fix="z" * 9_000), 2)
    assert [len(text or "") for text in (answer.error, answer.setting, answer.fix)] == [MAX_ERROR_LENGTH] * 3
    assert answer.error.endswith("...")
