from typing import Any

import pytest

from attract.errors import ConfigurationError
from attract.settings.run import RunSettings, merge_settings

UNTIL = {"metric": "game/food", "at_least": 5}


def refusal(data: dict[str, Any]) -> str:
    with pytest.raises(ConfigurationError) as caught:
        RunSettings.from_mapping(data)
    return str(caught.value)


def lessons(*given: dict[str, Any]) -> dict[str, Any]:
    return {"curriculum": {"lessons": list(given)}}


def test_a_bare_number_is_a_constant_and_each_kind_is_read():
    settings = RunSettings.from_mapping(
        {
            "parameters": {
                "size": 6,
                "speed": {"uniform": [1, 2]},
                "wind": {"normal": [0, 0.5]},
                "gap": {"multi_range": [[1, 2], [5, 6]]},
            }
        }
    )
    found = {name: (parameter.kind, parameter.ranges) for name, parameter in settings.parameters.items()}
    assert found == {
        "size": ("constant", ((6.0, 6.0),)),
        "speed": ("uniform", ((1.0, 2.0),)),
        "wind": ("normal", ()),
        "gap": ("multi_range", ((1.0, 2.0), (5.0, 6.0))),
    }


def test_what_is_written_to_a_run_is_read_back_the_same():
    settings = RunSettings.from_mapping(
        {
            "parameters": {"size": {"uniform": [6, 20]}, "wind": 0},
            **lessons({"name": "small", "until": UNTIL}, {"name": "large", "parameters": {"size": 12}}),
            "callbacks": {"evaluation": {"every_steps": 1000, "modes": ["sampled"]}},
        }
    )
    written = settings.model_dump(mode="json")
    assert written["parameters"] == {"size": {"uniform": [6.0, 20.0]}, "wind": {"constant": 0.0}}
    assert RunSettings.from_mapping(merge_settings(written, {})) == settings


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"parameters": {"size": {"uniform": [6, 20], "constant": 7}}}, "got constant and uniform"),
        ({"parameters": {"size": {}}}, "got none"),
        ({"parameters": {"size": {"uniform": [20, 6]}}}, "[20, 6] has its low above its high"),
        ({"parameters": {"size": {"normal": [1, -1]}}}, "standard deviation -1 is below 0"),
        ({"parameters": {"size": {"unform": [6, 20]}}}, "did you mean 'uniform'?"),
        (lessons({"name": "a"}, {"name": "b"}), "'a' has no `until`"),
        (lessons({"name": "a", "until": UNTIL}), "'a' is the last"),
        (lessons({"name": "a", "until": UNTIL}, {"name": "a"}), "two lessons are called 'a'"),
        (lessons({"name": "a", "back": UNTIL}), "'a' is the first"),
        (lessons({"name": "a b"}), "curriculum.lessons.0.name"),
        (lessons({"name": "a", "until": {"metric": "game/food"}}), "exactly one of at_least and at_most"),
        ({"callbacks": {"evaluation": {}}}, "exactly one of every_episodes and every_steps"),
        ({"federated": {"rendezvous": "a:1", "rank": 2, "world_size": 2}}, "ranks go from 0"),
        ({"federated": {"rendezvous": "nowhere", "rank": 0, "world_size": 2}}, "federated.rendezvous"),
    ],
)
def test_what_cannot_work_is_refused_with_what_would(data: dict[str, Any], words: str):
    assert words in refusal(data)


@pytest.mark.parametrize(
    ("until", "back", "overlap"),
    [
        ({"at_least": 5}, {"at_most": 2}, False),
        ({"at_least": 5}, {"at_most": 5}, True),
        ({"at_least": 5}, {"at_most": 7}, True),
        ({"at_least": 5}, {"at_least": 9}, True),
        ({"at_most": -3}, {"at_least": -1}, False),
    ],
)
def test_thresholds_that_one_value_meets_both_are_refused(
    until: dict[str, float], back: dict[str, float], overlap: bool
):
    middle = {
        "name": "b",
        "until": {"metric": "game/food", **until},
        "back": {"metric": "game/food", **back},
    }
    data = lessons({"name": "a", "until": UNTIL}, middle, {"name": "c"})
    if overlap:
        assert "`until` and `back` overlap" in refusal(data)
    else:
        RunSettings.from_mapping(data)
