"""Where a position of a bundle is in the user's own files: source maps, and places by them."""

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from attract.schema.game_messages import MethodSource

DIGITS = {
    character: value
    for value, character in enumerate("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
}
MAX_SHIFT = 60
OUTSIDE = re.compile(r"^(?:\.\./)+(?:web/)?((?:page-)?games/)?")
"""How the map of a bundled game begins a source's name: the way from its build to the repository."""
FRAME = re.compile(r"(?:\w+://)?(?:[^\s()@]*/)?games/([0-9a-f]{64})\.js:(\d+):(\d+)")
"""A position in a game bundle, as V8, SpiderMonkey and JavaScriptCore print it."""


class SourceMap:
    """One bundle's map (version 3, https://tc39.es/ecma426/); immutable after it is read."""

    def __init__(self, text: str) -> None:
        """Read a map's JSON text.

        Raises: ValueError: when it is not a version 3 map.
        """
        try:
            data: Any = json.loads(text)
        except RecursionError:
            raise ValueError("nested too deep") from None
        if (
            not isinstance(data, dict)
            or data.get("version") != 3
            or not isinstance(data.get("mappings"), str)
            or not isinstance(data.get("sources", []), list)
        ):
            raise ValueError("not a version 3 source map")
        self.sources = [OUTSIDE.sub(_own_folder, str(source)) for source in data.get("sources", [])]
        self._lines = [
            [fields for fields in line if len(fields) >= 4] for line in _decode_mappings(data["mappings"])
        ]
        self._columns = [[fields[0] for fields in line] for line in self._lines]

    def original(self, line: int, column: int) -> tuple[str, int, int] | None:
        """The (source, line, column) that made this position, all 1-based; None where nothing did."""
        if not 1 <= line <= len(self._lines):
            return None
        index = bisect_right(self._columns[line - 1], column - 1) - 1
        if index < 0:
            return None
        _, source, source_line, source_column, *_ = self._lines[line - 1][index]
        if not 0 <= source < len(self.sources):
            return None
        return self.sources[source], source_line + 1, source_column + 1


def _own_folder(outside: re.Match[str]) -> str:
    return "bundled/" if outside[1] else ""


def _decode_mappings(mappings: str) -> Iterator[list[tuple[int, ...]]]:
    """Per line of the bundle its segments, every field absolute; the column restarts on each line."""
    totals = [0, 0, 0, 0, 0]
    for line in mappings.split(";"):
        totals[0] = 0
        segments: list[tuple[int, ...]] = []
        for text in line.split(","):
            if not text:
                continue
            deltas = _decode_vlq(text)
            for index, delta in enumerate(deltas[:5]):
                totals[index] += delta
            segments.append(tuple(totals[: len(deltas)]))
        yield segments


def _decode_vlq(text: str) -> list[int]:
    """Numbers of one segment: base 64, five bits a digit, lowest first, sign in the lowest bit."""
    numbers: list[int] = []
    value = shift = 0
    for character in text:
        digit = DIGITS.get(character)
        if digit is None:
            raise ValueError(f"{character!r} is no base 64 digit")
        if shift > MAX_SHIFT:
            raise ValueError("a number has too many digits")
        value |= (digit & 31) << shift
        if digit & 32:
            shift += 5
        else:
            numbers.append(-(value >> 1) if value & 1 else value >> 1)
            value = shift = 0
    return numbers


SDK_SOURCES = ("sdk/attract.js", "sdk/page.js", "sdk/src/", "page-clock/src/")
"""Beginnings of what a source map calls our SDK."""
PACKAGES = "node_modules"
"""The folder that packages of others lie in."""
LINE = re.compile(r"^\s*at .*|^[^\s]*@.*", re.MULTILINE)
"""One frame, as V8 prints it or as the others do."""
FUNCTION = re.compile(r"^\s*at (?:async )?(?:new )?([^\s(]+) \(|^([^\s@/]+)@")

FindMap = Callable[[str], SourceMap | None]
"""Gives the map of the bundle with this SHA-256, or None."""


@dataclass(frozen=True)
class Place:
    """A position in a file as its author has it; line and column from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"

    @property
    def is_own(self) -> bool:
        """Written by the game's author, not a package's."""
        return PACKAGES not in self.file.split("/")


def own_frames(stack: str, find_map: FindMap) -> list[tuple[str, Place]]:
    """Frames of a stack that lie in the game's bundle and not in the SDK: function (or "") and place.

    Frames of packages are among them; frames of a bundle without a map have the bundle as their file.
    """
    frames: list[tuple[str, Place]] = []
    for line in LINE.findall(stack):
        match = FRAME.search(line)
        if match is None:
            continue
        row, column = int(match[2]), int(match[3])
        source_map = find_map(match[1])
        if source_map is None:
            place = (f"games/{match[1]}.js", row, column)
        else:
            place = source_map.original(row, column)
        if place is None or place[0].startswith(SDK_SOURCES):
            continue
        name = FUNCTION.match(line)
        function = "" if name is None else str(name[1] or name[2])
        frames.append((function, Place(*place)))
    return frames


def own_stack(stack: str, find_map: FindMap) -> str | None:
    """The frames of `own_frames` as lines of a stack; None when there are none."""
    frames = own_frames(stack, find_map)
    if not frames:
        return None
    return "\n".join(_line(function, str(place)) for function, place in frames)


def method_stack(method: MethodSource, code: str, source_map: SourceMap | None) -> str:
    """The one frame that stands for a method, with its place where its source occurs just once in the bundle.

    With a field that is named once in the method, the place is where it is.
    """
    place = _place_of(method, code, source_map)
    return _line(method.name, "") if place is None else _line(method.name, str(place))


def first_place(stack: str | None) -> Place | None:
    """The author's first place in a stack from `own_stack` or `method_stack`."""
    for match in re.finditer(r"(?: at |\()([^(]+?):(\d+):(\d+)\)?$", stack or "", re.MULTILINE):
        place = Place(match[1], int(match[2]), int(match[3]))
        if place.is_own:
            return place
    return None


def _line(function: str, place: str) -> str:
    if not function:
        return f"    at {place}"
    return f"    at {function} ({place})" if place else f"    at {function}"


def _place_of(method: MethodSource, code: str, source_map: SourceMap | None) -> Place | None:
    if not method.text or source_map is None or code.count(method.text) != 1:
        return None
    at = code.index(method.text)
    if method.field:
        named = list(re.finditer(rf"\b{re.escape(method.field)}\b\s*:", method.text))
        if len(named) == 1:
            at += named[0].start()
    line = code.count("\n", 0, at) + 1
    column = at - (code.rfind("\n", 0, at) + 1) + 1
    place = source_map.original(line, column)
    return None if place is None else Place(*place)
