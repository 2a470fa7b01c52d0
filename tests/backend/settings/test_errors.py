"""Refusals in our own words: nothing of pydantic's, the name as it was written, what came, what works."""

import pytest
from pydantic import ValidationError

from attract.settings.errors import dotted, refusal
from attract.settings.run import RunSettings

TEXTS = [
    ({"seed": -1}, "seed: must be a whole number, at least 0 (got -1)"),
    ({"seed": 2**60}, f"seed: must be a whole number from 0 to {2**53 - 1} (got {2**60})"),
    ({"seed": 1.5}, "seed: must be a whole number, at least 0 (got 1.5)"),
    ({"until_return": "abc"}, "until_return: must be a number, or none (got 'abc')"),
    ({"until_return": float("inf")}, "until_return: must be a number, or none (got inf)"),
    ({"ppo": {"gamma": 1.5}}, "ppo.gamma: must be a number from 0 to 1 (got 1.5)"),
    ({"ppo": {"learning_rate": 0}}, "ppo.learning_rate: must be a number, above 0 (got 0)"),
    ({"ppo": {"target_kl": "x"}}, "ppo.target_kl: must be a number, above 0, or none (got 'x')"),
    ({"ppo": {"normalize_advantage": "maybe"}}, "must be true or false (got 'maybe')"),
    (
        {"policy": {"cnn": "smal"}},
        "policy.cnn: must be small or impala (got 'smal')\n  did you mean 'small'?",
    ),
    (
        {"policy": {"hidden_sizes": [8, 0]}},
        "policy.hidden_sizes.1: must be a whole number from 1 to 16384 (got 0)",
    ),
    ({"collection": {"seats": ["a/b"]}}, "collection.seats.0: must look like 'scout' (got 'a/b')"),
    ({"evaluation": 3}, "evaluation: has settings of its own: deterministic, episodes, seed (got 3)"),
    ({"parameters": 3}, "parameters: must be a mapping of names to values (got 3)"),
    ({"federated": {"rank": 0, "world_size": 2}}, "federated.rendezvous: is required and was not given"),
    ({"ppo": {"gama": 1}}, "ppo.gama: there is no such setting\n  did you mean 'gamma'?"),
    ({"curriculum": {"lessons": [{"nam": "a"}]}}, "curriculum.lessons.0.nam: there is no such setting"),
    (
        {"callbacks": {"evaluation": {"every_steps": 3, "modes": []}}},
        "callbacks.evaluation.modes: must have at least 1 item (got ())",
    ),
]


@pytest.mark.parametrize(("given", "expected"), TEXTS)
def test_a_value_that_cannot_be_is_told_in_our_words(given: dict[str, object], expected: str) -> None:
    text = _refused(given)
    assert expected in text
    assert "pydantic" not in text and "Input should" not in text and "http" not in text


def test_settings_that_do_not_fit_each_other_are_both_named() -> None:
    text = _refused({"ppo": {"horizon": 32, "rollout_steps": 80}})
    assert text.startswith("ppo.rollout_steps and ppo.horizon: ")
    assert "64 or 96" in text
    # Two settings are mentioned; only the one that was given is at fault.
    assert _refused({"ppo": {"rollout_steps": 80}}).startswith("ppo.rollout_steps: ")


def test_every_problem_is_told_and_a_form_can_tell_them_apart() -> None:
    with pytest.raises(ValidationError) as caught:
        RunSettings.model_validate({"seed": -1, "ppo": {"gama": 1, "gamma": 2}})
    error = refusal(caught.value, RunSettings, {}, lambda path: f"<{dotted(path)}>")
    assert [line.split(":")[0] for line in error.problem.splitlines()] == [
        "<seed>",
        "<ppo.gamma>",
        "<ppo.gama>",
    ]
    assert [setting for setting, _ in error.problems] == ["seed", "ppo.gamma", "ppo.gama"]
    assert error.problems[2][1] == "there is no such setting; did you mean 'gamma'?"


def _refused(given: dict[str, object]) -> str:
    with pytest.raises(ValidationError) as caught:
        RunSettings.model_validate(given)
    return str(refusal(caught.value, RunSettings, given))
