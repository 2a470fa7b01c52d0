"""Error texts for settings: the name as the user wrote it, the given value, and valid ones."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast, get_args

from pydantic import BaseModel, TypeAdapter, ValidationError

from attract.errors import ConfigurationError, nearest_name
from attract.settings.fields import unset_text

Path = tuple[str | int, ...]
"""Path of a setting: names of sections and fields, and indices of lists."""
Spell = Callable[[Path], str]
"""Writes a path as the user wrote it: `ppo.gamma`, `--ppo.gamma`, `ATTRACT_PPO_GAMMA`, ..."""

WHOLE = ("int_parsing", "int_type", "int_from_float", "int_parsing_size")
NUMBER = ("float_parsing", "float_type", "finite_number")
BOUND = ("greater_than", "greater_than_equal", "less_than", "less_than_equal")
TRUTH = ("bool_parsing", "bool_type")
MAPPING = ("model_type", "dict_type", "model_attributes_type")
LARGEST_NAMED = 1_000_000
"""An upper bound beyond this is named only where it was exceeded."""
NAME = re.compile(r"[a-z][a-z_]*(?:\.[a-z][a-z_]*)*")


def dotted(path: Path) -> str:
    """A setting's name in YAML, such as `ppo.gamma`."""
    return ".".join(str(part) for part in path)


def refusal(
    error: ValidationError, model: type[BaseModel], data: Any, spell: Spell = dotted
) -> ConfigurationError:
    """The error to raise for settings that pydantic refused.

    Args:
        error: what pydantic found.
        model: the settings' class.
        data: what was validated, nested mappings of plain values.
        spell: how a setting was written.
    """
    lines: list[str] = []
    fixes: list[str] = []
    problems: list[tuple[str, str]] = []
    for detail in error.errors(include_url=False):
        about, problem, fix = _explain(dict(detail), model, data)
        subject = " and ".join(spell(path) for path in about)
        line = f"{subject}: {problem}" if subject else problem
        if line in lines:
            continue
        lines.append(line)
        fixes += [fix] if fix else []
        whole = f"{problem}; {fix}" if fix else problem
        problems += [(dotted(path), whole) for path in about] or [("", whole)]
    return ConfigurationError("\n".join(lines), fix="\n  ".join(fixes) or None, problems=problems)


def _explain(
    detail: Mapping[str, Any], model: type[BaseModel], data: Any
) -> tuple[list[Path], str, str | None]:
    """(what it is about, what is wrong with it, what to do) of one of pydantic's errors."""
    kind, path, given = str(detail["type"]), cast("Path", detail["loc"]), detail["input"]
    if kind == "extra_forbidden":
        names = _fields(model, path[:-1])
        near = nearest_name(str(path[-1]), names)
        fix = f"did you mean {near!r}?" if near else f"valid names: {', '.join(sorted(names))}"
        return [path], "there is no such setting", fix
    if kind == "missing":
        return [path], "is required and was not given", None
    if kind == "value_error":
        text = str(detail["msg"]).removeprefix("Value error, ")
        return _mentioned(text, path, model, data) or ([path] if path else []), text, None
    if kind == "model_type" and (names := sorted(_fields(model, path))):
        return [path], f"has settings of its own: {', '.join(names)} (got {given!r})", None
    annotation = _annotation(model, path)
    wanted, fix = _wanted(kind, detail, _schema(model, path), unset_text(annotation))
    return [path], f"{wanted} (got {given!r})", fix


def _wanted(
    kind: str, detail: Mapping[str, Any], schema: Mapping[str, Any], unset: str | None
) -> tuple[str, str | None]:
    """Description of valid values, from the error's type, the field's JSON schema and unsetting text."""
    if kind in (*WHOLE, *NUMBER, *BOUND):
        number = _number(schema, exceeded=kind.startswith("less_than"))
        return number if unset is None else f"{number}, or {unset}", None
    if kind == "literal_error":
        choices = [str(choice) for choice in schema.get("enum", [])] or re.findall(
            r"'([^']*)'", str(detail["ctx"]["expected"])
        )
        near = nearest_name(str(detail["input"]), choices)
        either = _either(choices if unset is None else [*choices, unset])
        return f"must be {either}", None if near is None else f"did you mean {near!r}?"
    if kind in TRUTH:
        return "must be true or false", None
    if kind in MAPPING:
        return "must be a mapping of names to values", None
    if kind == "tuple_type":
        return "must be a list", None
    if kind == "string_pattern_mismatch":
        examples = schema.get("examples") or []
        return (
            f"must look like {examples[0]!r}" if examples else f"must match {detail['ctx']['pattern']}"
        ), None
    text = str(detail["msg"]).partition(" after validation")[0]
    return re.sub(r"^(?:Input|String|Tuple|List|Dictionary|Value) should", "must", text), None


