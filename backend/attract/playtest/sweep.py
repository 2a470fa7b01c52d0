"""Has a host play every value of a parameter by the same players on the same seeds, while there is time."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from attract.errors import ConfigurationError
from attract.playtest.outcomes import Outcomes, not_played
from attract.playtest.plan import ORDER_SECONDS, Host, PlayPlan
from attract.schema.game import GameDescription
from attract.schema.playtest import PlaytestPlays

MAX_VALUES: Final = 64
FIRST_SEEDS: Final = 4
MAX_SEEDS: Final = 1024
FORMS: Final = "speed=0.5:2:7 (7 values from 0.5 to 2) or speed=0.5,1,2"


@dataclass(frozen=True, kw_only=True)
class SweepPlan(PlayPlan):
    """What is played at each value of `parameter`."""

    parameter: str
    values: Sequence[float]


@dataclass
class Swept:
    """Outcomes per value."""

    played: list[Outcomes]
    problem: str | None = None
    """Why it was not played to its end: it hung, or a player cannot play."""
    errors: list[str] = field(default_factory=list[str])
    """One per text: what the game threw."""


def parse_over(text: str) -> tuple[str, list[float]]:
    """Parameter and values of `--over`, ascending. Raises: ConfigurationError: it is neither form."""
    name, equals, given = text.partition("=")
    try:
        if ":" in given:
            low, high, count = given.split(":")
            values = _between(float(low), float(high), int(count))
        else:
            values = [float(word) for word in given.split(",")]
    except ValueError:
        values = []
    values = sorted(set(values))
    if not name or not equals or not 2 <= len(values) <= MAX_VALUES or not all(map(math.isfinite, values)):
        raise ConfigurationError(
            f"{text!r} does not name 2 to {MAX_VALUES} values of a parameter",
            setting="--over",
            fix=f"such as {FORMS}",
        )
    return name, values


def check_values(description: GameDescription, name: str, values: Sequence[float]) -> None:
    """Raises: ConfigurationError: the game has no such parameter, or declares another range."""
    known = description.parameters
    if name not in known:
        some = ", ".join(sorted(known))
        raise ConfigurationError(
            f"{description.id} has no parameter {name!r}",
            setting="--over",
            fix=f"it has {some}"
            if known
            else f"declare it: parameters: {{ {name}: {{ default: 1, low: 0.5, high: 2 }} }}",
        )
    low, high = known[name].low, known[name].high
    beyond = [value for value in values if not low <= value <= high]
    if beyond:
        raise ConfigurationError(
            f"{name} is declared from {low:g} to {high:g}, got {beyond[0]:g}", setting="--over"
        )


async def sweep(plan: SweepPlan, host: Host, say: Callable[[str], None] = lambda text: None) -> Swept:
    """Play rounds of seeds, each at every value, while there is time for another.

    Raises: AttractError: no browser, or it does not answer.
    """
    began = time.monotonic()
    swept = Swept([Outcomes() for _ in plan.values])
    seeds, count = 0, FIRST_SEEDS
    while seeds < MAX_SEEDS:
        round_began = time.monotonic()
        for value, outcomes in zip(plan.values, swept.played, strict=True):
            deadline = began + plan.seconds
            say(f"{plan.parameter} = {value:g}, {seeds} seeds are played")
            if not await _play(plan, value, range(seeds, seeds + count), outcomes, swept, host, deadline):
                return swept
        seeds += count
        left = plan.seconds - (time.monotonic() - began)
        per_seed = (time.monotonic() - round_began) / count
        count = min(2 * count, MAX_SEEDS - seeds, int(0.9 * left / per_seed))
        if count < 1:
            break
    return swept


async def _play(
    plan: SweepPlan,
    value: float,
    seeds: range,
    outcomes: Outcomes,
    swept: Swept,
    host: Host,
    deadline: float,
) -> bool:
    """Whether all of it was played in time."""
    wanted = [PlaytestPlays(player=player, first=seeds.start, count=len(seeds)) for player in plan.players]
    left = wanted
    while left:
        seconds = min(ORDER_SECONDS, deadline - time.monotonic())
        if seconds <= 0:
            return False
        parameters = {plan.parameter: value}
        answer = await plan.play(host, left, parameters=parameters, budget_seconds=seconds)
        outcomes.take_in(left, answer.episodes)
        for episode in answer.episodes:
            for alarm in episode.alarms if episode.end_reason == "failed" else ():
                if alarm.text not in swept.errors and len(swept.errors) < 8:
                    swept.errors.append(alarm.text)
        if answer.problem is not None:
            swept.problem = f"{plan.parameter} = {value:g}: {answer.problem}"
            return False
        still = [part for play in left for part in not_played(play, outcomes)]
        if not answer.episodes and still:
            return False
        left = still
    return True


def _between(low: float, high: float, count: int) -> list[float]:
    if count < 2 or count > MAX_VALUES:
        raise ValueError(f"{count} values")
    return [float(f"{low + (high - low) * i / (count - 1):.12g}") for i in range(count)]
