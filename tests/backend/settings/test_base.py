"""What all settings have in common, on a section of its own."""

from typing import Annotated, Any, ClassVar

import pytest
from pydantic import Field, ValidationError

from attract.errors import ConfigurationError
from attract.settings.base import Fraction, Positive, Settings, split_names


class Kitchen(Settings):
    section: ClassVar[str] = "kitchen"

    ovens: Positive = 1
    """How many."""
    heat: Annotated[float, Field(ge=0)] = 0.5
    share: Fraction = 0.25


class Plain(Settings):
    ovens: Positive = 1


def refusal(settings: type[Settings], given: dict[str, Any]) -> str:
    with pytest.raises(ConfigurationError) as refused:
        settings.from_mapping(given)
    return str(refused.value)


def test_settings_are_taken_over_and_do_not_change():
    kitchen = Kitchen.from_mapping({"ovens": 3})
    assert (kitchen.ovens, kitchen.heat) == (3, 0.5)
    with pytest.raises(ValidationError, match="frozen"):
        kitchen.ovens = 2  # type: ignore[misc]


def test_a_problem_is_named_by_its_section_and_the_nearest_name_is_offered():
    said = refusal(Kitchen, {"oven": 3})
    assert "kitchen.oven" in said
    assert "ovens" in said
    assert "kitchen." not in refusal(Plain, {"ovens": 0})


def test_each_problem_of_several_is_named():
    said = refusal(Kitchen, {"ovens": 0, "heat": -1})
    assert "kitchen.ovens" in said
    assert "kitchen.heat" in said


@pytest.mark.parametrize("heat", [float("inf"), float("nan")])
def test_a_number_is_finite(heat: float):
    assert "kitchen.heat" in refusal(Kitchen, {"heat": heat})


@pytest.mark.parametrize("wrong", [{"share": -0.1}, {"share": 1.1}, {"ovens": 0}, {"ovens": 2**53}])
def test_fractions_and_counts_keep_to_their_limits(wrong: dict[str, float]):
    assert f"kitchen.{next(iter(wrong))}" in refusal(Kitchen, wrong)
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
        (7, 7),
    ],
)
def test_names_come_as_a_list_or_with_commas(given: Any, names: Any):
    assert split_names(given) == names
