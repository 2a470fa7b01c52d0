"""Annotations of settings: what is a section, what may be unset and by which text."""

from typing import Annotated, Literal

import pytest
from pydantic import Field

from attract.settings.base import Settings
from attract.settings.fields import may_be_unset, section_of, unset_text, with_unset


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
