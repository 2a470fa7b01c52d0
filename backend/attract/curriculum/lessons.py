"""Lessons: which one is played, and when it is time for the next or the one before."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from attract.errors import ConfigurationError, nearest_name
from attract.schema.game import GameDescription, ParameterRange
from attract.schema.messages import ParameterDistribution
from attract.settings.curriculum import DistributionSettings, LessonSettings, ThresholdSettings


def resolve_parameters(
    parameters: Mapping[str, DistributionSettings], game: GameDescription, *, setting: str
) -> dict[str, ParameterDistribution]:
    """The distributions that leases carry.

    Args:
        parameters: by the names that the game declares.
        game: which declares them.
        setting: where they stand in the settings, for messages.

    Raises: ConfigurationError: for a parameter the game does not have, naming the nearest, and for values
        outside its declared range.
    """
    return {
        name: _resolve(distribution, _declared(game, name, f"{setting}.{name}"), f"{setting}.{name}")
        for name, distribution in sorted(parameters.items())
    }


def _declared(game: GameDescription, name: str, setting: str) -> ParameterRange:
    declared = game.parameters.get(name)
    if declared is not None:
        return declared
    near = nearest_name(name, game.parameters)
    known = ", ".join(sorted(game.parameters)) or "none"
    fix = f"did you mean {near!r}?" if near else f"its parameters: {known}"
    raise ConfigurationError(f"{game.id} has no such parameter", setting=setting, fix=fix)


def _resolve(
    distribution: DistributionSettings, declared: ParameterRange, setting: str
) -> ParameterDistribution:
    low, high = declared.low, declared.high
    for bounds in distribution.ranges:
        if bounds[0] < low or bounds[1] > high:
            text = f"{bounds[0]:g}" if bounds[0] == bounds[1] else f"[{bounds[0]:g}, {bounds[1]:g}]"
            raise ConfigurationError(
                f"{distribution.kind} {text} is outside the range that the game declares",
                setting=setting,
                fix=f"stay within [{low:g}, {high:g}]",
            )
    if distribution.normal is not None:
        values = [*distribution.normal, low, high]
    elif distribution.constant is not None:
        values = [distribution.constant]
    else:
        values = [limit for bounds in distribution.ranges for limit in bounds]
    return ParameterDistribution(kind=distribution.kind, values=values)


@dataclass(frozen=True)
class LessonChange:
    """A change from one lesson to its neighbour, with the reason as a sentence."""

    before: str
    now: str
    reason: str


class Lessons:
    """Which lesson is played; owned by the controller. Thresholds count only when met in a row.

    Raises: ValueError: without lessons.
    """

    def __init__(self, lessons: Sequence[LessonSettings]) -> None:
        if not lessons:
            raise ValueError("expected at least one lesson, got none")
        self._lessons = tuple(lessons)
        self._index = 0
        self._episodes = 0
        self._in_a_row = {"until": 0, "back": 0}

    @property
    def lesson(self) -> LessonSettings:
        return self._lessons[self._index]

    @property
    def number(self) -> int:
        """Its place, from 1."""
        return self._index + 1

    @property
    def is_last(self) -> bool:
        return self._index == len(self._lessons) - 1

    def __len__(self) -> int:
        return len(self._lessons)

    def count(self) -> None:
        self._episodes += 1

    def check(self, value_of: Callable[[str], float | None]) -> LessonChange | None:
        """Look at the thresholds; the change, if it is time for one.

        Args:
            value_of: a metric's value now, None while it has none; that neither meets nor breaks a threshold.
        """
        lesson = self.lesson
        for name, threshold, step in (("until", lesson.until, 1), ("back", lesson.back, -1)):
            if threshold is None:
                continue
            value = value_of(threshold.metric)
            if value is None:
                continue
            self._in_a_row[name] = self._in_a_row[name] + 1 if threshold.is_met(value) else 0
            if self._in_a_row[name] >= threshold.times and self._episodes >= lesson.min_episodes:
                return self._change(step, _reason(threshold, value))
        return None

    def _change(self, step: int, reason: str) -> LessonChange:
        before = self.lesson.name
        self._index += step
        self._begin()
        return LessonChange(before, self.lesson.name, reason)

    def _begin(self) -> None:
        self._episodes = 0
        self._in_a_row = {"until": 0, "back": 0}

    def state(self) -> dict[str, Any]:
        return {"name": self.lesson.name, "episodes": self._episodes, **self._in_a_row}

    def load(self, state: dict[str, Any]) -> None:
        """What `state` gave.

        Raises: ConfigurationError: when there is no lesson of that name any more.
        """
        names = [lesson.name for lesson in self._lessons]
        if state["name"] not in names:
            raise ConfigurationError(
                f"the run is in lesson {state['name']!r}, which is not among the lessons",
                setting="curriculum.lessons",
                fix=f"keep a lesson of that name; there are {', '.join(names)}",
            )
        self._index = names.index(state["name"])
        self._episodes = int(state["episodes"])
        self._in_a_row = {"until": int(state["until"]), "back": int(state["back"])}


def _reason(threshold: ThresholdSettings, value: float) -> str:
    if threshold.at_least is not None:
        side = f"at least {threshold.at_least:g}"
    else:
        side = f"at most {threshold.at_most:g}"
    times = "once" if threshold.times == 1 else f"{threshold.times} times in a row"
    return f"{threshold.metric} was {side} {times}, lastly {value:.4g}"
