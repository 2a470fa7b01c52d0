"""Source maps: turns positions in a bundled game back into positions in what its author wrote."""

import json
import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

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
