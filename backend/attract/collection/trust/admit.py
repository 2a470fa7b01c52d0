"""Door `admit`: whether a guest's block may count at all, by what its game declares of its numbers."""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from attract.collection.leases import Lease
from attract.schema.frames import malformed
from attract.schema.game import GameDescription
from attract.schema.messages import Block
from attract.schema.spaces import BoxSpace, LeafSpace, SetSpace, observation_parts
from attract.schema.tensor import view

SLACK: Final = 1e-5
"""Tolerance as a share of max(1, |bound|): rewards are summed over ticks in 64 bits and travel as 32."""
UNBOUNDED: Final = float(np.finfo(np.float32).max)
"""What the SDK writes for infinity in a list of bounds."""
CONTROLS: Final = 8
"""Blocks of the admin's own workers that must keep to the boxes before guests are held to them."""


@dataclass(frozen=True, eq=False)
class _Range:
    """Bounds of one key: [size] or one number each; None where no element is bounded on that side."""

    size: int
    low: NDArray[np.float32] | None
    high: NDArray[np.float32] | None
    is_box: bool

    def outside(self, numbers: NDArray[Any]) -> NDArray[np.bool_] | None:
        """[n, size]: which are outside; None where none is, which the extremes say."""
        low, high = self.low, self.high
        # Where all elements share one bound, one extreme is enough: extremes along axis 0 are far slower.
        is_low = low is not None and bool((numbers.min(axis=0 if low.size > 1 else None) < low).any())
        is_high = high is not None and bool((numbers.max(axis=0 if high.size > 1 else None) > high).any())
        if not is_low and not is_high:
            return None
        wrong = np.zeros(numbers.shape, np.bool_)
        if low is not None:
            wrong |= numbers < low
        if high is not None:
            wrong |= numbers > high
        return wrong


class Bounds:
    """What one game's description says of its numbers, and whether its own workers keep to it.

    The SDK lets no game give a reward or a choice outside of its range: a block that has one was forged. A
    box is not enforced while a game is played: it binds guests only where the admin's own workers keep to it,
    and who is outside is refused and not accused.
    """

    def __init__(self, description: GameDescription) -> None:
        self._ranges = _ranges(description)
        self._reward: tuple[float, float] | None = None
        if description.reward is not None:
            low, high, ticks = description.reward.low, description.reward.high, description.ticks_per_step
            # A step has 1 to `ticks` updates; one in which an agent takes no part has 0.
            low, high = min(0.0, low, low * ticks), max(0.0, high, high * ticks)
            self._reward = (low - SLACK * max(1.0, abs(low)), high + SLACK * max(1.0, abs(high)))
        self.has_boxes = any(bound.is_box for bound in self._ranges.values())
        self.off: str | None = None
        """Why the boxes are not enforced; None: they are."""
        self.is_off_reported = False
        self.refused: set[str] = set()
        """Identities that had a block refused."""
        self._controls = 0

    def admit(self, lease: Lease, block: Block) -> str | None:
        """What a block has outside of the game's boxes, in words; None: it may count.

        Raises: ProtocolError: naming the number that no game of this description can give.
        """
        is_held = self.has_boxes and self.off is None
        if lease.local:
            # Spot-checked instead (rule C7): but for the first few, their blocks cost what they did.
            if is_held and self._controls < CONTROLS:
                self.control(block)
            return None
        self.check(block)
        return self.outside(block) if is_held and self._controls >= CONTROLS else None

    def control(self, block: Block) -> None:
        """Look at a block of one of the admin's own workers."""
        self._controls += 1
        if (outside := self.outside(block)) is not None:
            self.off = f"a worker of the admin's own is outside as well: {outside}"

    def check(self, block: Block) -> None:
        """Look at rewards and choices of a stranger's block that `check_block` passed.

        Raises: ProtocolError: naming the number that no game of this description can give.
        """
        if self._reward is not None:
            rewards = view(block.reward)
            low, high = self._reward
            for extreme in (float(rewards.min()), float(rewards.max())):
                if not low <= extreme <= high:
                    raise malformed(
                        f"block.reward: {extreme:g}",
                        fix=f"the game declares rewards whose sum over a step is {low:g} to {high:g}",
                    )
        for key, bound in self._ranges.items():
            if not bound.is_box and (found := _find(block, key, bound)) is not None:
                fix = "choices are below their space's n, and a set's rows end with 0 or 1"
                raise malformed(f"block.{found}", fix=fix)

    def outside(self, block: Block) -> str | None:
        """The first number of an agent that takes part that lies outside of its box, in words."""
        for key, bound in self._ranges.items():
            if bound.is_box and (found := _find(block, key, bound)) is not None:
                return found
        return None


def _find(block: Block, key: str, bound: _Range) -> str | None:
    """The first number that is outside, by the name of its field; a box's only where an agent takes part."""
    steps = view(block.observation[key]).reshape(-1, bound.size)
    if (wrong := bound.outside(steps)) is not None:
        if bound.is_box:
            # What a game leaves in the memory of an agent that takes no part means nothing (rule E9).
            wrong &= view(block.valid).astype(np.bool_).reshape(-1, 1)
        if wrong.any():
            row, element = np.argwhere(wrong)[0].tolist()
            step, column = divmod(row, block.valid.shape[1])
            return f"observation.{key}[{element}]: {steps[row, element]:g}, step {step} of column {column}"
    others = {} if bound.is_box else {"bootstrap_observation": block.bootstrap_observation}
    if block.final_observations is not None:
        others["final_observations.observation"] = block.final_observations.observation
    for field, observation in others.items():
        numbers = view(observation[key]).reshape(-1, bound.size)
        if len(numbers) and (wrong := bound.outside(numbers)) is not None:
            row, element = np.argwhere(wrong)[0].tolist()
            return f"{field}.{key}[{element}]: {numbers[row, element]:g}"
    return None


def _ranges(description: GameDescription) -> dict[str, _Range]:
    found = {key: _range(space) for key, space in observation_parts(description.observation).items()}
    return {key: bound for key, bound in found.items() if bound.low is not None or bound.high is not None}


def _range(space: LeafSpace) -> _Range:
    if isinstance(space, BoxSpace):
        if space.dtype == "uint8" and space.low in (None, 0) and space.high in (None, 255):
            return _Range(space.size, None, None, True)
        return _Range(space.size, _limit(space.low, -1.0), _limit(space.high, 1.0), True)
    if isinstance(space, SetSpace):
        # What ends each row says whether it holds a thing; nothing else is bounded.
        low = np.full(space.stored_shape, -np.inf, np.float32)
        low[:, -1] = 0.0
        return _Range(low.size, low.ravel(), np.where(low < 0, np.inf, 1.0).astype(np.float32).ravel(), False)
    highest = np.array(space.choices, np.float32) - 1
    return _Range(highest.size, np.zeros(1, np.float32), highest, False)


def _limit(bound: float | list[float] | None, sign: float) -> NDArray[np.float32] | None:
    """As the observation is stored; a side on which nothing is bounded needs no look."""
    if bound is None:
        return None
    limit = np.atleast_1d(np.array(bound, np.float32))
    unbounded = sign * limit >= UNBOUNDED
    if unbounded.all():
        return None
    return np.where(unbounded, np.float32(sign * np.inf), limit).astype(np.float32)
