"""Reads a YAML 1.2 file of settings, from whomever it may be, and names what is wrong with it; writes one."""

import io
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any, Final, cast

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import CollectionEndEvent, CollectionStartEvent, NodeEvent
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from attract.errors import ConfigurationError
from attract.files import read_file

MAX_BYTES: Final = 1 << 20
MAX_DEPTH: Final = 64
"""Settings nest some five deep."""
MAX_NODES: Final = 20_000
"""Limit of names, values, lists and mappings together; an alias counts as what it expands to."""
MAX_NUMBER_CHARACTERS: Final = 100
NUMBERS: Final = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")


def read_settings_file(path: Path) -> dict[str, Any]:
    """Nested settings from a file; only their names are checked, to be texts. {} for an empty file.

    Raises: ConfigurationError: when it cannot be read, is not YAML, nests too deep, has too many values, or
        is not a mapping.
    """
    return parse_settings(read_file(path, MAX_BYTES), str(path))


def parse_settings(data: bytes, place: str) -> dict[str, Any]:
    """The same of a file's bytes; `place` names it. Raises: ConfigurationError: as `read_settings_file`."""
    if len(data) > MAX_BYTES:
        raise ConfigurationError(f"has {len(data):,} bytes, at most {MAX_BYTES:,} are read", setting=place)
    try:
        found = _load(data.decode())
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"is not UTF-8 text: byte {error.start}", setting=place) from None
    except _TooLargeError as error:
        raise ConfigurationError(str(error), setting=place) from None
    # ValueError: of what looks like a date, and is none.
    except (YAMLError, ValueError, OverflowError) as error:
        raise ConfigurationError(_problem(error), setting=place) from None
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise ConfigurationError("must be a mapping of settings", setting=place)
    _check_names(cast("dict[Any, Any]", found), place)
    return cast("dict[str, Any]", found)


def settings_text(settings: Mapping[str, Any]) -> str:
    """The YAML of nested settings, which `parse_settings` reads as the same."""
    text = io.StringIO()
    yaml = _yaml()
    yaml.default_flow_style = False
    yaml.sort_base_mapping_type_on_output = False  # pyright: ignore[reportAttributeAccessIssue]
    yaml.dump(dict(settings), text)
    return text.getvalue()


class _TooLargeError(Exception):
    """A file has more in it than is read."""


def _yaml() -> YAML:
    return YAML(typ="safe", pure=True)


def _load(text: str) -> Any:
    depth = num_nodes = 0
    # Before it is composed, which nests calls as deep as the file.
    for event in _yaml().parse(text):
        depth += isinstance(event, CollectionStartEvent) - isinstance(event, CollectionEndEvent)
        num_nodes += isinstance(event, NodeEvent)
        if depth > MAX_DEPTH:
            raise _too_deep(event.start_mark.line + 1)
        if num_nodes > MAX_NODES:
            raise _too_many(event.start_mark.line + 1)
    yaml = _yaml()
    root = yaml.compose(text)
    if root is None:
        return None
    _check_size(root)
    return yaml.constructor.construct_document(root)


def _check_size(root: Node) -> None:
    """Count the expansion of aliases and merges. Raises: _TooLargeError."""
    known: dict[int, tuple[int, int]] = {}
    open_nodes: set[int] = set()

    def measure(node: Node) -> tuple[int, int]:
        """Number of values in a node, and how deep they nest."""
        line = node.start_mark.line + 1
        if id(node) in open_nodes:
            raise _TooLargeError(f"line {line}: an alias contains itself")
        if id(node) in known:
            return known[id(node)]
        if isinstance(node, ScalarNode) and node.tag in NUMBERS and len(node.value) > MAX_NUMBER_CHARACTERS:
            raise _TooLargeError(
                f"line {line}: is not valid YAML: a number has {len(node.value):,} characters, "
                f"at most {MAX_NUMBER_CHARACTERS} are read"
            )
        open_nodes.add(id(node))
        size = height = 1
        for part in _parts(node):
            part_size, part_height = measure(part)
            size, height = size + part_size, max(height, part_height + 1)
            if size > MAX_NODES:
                raise _too_many(line)
            if height > MAX_DEPTH + 1:
                raise _too_deep(part.start_mark.line + 1)
        open_nodes.discard(id(node))
        known[id(node)] = size, height
        return size, height

    measure(root)


def _too_deep(line: int) -> _TooLargeError:
    return _TooLargeError(f"line {line}: is nested more than {MAX_DEPTH} deep")


def _too_many(line: int) -> _TooLargeError:
    return _TooLargeError(
        f"line {line}: has more than {MAX_NODES:,} values, each alias counted as its expansion"
    )


def _parts(node: Node) -> list[Node]:
    if isinstance(node, MappingNode):
        return [part for pair in node.value for part in pair]
    return list(node.value) if isinstance(node, SequenceNode) else []


def _problem(error: Exception) -> str:
    """The problem in one sentence, with the line number if the parser knows it."""
    if isinstance(error, MarkedYAMLError) and error.problem_mark is not None:
        return f"line {error.problem_mark.line + 1}: is not valid YAML: {error.problem}"
    return f"is not valid YAML: {' '.join(str(error).split())}"


def _check_names(found: Any, place: str) -> None:
    # Bounded by `_check_size`, which has also refused an alias that contains itself.
    if isinstance(found, dict):
        for name, value in cast("dict[Hashable, Any]", found).items():
            if not isinstance(name, str):
                raise ConfigurationError(
                    f"{name!r} is not the name of a setting", setting=place, fix="names are texts"
                )
            _check_names(value, place)
    elif isinstance(found, list):
        for value in cast("list[Any]", found):
            _check_names(value, place)
