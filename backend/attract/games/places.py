"""Positions in the author's own files for events of a game."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from attract.games.source_maps import FRAME, SourceMap
from attract.schema.game_messages import MethodSource

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
