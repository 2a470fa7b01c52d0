"""Reads a YAML file of settings, from whomever it may be, and names what is wrong with it."""

from pathlib import Path
from typing import Any, Final, cast

import yaml

from attract.errors import ConfigurationError

MAX_BYTES: Final = 1 << 20
MAX_DEPTH: Final = 64
"""Settings nest some five deep; the parser's time grows with the square of the depth of brackets."""


def read_settings_file(path: Path) -> dict[str, Any]:
    """The nested settings that a file gives, unchecked but that their names are texts; {} for an empty one.

    Raises: ConfigurationError: when it cannot be read, is no YAML, nests too deep, or is no mapping.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigurationError(f"cannot be read: {error.strerror}", setting=str(path)) from None
    return parse_settings(data, str(path))


def parse_settings(data: bytes, place: str) -> dict[str, Any]:
    """The same of a file's bytes; `place` names it. Raises: ConfigurationError: as `read_settings_file`."""
    if len(data) > MAX_BYTES:
        raise ConfigurationError(f"has {len(data)} bytes, at most {MAX_BYTES} are read", setting=place)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"is no text in UTF-8: byte {error.start}", setting=place) from None
    if _bracket_depth(text) > MAX_DEPTH:
        raise _too_deep(place)
    try:
        found: Any = yaml.safe_load(text)
    except RecursionError:
        raise _too_deep(place) from None
    # ValueError: of what looks like a date or a number, and is none.
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        raise ConfigurationError(f"is no YAML: {error}", setting=place) from None
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise ConfigurationError("must be a mapping of settings", setting=place)
    _check_names(cast("dict[Any, Any]", found), place, 0)
    return cast("dict[str, Any]", found)


def _bracket_depth(text: str) -> int:
    depth = deepest = 0
    for character in text:
        if character in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif character in "]}":
            depth -= 1
    return deepest


def _too_deep(place: str) -> ConfigurationError:
    return ConfigurationError(f"is nested more than {MAX_DEPTH} deep", setting=place)


def _check_names(found: Any, place: str, depth: int) -> None:
    # An alias of YAML may lead to what it stands in.
    if depth > MAX_DEPTH:
        raise _too_deep(place)
    if isinstance(found, dict):
        for name, value in cast("dict[Any, Any]", found).items():
            if not isinstance(name, str):
                raise ConfigurationError(
                    f"{name!r} is no setting's name", setting=place, fix="names are texts"
                )
            _check_names(value, place, depth + 1)
    elif isinstance(found, list):
        for value in cast("list[Any]", found):
            _check_names(value, place, depth + 1)
