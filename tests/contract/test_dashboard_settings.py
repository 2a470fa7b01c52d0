"""The start form offers settings that exist, and shows the values used when nothing is sent."""

import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from attract.settings import RunSettings

FORM = Path(__file__).resolve().parents[2] / "web/dashboard/src/state/settings-form.ts"
FIELDS = re.findall(r'path: "([^"]+)".*?usual: "([^"]+)"', FORM.read_text(), re.DOTALL)
UNSET = {"no goal", "no limit", "one segment"}


def _default(path: str) -> Any:
    value: Any = RunSettings()
    for name in path.split("."):
        assert isinstance(value, BaseModel)
        assert name in type(value).model_fields, f"there is no setting {path}"
        value = getattr(value, name)
    return value


def test_the_form_was_read() -> None:
    assert len(FIELDS) >= 10


@pytest.mark.parametrize(("path", "usual"), FIELDS)
def test_the_usual_value_is_the_default(path: str, usual: str) -> None:
    default = _default(path)
    if usual in UNSET:
        assert default is None
    elif usual == "one for all":
        assert default == ()
    elif isinstance(default, tuple):
        assert [float(part) for part in usual.split(",")] == list(default)
    elif isinstance(default, str):
        assert usual == default
    else:
        assert float(usual) == default
