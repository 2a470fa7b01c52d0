"""Alarms of one cause as one: those of one place in the author's files, or of one text."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from attract.games.places import Place
from attract.schema.game_messages import MethodSource
from attract.schema.playtest import AlarmId, PlaytestAlarm
from attract.schema.recorded_episode import RecordedEpisode

FindPlace = Callable[[str | None, MethodSource | None], tuple[str | None, Place | None]]
"""The stack in the author's files, and its first place."""


@dataclass(frozen=True)
class Sighting:
    """An alarm and the episode that it was seen in."""

    alarm: PlaytestAlarm
    player: str | None
    recorded: RecordedEpisode | None
    is_fresh: bool = True
    """Whether nothing was played before in its page."""
    index: int | None = None
    """Which one of the player's it is; None: no player can play it once more."""

    @property
    def length(self) -> int:
        """Steps until it is seen; more where it may not come again: in a used page, or without a record."""
        if self.recorded is None:
            return 1 << 30
        return self.alarm.step if self.is_fresh else self.alarm.step + (1 << 29)


@dataclass
class Cause:
    """What may be reported as one finding."""

    oracle: AlarmId
    key: str
    stack: str | None
    place: Place | None
    sightings: list[Sighting] = field(default_factory=list[Sighting])
    again: Sighting | None = None
    """How it was seen when an episode was played again in a new copy: that goes so each time."""

    @property
    def shortest(self) -> Sighting:
        """Where it is seen first."""
        return min(self.sightings, key=lambda sighting: sighting.length)

    @property
    def replayable(self) -> list[Sighting]:
        """Those whose episode is recorded, the shortest first."""
        return self._sorted([sighting for sighting in self.sightings if sighting.recorded is not None])

    @property
    def playable(self) -> list[Sighting]:
        """Those that their player can play once more, the shortest first."""
        return self._sorted([sighting for sighting in self.sightings if sighting.index is not None])

    def _sorted(self, sightings: list[Sighting]) -> list[Sighting]:
        return sorted(sightings, key=lambda sighting: sighting.length)

    @property
    def text(self) -> str:
        return self.shortest.alarm.text.strip().splitlines()[0]


class Causes:
    """All alarms of a playtest by cause."""

    def __init__(self, find_place: FindPlace) -> None:
        self._find_place = find_place
        self.all: dict[str, Cause] = {}

    def add(self, sighting: Sighting) -> Cause:
        alarm = sighting.alarm
        stack, place = self._find_place(alarm.stack, alarm.method)
        place = place or place_in(alarm.text)
        key = cause_key(alarm, place)
        cause = self.all.setdefault(key, Cause(alarm.oracle, key, stack, place))
        cause.sightings.append(sighting)
        return cause


def cause_key(alarm: PlaytestAlarm, place: Place | None) -> str:
    """The same for alarms of one cause: by place where one is known, else by text without its numbers."""
    if place is not None:
        return f"{alarm.oracle} {place.file}:{place.line}"
    return f"{alarm.oracle} {plain_text(alarm.text)}"


def place_in(text: str) -> Place | None:
    """The place that an error of a page ends with, in the page's own files."""
    match = re.search(r"\(([^()\s]+):(\d+):(\d+)\)\s*$", text.strip().split("\n", 1)[0])
    return None if match is None else Place(match[1], int(match[2]), int(match[3]))


def plain_text(text: str) -> str:
    """The first line without what changes from one episode to the next: numbers, and addresses of files."""
    line = text.strip().splitlines()[0] if text.strip() else ""
    line = re.sub(r"\(?https?://[^\s)]*\)?", "", line)
    return re.sub(r"-?\d+(\.\d+)?(e[+-]?\d+)?", "#", line)
