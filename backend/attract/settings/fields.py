"""Reads the annotation of a setting: whether it is a section, and whether it may be unset."""

from collections.abc import Mapping
from types import NoneType
from typing import Any, Final, Literal, cast, get_args, get_origin

from pydantic import BaseModel

UNSET_TEXTS: Final = ("none", "null")
"""Texts that unset a setting, in order of preference."""


def section_of(annotation: Any) -> type[BaseModel] | None:
    """The class of an annotation `X` or `X | None` that is a section of settings."""
    kinds = (annotation, *get_args(annotation)) if may_be_unset(annotation) else (annotation,)
    return next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)), None)


def may_be_unset(annotation: Any) -> bool:
    """Whether the value may be None."""
    return NoneType in get_args(annotation)


def unset_text(annotation: Any) -> str | None:
    """The text that unsets such a setting: `none`, or `null` where `none` is one of its choices.

    None: it cannot be unset.
    """
    if not may_be_unset(annotation):
        return None
    choices = [
        choice for kind in get_args(annotation) if get_origin(kind) is Literal for choice in get_args(kind)
    ]
    return next(text for text in UNSET_TEXTS if text not in choices)


def with_unset(model: type[BaseModel], given: Mapping[str, Any]) -> dict[str, Any]:
    """Nested settings of this class, with None for each text that means None; nothing is checked."""
    found = dict(given)
    for name, value in given.items():
        field = model.model_fields.get(name)
        if field is None:
            continue
        section = section_of(field.annotation)
        if section is not None and isinstance(value, Mapping):
            found[name] = with_unset(section, cast("Mapping[str, Any]", value))
        elif isinstance(value, str) and (text := value.strip().lower()) in UNSET_TEXTS:
            first = unset_text(field.annotation)
            found[name] = (
                None if first is not None and text in UNSET_TEXTS[UNSET_TEXTS.index(first) :] else value
            )
    return found