def _number(schema: Mapping[str, Any], *, exceeded: bool) -> str:
    what = "a whole number" if schema.get("type") == "integer" else "a number"
    low, above = schema.get("minimum"), schema.get("exclusiveMinimum")
    high, below = schema.get("maximum"), schema.get("exclusiveMaximum")
    if high is not None and abs(high) > LARGEST_NAMED and not exceeded:
        high = None
    low, above, high, below = (_plain(limit) for limit in (low, above, high, below))
    if low is not None and high is not None:
        return f"must be {what} from {low} to {high}"
    words = (("at least", low), ("above", above), ("at most", high), ("below", below))
    bounds = [f"{word} {bound}" for word, bound in words if bound is not None]
    return f"must be {what}" + (f", {' and '.join(bounds)}" if bounds else "")


def _plain(bound: float | None) -> str | None:
    return None if bound is None else str(int(bound)) if bound == int(bound) else f"{bound:g}"


def _either(choices: Sequence[str]) -> str:
    return choices[0] if len(choices) == 1 else f"{', '.join(choices[:-1])} or {choices[-1]}"


def _mentioned(text: str, path: Path, model: type[BaseModel], data: Any) -> list[Path]:
    """Settings named in a message about the section at `path` that were given there."""
    found: list[Path] = []
    for name in NAME.findall(text):
        place = (*path, *name.split("."))
        is_setting = place[-1] in _fields(model, place[:-1]) and not _fields(model, place)
        if place not in found and is_setting and _is_given(data, place):
            found.append(place)
    return found


def _is_given(data: Any, path: Path) -> bool:
    for part in path:
        if isinstance(data, Mapping) and part in data:
            data = cast("Mapping[Any, Any]", data)[part]
        elif isinstance(data, list | tuple) and isinstance(part, int) and part < len(cast("Any", data)):
            data = cast("Sequence[Any]", data)[part]
        else:
            return False
    return data is not None


def _fields(model: type[BaseModel], path: Path) -> set[str]:
    """Names of the settings of the section at `path`; empty where there is no section."""
    inner = _section(_annotation(model, path))
    return set() if inner is None else set(inner.model_fields)


def _annotation(model: type[BaseModel], path: Path) -> Any:
    """The annotation of what stands at `path`, None where there is nothing."""
    annotation: Any = model
    for part in path:
        inner = _section(annotation)
        if inner is None:
            return None
        if isinstance(part, str) and part in inner.model_fields:
            annotation = inner.model_fields[part].annotation
        # Else a place in a list or a key of a mapping: the section is that of its values.
    return annotation


def _section(annotation: Any) -> type[BaseModel] | None:
    """The settings class in an annotation such as `X`, `X | None`, `tuple[X, ...]` or `dict[str, X]`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for arg in get_args(annotation) if (found := _section(arg)) is not None), None)


def _schema(model: type[BaseModel], path: Path) -> dict[str, Any]:
    """JSON schema of the value at `path`, without the alternative null; empty where there is none."""
    whole = TypeAdapter(model).json_schema(mode="validation")
    definitions: Mapping[str, Any] = whole.get("$defs", {})
    found = _resolved(whole, definitions)
    for part in path:
        if isinstance(part, int):
            items = found.get("prefixItems")
            found = items[part] if items and part < len(items) else found.get("items", {})
        else:
            found = found.get("properties", {}).get(part) or found.get("additionalProperties") or {}
        found = _resolved(found, definitions)
    return found


def _resolved(schema: Any, definitions: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(schema, dict):
        return {}
    found = cast("dict[str, Any]", schema)
    for variant in found.get("anyOf", []):
        if variant.get("type") != "null":
            return _resolved(variant, definitions)
    if "$ref" in found:
        return _resolved(definitions[found["$ref"].rpartition("/")[2]], definitions)
    return found
