"""The run settings as one JSON Schema for forms: titles, help, defaults and limits of the classes."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from attract.settings.run import RunSettings

COMMON: Final = ("collection.num_workers", "collection.instances_per_worker", "until_return", "total_steps")
"""Paths of the settings that a form shows first."""

RULE = re.compile(r"\s*\((?:rules? )?[A-Z]\d+(?:, [A-Z]\d+)*\)|\b[Rr]ules? [A-Z]\d+(?:, [A-Z]\d+)*[:,]\s*")
"""Rule ids, which a form omits."""


def run_settings_schema() -> dict[str, Any]:
    """JSON Schema of `RunSettings`, every reference replaced by what it refers to.

    Sections are objects with `properties`; every setting has `title`, `description`, `default` and its
    limits. `null` stands beside another kind in `anyOf`. A setting that is a list of sections or a mapping
    is no section.
    """
    schema = RunSettings.model_json_schema()
    definitions = schema.pop("$defs", {})
    whole = _inlined(schema, definitions)
    _describe(whole)
    return whole


def setting_paths(schema: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Each setting's path (`ppo.learning_rate`) and its own schema, in order."""
    for name, part in schema["properties"].items():
        if "properties" in part:
            yield from setting_paths(part, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", part


def _inlined(node: Any, definitions: Mapping[str, Any]) -> Any:
    if isinstance(node, list):
        return [_inlined(item, definitions) for item in cast("list[Any]", node)]
    if not isinstance(node, dict):
        return node
    given = cast("dict[str, Any]", node)
    reference = given.get("$ref")
    if reference is None:
        return {key: _inlined(value, definitions) for key, value in given.items()}
    below = definitions[reference.rsplit("/", 1)[-1]]
    return _inlined({**below, **{key: value for key, value in given.items() if key != "$ref"}}, definitions)


def _describe(section: dict[str, Any]) -> None:
    for part in section["properties"].values():
        part["description"] = _plain(part.get("description", ""))
        if "properties" in part:
            _describe(part)


def _plain(text: str) -> str:
    """A docstring as help text of a form."""
    plain = " ".join(RULE.sub("", text).split()).replace("; None:", ". None:").replace("None:", "Empty:")
    # A text that begins with a name in code keeps its case.
    return (plain[:1].upper() + plain[1:]).replace("`", "")
