"""The seats that programs outside of Attract play: what they are asked, what counts, what is said of them."""

import asyncio
import base64
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from attract.run.outside_program import (
    MAX_BARREN,
    MAX_MISSES,
    START_SECONDS,
    Numbers,
    OutsideProgram,
)
from attract.schema.frames import malformed
from attract.schema.game import GameDescription
from attract.schema.match import OutsideReport
from attract.schema.outside import Ask
from attract.schema.spaces import (
    SINGLE_OBSERVATION,
    ActionSpace,
    BoxSpace,
    DictSpace,
    DiscreteSpace,
    LeafSpace,
    MixedSpace,
    MultiBinarySpace,
    SetSpace,
    observation_parts,
)
from attract.schema.tensor import to_flags, to_numpy
from attract.settings.self_play import OUTSIDE

MakePlayers = Callable[[Callable[[str], None]], "OutsidePlayers"]
"""Given who hears what is wrong."""


@dataclass(frozen=True)
class Questions:
    """A checked `ask`: one question for each agent, and what it may do."""

    program: OutsideProgram
    seats: Sequence[int]
    bodies: Sequence[Mapping[str, Any]]
    masks: Sequence[NDArray[np.bool_] | None]


class OutsidePlayers:
    """The programs of one run, or of one order to a host; used on the event loop. None is started unasked."""

    def __init__(
        self, programs: Mapping[str, str], seconds: float, told: Callable[[str], None], **options: float
    ) -> None:
        """Nothing is started.

        Args:
            programs: command or URL of each, by name.
            seconds: deadline of a decision.
            told: hears what is wrong, each kind of fault of a program once.
            options: of `OutsideProgram`.
        """
        self._seconds = seconds
        self._programs = {
            f"{OUTSIDE}{name}": OutsideProgram(f"{OUTSIDE}{name}", place, seconds, told, **options)
            for name, place in programs.items()
        }

    def questions(self, ask: Ask, description: GameDescription) -> Questions:
        """What a browser asks. Raises: ProtocolError: it does not fit the game, or names no program."""
        program = self._programs.get(ask.policy_id)
        if program is None:
            raise malformed(f"ask.policy_id: {ask.policy_id!r}", fix="ask a program that plays a seat")
        rows = len(ask.agent)
        if max(ask.agent) >= description.num_agents:
            raise malformed(
                f"ask.agent: {max(ask.agent)}", fix=f"the game has {description.num_agents} agents"
            )
        space = description.observation
        spaces = observation_parts(space)
        if list(ask.observation) != list(spaces):
            raise malformed(f"ask.observation: keys {list(ask.observation)[:8]}", fix=f"give {list(spaces)}")
        seen = {
            key: to_numpy(tensor, f"ask.observation.{key}", leaf.stored_type, (rows, *leaf.stored_shape))
            for key, tensor in ask.observation.items()
            for leaf in [spaces[key]]
        }
        masks: list[NDArray[np.bool_] | None] = [None] * rows
        if (ask.action_mask is not None) != description.action_mask:
            raise malformed("ask.action_mask: missing, or not of this game", fix="send the game's masks")
        if ask.action_mask is not None:
            masks = list(
                to_flags(ask.action_mask, "ask.action_mask", (rows, sum(description.action.choices)))
            )
        bodies: list[dict[str, Any]] = []
        for row in range(rows):
            mask = masks[row]
            values = {key: _value(array[row], spaces[key]) for key, array in seen.items()}
            bodies.append(
                {
                    "observation": values if isinstance(space, DictSpace) else values[SINGLE_OBSERVATION],
                    "mask": None if mask is None else mask.astype(int).tolist(),
                    "deadline": self._seconds,
                }
            )
        return Questions(program, ask.agent, bodies, masks)

    async def actions(self, asked: Questions, description: GameDescription) -> NDArray[Any]:
        """What the program does, or the default where it does nothing that counts, as actions travel.

        Returns: [k], or [k, components]: int32, or with a box float32, its numbers in [-1, 1] (rule P6).
        """
        space = description.action

        async def decided(seat: int, body: Mapping[str, Any], mask: NDArray[np.bool_] | None) -> Numbers:
            said = await asked.program.decide(seat, body, lambda action: read_action(space, action, mask))
            return default_action(description, mask) if said is None else said

        rows = await asyncio.gather(*map(decided, asked.seats, asked.bodies, asked.masks))
        return np.array(rows, space.action_type).reshape(len(rows), *space.action_shape)

    @property
    def patience_seconds(self) -> float:
        """How long a program may take that stops answering, until it is given up."""
        return MAX_BARREN * (self._seconds + START_SECONDS) + MAX_MISSES * self._seconds

    def reports(self) -> list[OutsideReport]:
        """Of those that were asked, or could not be."""
        return [
            OutsideReport(
                player=player,
                decisions=program.decisions,
                defaults=program.defaults,
                problems=program.problems,
            )
            for player, program in self._programs.items()
            if program.decisions
        ]

    async def close(self) -> None:
        """End them."""
        for program in self._programs.values():
            await program.close()


