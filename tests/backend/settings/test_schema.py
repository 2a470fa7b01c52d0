import json
import re
from typing import Any

import pytest
from pydantic import BaseModel

from attract.settings.run import RunSettings
from attract.settings.schema import COMMON, run_settings_schema, setting_paths

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
