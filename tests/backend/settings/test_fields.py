"""Fields of settings: what they take, how a refusal reads, and their schema."""

import json
import re
from typing import Annotated, Any, ClassVar, Literal

import pytest
from pydantic import BaseModel, Field, ValidationError

from attract.errors import ConfigurationError
from attract.settings.base import Fraction, Positive, Settings, split_names
from attract.settings.errors import dotted, refusal
from attract.settings.fields import may_be_unset, section_of, unset_text, with_unset
from attract.settings.run import RunSettings
from attract.settings.schema import COMMON, run_settings_schema, setting_paths


class Kitchen(Settings):
    section: ClassVar[str] = "kitchen"

    ovens: Positive = 1
    """How many."""
    heat: Annotated[float, Field(ge=0)] = 0.5
    share: Fraction = 0.25


class Plain(Settings):
    ovens: Positive = 1


def refused_text(settings: type[Settings], given: dict[str, Any]) -> str:
    with pytest.raises(ConfigurationError) as refused:
        settings.from_mapping(given)
    return str(refused.value)


def test_settings_are_taken_over_and_do_not_change():
    kitchen = Kitchen.from_mapping({"ovens": 3})
    assert (kitchen.ovens, kitchen.heat) == (3, 0.5)
    with pytest.raises(ValidationError, match="frozen"):
        kitchen.ovens = 2  # type: ignore[misc]


def test_a_problem_is_named_by_its_section_and_the_nearest_name_is_offered():
    said = refused_text(Kitchen, {"oven": 3})
    assert "kitchen.oven" in said
    assert "ovens" in said
    assert "kitchen." not in refused_text(Plain, {"ovens": 0})


def test_each_problem_of_several_is_named():
    said = refused_text(Kitchen, {"ovens": 0, "heat": -1})
    assert "kitchen.ovens" in said
    assert "kitchen.heat" in said


@pytest.mark.parametrize("heat", [float("inf"), float("nan")])
def test_a_number_is_finite(heat: float):
    assert "kitchen.heat" in refused_text(Kitchen, {"heat": heat})


@pytest.mark.parametrize("wrong", [{"share": -0.1}, {"share": 1.1}, {"ovens": 0}, {"ovens": 2**53}])
def test_fractions_and_counts_keep_to_their_limits(wrong: dict[str, float]):
    assert f"kitchen.{next(iter(wrong))}" in refused_text(Kitchen, wrong)
    assert Kitchen(share=1.0, ovens=2**53 - 1).share == 1.0


def test_a_setting_is_described_by_the_text_below_it():
    assert Kitchen.model_fields["ovens"].description == "How many."


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ("scout, keeper,keeper", ("scout", "keeper", "keeper")),
        (["scout,keeper"], ("scout", "keeper")),
        (("scout", "keeper"), ("scout", "keeper")),
        ("", ("",)),
        ([1, "a"], (1, "a")),
        (None, None),
        (7, ("7",)),
        (True, True),
    ],
)
def test_names_come_as_a_list_or_with_commas(given: Any, names: Any):
    assert split_names(given) == names


class Inner(Settings):
    size: Annotated[int, Field(ge=1)] | None = 3
    kind: Literal["none", "lstm"] | None = None
    name: str = "x"


class Outer(Settings):
    inner: Inner = Inner()
    other: Inner | None = None
    many: tuple[Inner, ...] = ()


def test_a_section_is_a_class_of_settings_and_no_list_of_them() -> None:
    annotations = {name: field.annotation for name, field in Outer.model_fields.items()}
    assert {name: section_of(kind) for name, kind in annotations.items()} == {
        "inner": Inner,
        "other": Inner,
        "many": None,
    }
    assert [may_be_unset(kind) for kind in annotations.values()] == [False, True, False]


def test_the_text_that_unsets_is_no_choice() -> None:
    texts = {name: unset_text(field.annotation) for name, field in Inner.model_fields.items()}
    assert texts == {"size": "none", "kind": "null", "name": None}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"inner": {"size": "none"}}, {"inner": {"size": None}}),
        ({"inner": {"size": " Null "}}, {"inner": {"size": None}}),
        ({"inner": {"kind": "none", "name": "none"}}, {"inner": {"kind": "none", "name": "none"}}),
        ({"inner": {"kind": "null"}}, {"inner": {"kind": None}}),
        ({"other": "none", "inner": "none"}, {"other": None, "inner": "none"}),
        ({"unknown": "none", "many": [{"size": "none"}]}, {"unknown": "none", "many": [{"size": "none"}]}),
    ],
)
def test_texts_that_unset_become_none_where_something_may_be_unset(
    given: dict[str, object], expected: dict[str, object]
) -> None:
    assert with_unset(Outer, given) == expected


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


SCHEMA = run_settings_schema()
SETTINGS = dict(setting_paths(SCHEMA))


def value_of(path: str) -> Any:
    value: Any = RunSettings()
    for name in path.split("."):
        assert isinstance(value, BaseModel)
        assert name in type(value).model_fields, f"there is no setting {path}"
        value = getattr(value, name)
    return value


def test_every_setting_of_a_run_is_there_with_its_default():
    def leaves(model: BaseModel, prefix: str = "") -> set[str]:
        found: set[str] = set()
        for name in type(model).model_fields:
            value = getattr(model, name)
            below = isinstance(value, BaseModel)
            found |= leaves(value, f"{prefix}{name}.") if below else {f"{prefix}{name}"}
        return found

    assert set(SETTINGS) == leaves(RunSettings())
    for path, part in SETTINGS.items():
        assert part["default"] == json.loads(json.dumps(value_of(path))), path


def test_nothing_is_left_to_be_looked_up():
    assert "$ref" not in json.dumps(SCHEMA)


def test_limits_are_those_the_settings_check():
    assert SETTINGS["collection.num_workers"]["minimum"] == 1
    assert SETTINGS["collection.num_workers"]["maximum"] == 1024
    assert SETTINGS["ppo.learning_rate"]["exclusiveMinimum"] == 0
    assert SETTINGS["collection.schedule"]["enum"] == ["sync", "overlap", "async"]


@pytest.mark.parametrize("path", SETTINGS)
def test_every_setting_is_titled_and_explained_without_rule_ids(path: str):
    part = SETTINGS[path]
    assert part["title"][0].isupper()
    assert "_" not in part["title"]
    assert len(part["description"]) > 10
    assert not re.search(r"\b[A-Z]\d+\b|`|None:", part["description"]), part["description"]


@pytest.mark.parametrize("path", COMMON)
def test_what_a_form_shows_first_exists(path: str):
    value_of(path)
