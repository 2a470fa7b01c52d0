"""Reads a YAML file of settings, from whomever it may be, and names what is wrong with it; writes one."""

import re
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any, Final, cast

import yaml
from typing_extensions import override
from yaml.constructor import ConstructorError
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from attract.errors import ConfigurationError
from attract.files import read_file

MAX_BYTES: Final = 1 << 20
MAX_DEPTH: Final = 64
"""Settings nest some five deep."""
MAX_NODES: Final = 20_000
"""Limit of names, values, lists and mappings together; an alias counts as what it expands to."""
MAX_NUMBER_CHARACTERS: Final = 100
INT: Final = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
"""Whole numbers of YAML 1.2 (section 10.3.2); 1.1 has sexagesimal ones too, whose time grows as a square."""
FLOAT: Final = re.compile(
    r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)
INT_TAG: Final = "tag:yaml.org,2002:int"
FLOAT_TAG: Final = "tag:yaml.org,2002:float"


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
        text = data.decode()
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"is not UTF-8 text: byte {error.start}", setting=place) from None
    found = _load(text, place)
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise ConfigurationError("must be a mapping of settings", setting=place)
    _check_names(cast("dict[Any, Any]", found), place)
    return cast("dict[str, Any]", found)


def settings_text(settings: Mapping[str, Any]) -> str:
    """The YAML of nested settings, which `parse_settings` reads as the same."""
    return yaml.dump(dict(settings), Dumper=_Dumper, sort_keys=False)


class _TooLargeError(Exception):
    """A file has more in it than is read."""


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader with a bound on depth and on values, and the numbers of YAML 1.2."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = 0
        self._num_nodes = 0

    @override
    def compose_node(self, parent: Node | None, index: int) -> Node | None:
        line = self.peek_event().start_mark.line + 1
        if self._depth > MAX_DEPTH:
            raise _too_deep(line)
        self._num_nodes += 1
        if self._num_nodes > MAX_NODES:
            raise _too_many(line)
        self._depth += 1
        try:
            return super().compose_node(parent, index)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        finally:
            self._depth -= 1

    def check_size(self, root: Node) -> None:
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


class _Dumper(yaml.SafeDumper):
    """Quotes the texts that `_Loader` would take for numbers."""


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


def _construct_int(loader: _Loader, node: ScalarNode) -> int:
    text = _number_text(loader, node)
    if INT.fullmatch(text) is None:
        raise ConstructorError(None, None, f"{text!r} is not a whole number", node.start_mark)
    return int(text, {"0o": 8, "0x": 16}.get(text[:2], 10))


def _construct_float(loader: _Loader, node: ScalarNode) -> float:
    text = _number_text(loader, node)
    if FLOAT.fullmatch(text) is None and INT.fullmatch(text) is None:
        raise ConstructorError(None, None, f"{text!r} is not a number", node.start_mark)
    return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))


def _number_text(loader: _Loader, node: ScalarNode) -> str:
    text: str = loader.construct_scalar(node)
    if len(text) > MAX_NUMBER_CHARACTERS:
        problem = f"a number has {len(text):,} characters, at most {MAX_NUMBER_CHARACTERS} are read"
        raise ConstructorError(None, None, problem, node.start_mark)
    return text


def _with_numbers_of_1_2(kind: type[_Loader] | type[_Dumper]) -> None:
    """Replace the patterns by which `kind` takes a plain text for a number."""
    kind.yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in known if tag not in (INT_TAG, FLOAT_TAG)]
        for first, known in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    for tag, pattern in ((FLOAT_TAG, FLOAT), (INT_TAG, INT)):
        # PyYAML asks whether a text begins so; the first of a letter's patterns that does is taken.
        whole = re.compile(rf"(?:{pattern.pattern})\Z")
        for first in "-+.0123456789":
            kind.yaml_implicit_resolvers.setdefault(first, []).insert(0, (tag, whole))


_with_numbers_of_1_2(_Loader)
_with_numbers_of_1_2(_Dumper)
_Loader.add_constructor(INT_TAG, _construct_int)
_Loader.add_constructor(FLOAT_TAG, _construct_float)


def _load(text: str, place: str) -> Any:
    # A control character is refused when the loader is made.
    try:
        loader = _Loader(text)
        try:
            root = loader.get_single_node()
            if root is None:
                return None
            loader.check_size(root)
            return loader.construct_document(root)
        finally:
            loader.dispose()
    except _TooLargeError as error:
        raise ConfigurationError(str(error), setting=place) from None
    # ValueError: of what looks like a date, and is none.
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        raise ConfigurationError(_problem(error), setting=place) from None


def _problem(error: Exception) -> str:
    """The problem in one sentence, with the line number if the parser knows it."""
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        return f"line {error.problem_mark.line + 1}: is not valid YAML: {error.problem}"
    return f"is not valid YAML: {' '.join(str(error).split())}"


def _check_names(found: Any, place: str) -> None:
    # Bounded by `check_size`, which has also refused an alias that contains itself.
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