def read_action(space: ActionSpace, said: object, mask: NDArray[np.bool_] | None) -> Numbers:
    """An action in the game's units as it travels.

    Raises: ValueError: it is none, or its mask forbids it, saying what would be right.
    """
    if isinstance(space, MixedSpace):
        return _read_parts(space, said, mask)
    values: list[Any] = said if isinstance(said, list) else [said]
    if isinstance(space, BoxSpace):
        size = space.size
        is_right = len(values) == size and all(type(value) in (int, float) for value in values)
        try:
            numbers = [float(value) for value in values] if is_right else [math.nan]
        except OverflowError:
            numbers = [math.nan]
        if not all(map(math.isfinite, numbers)):
            raise ValueError(f"{size} finite numbers are an action" if size > 1 else "a number is an action")
        return [_to_unit(space, value, place) for place, value in enumerate(numbers)]
    choices = space.choices
    if isinstance(space, MultiBinarySpace):
        values = [int(value) if isinstance(value, bool) else value for value in values]
    if isinstance(space, DiscreteSpace) and (isinstance(said, list) or not _is_choice(said, space.n)):
        raise ValueError(f"a whole number from 0 to {space.n - 1} is an action")
    if len(values) != len(choices):
        raise ValueError(f"{len(choices)} whole numbers are an action")
    start = 0
    for place, (value, count) in enumerate(zip(values, choices, strict=True)):
        if not _is_choice(value, count):
            raise ValueError(f"number {place} must be 0 to {count - 1}")
        if mask is not None and not mask[start + value]:
            raise ValueError(f"the mask does not allow {value}")
        start += count
    return values


def _read_parts(space: MixedSpace, said: object, mask: NDArray[np.bool_] | None) -> Numbers:
    names = sorted(space.spaces)
    if not isinstance(said, dict) or sorted(map(str, said)) != names:  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        raise ValueError(f"an object with {', '.join(names)} is an action")
    given: Mapping[str, object] = said  # pyright: ignore[reportUnknownVariableType]
    chosen: list[Any] = []
    moved: list[Any] = []
    start = 0
    for name in names:
        part = space.spaces[name]
        end = start + sum(part.choices)
        try:
            numbers = read_action(part, given[name], None if mask is None else mask[start:end])
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
        (moved if isinstance(part, BoxSpace) else chosen).extend(numbers)
        start = end
    return [*chosen, *moved]


def default_action(description: GameDescription, mask: NDArray[np.bool_] | None) -> Numbers:
    """What counts where nothing was decided, as it travels.

    The game's own idle action, else zeros; the first that is allowed in the place of what is not.
    """
    space, idle = description.action, description.idle_action
    values = [0.0] if idle is None else idle if isinstance(idle, list) else [idle]
    if isinstance(space, BoxSpace):
        values = values * space.size if len(values) == 1 else values
        return [_to_unit(space, value, place) for place, value in enumerate(values)]
    choices = space.choices
    moved: list[float] = []
    if isinstance(space, MixedSpace):
        values = values * sum(space.action_shape) if len(values) == 1 else values
        moved = [_to_unit(space.box, value, place) for place, value in enumerate(values[len(choices) :])]
        values = values[: len(choices)]
    numbers = [int(value) for value in (values * len(choices) if len(values) == 1 else values)]
    if mask is None:
        return [*numbers, *moved]
    start = 0
    for place, count in enumerate(choices):
        allowed = np.flatnonzero(mask[start : start + count])
        if numbers[place] not in allowed:
            numbers[place] = int(allowed[0]) if len(allowed) else 0
        start += count
    return [*numbers, *moved]


def _is_choice(value: object, count: int) -> bool:
    return type(value) is int and 0 <= value < count


def _to_unit(space: BoxSpace, value: float, place: int) -> float:
    low, high = (
        unbounded if bound is None else bound[place] if isinstance(bound, list) else bound
        for bound, unbounded in ((space.low, -1.0), (space.high, 1.0))
    )
    return max(-1.0, min(1.0, 2.0 * (value - low) / (high - low) - 1.0))


def _value(array: NDArray[Any], space: LeafSpace) -> Any:
    """What an agent sees, as JSON: a picture as base64 of its bytes, row by row, a set as a list of rows."""
    if isinstance(space, BoxSpace) and space.is_image and space.dtype == "uint8":
        return {"picture": base64.b64encode(array.tobytes()).decode(), "shape": list(array.shape)}
    if isinstance(space, SetSpace):
        return array[array[:, -1] > 0, :-1].tolist()
    return array.tolist()


NOBODY: Final = partial(OutsidePlayers, {}, 1.0)
"""No program plays."""
