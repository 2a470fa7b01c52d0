"""Observation and action spaces as data, each with what storing and checking ask of it."""

import re
from abc import abstractmethod
from typing import Annotated, ClassVar, Final, Literal, Self

from pydantic import Field, model_validator

from attract.schema.base import FiniteModel

Dimension = Annotated[int, Field(ge=1, le=1 << 20)]
Bound = float | Annotated[list[float], Field(fail_fast=True)] | None
StoredType = Literal["float32", "uint8", "int32"]
MAX_ELEMENTS: Final = 1 << 24
"""Numbers of one box."""

IMAGE_RANK: Final = 3
MAX_NUMBERS: Final = 4096
"""Real numbers of a mixed action."""
PART_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,31}")
SINGLE_OBSERVATION: Final = "obs"
"""Key of a game whose observation is a plain box."""


class BoxSpace(FiniteModel):
    """Array of `shape`; a bound of None is unbounded, a list has one number per element."""

    has_masks: ClassVar[bool] = False
    action_type: ClassVar[StoredType] = "float32"
    """Element type of a stored action."""
    kind: Literal["box"] = "box"
    dtype: Literal["float32", "uint8"] = "float32"
    shape: Annotated[list[Dimension], Field(max_length=4)]
    low: Bound = None
    high: Bound = None

    @property
    def is_image(self) -> bool:
        """Whether it is [height, width, channels]; as an observation, every other rank is flattened."""
        return len(self.shape) == IMAGE_RANK

    @property
    def size(self) -> int:
        product = 1
        for extent in self.shape:
            product *= extent
        return product

    @property
    def choices(self) -> tuple[int, ...]:
        """Number of choices per component of an action; empty for a box."""
        return ()

    @property
    def action_shape(self) -> tuple[int, ...]:
        """Shape of an action, which is flat."""
        return (self.size,)

    @property
    def stored_type(self) -> StoredType:
        """Element type of an observation."""
        return self.dtype

    @property
    def stored_shape(self) -> tuple[int, ...]:
        return tuple(self.shape)

    @model_validator(mode="after")
    def _bounds_fit(self) -> Self:
        if self.size > MAX_ELEMENTS:
            raise ValueError(f"shape {self.shape} has {self.size} numbers, the limit is {MAX_ELEMENTS}")
        for name, bound in (("low", self.low), ("high", self.high)):
            if isinstance(bound, list) and len(bound) != self.size:
                raise ValueError(f"{name} has {len(bound)} numbers, shape {self.shape} needs {self.size}")
        return self


class SetSpace(FiniteModel):
    """Up to `max` things in any order, of `shape[0]` numbers each: an observation, never an action.

    It is stored as [max, shape[0] + 1] float32: a row for each thing, its numbers and then a 1; zeros after.
    """

    stored_type: ClassVar[StoredType] = "float32"
    kind: Literal["set"] = "set"
    max: Annotated[int, Field(ge=1, le=1024)]
    shape: Annotated[list[Annotated[int, Field(ge=1, le=1024)]], Field(min_length=1, max_length=1)]

    @property
    def stored_shape(self) -> tuple[int, int]:
        return (self.max, self.shape[0] + 1)


class ChoiceSpace(FiniteModel):
    """Whole numbers, each below a count of its own."""

    has_masks: ClassVar[bool] = True
    """Whether a game can forbid some of its choices."""
    stored_type: ClassVar[StoredType] = "int32"
    """Element type of an observation."""
    action_type: ClassVar[StoredType] = "int32"
    """Element type of a stored action, also for bits."""

    @property
    @abstractmethod
    def choices(self) -> tuple[int, ...]:
        """Number of choices per component."""

    @property
    @abstractmethod
    def stored_shape(self) -> tuple[int, ...]:
        """Shape of an observation or action."""

    @property
    def action_shape(self) -> tuple[int, ...]:
        return self.stored_shape


class DiscreteSpace(ChoiceSpace):
    """One integer in [0, n)."""

    kind: Literal["discrete"] = "discrete"
    n: Annotated[int, Field(ge=1, le=1 << 16)]
    labels: Annotated[list[str], Field(fail_fast=True)] | None = None

    @property
    def choices(self) -> tuple[int, ...]:
        """Number of choices of its one component."""
        return (self.n,)

    @property
    def stored_shape(self) -> tuple[int, ...]:
        """Shape of an observation or action: a single number."""
        return ()

    @model_validator(mode="after")
    def _labels_fit(self) -> Self:
        if self.labels is not None and len(self.labels) != self.n:
            raise ValueError(f"{len(self.labels)} labels for {self.n} actions")
        return self


class MultiDiscreteSpace(ChoiceSpace):
    """One integer in [0, nvec[i]) per component."""

    kind: Literal["multi_discrete"] = "multi_discrete"
    nvec: Annotated[list[Dimension], Field(min_length=1, max_length=256)]

    @property
    def choices(self) -> tuple[int, ...]:
        """Number of choices per component."""
        return tuple(self.nvec)

    @property
    def stored_shape(self) -> tuple[int, ...]:
        return (len(self.nvec),)


class MultiBinarySpace(ChoiceSpace):
    """n independent bits."""

    has_masks: ClassVar[bool] = False
    stored_type: ClassVar[StoredType] = "uint8"
    kind: Literal["multi_binary"] = "multi_binary"
    n: Annotated[int, Field(ge=1, le=4096)]

    @property
    def choices(self) -> tuple[int, ...]:
        """Two for each bit."""
        return (2,) * self.n

    @property
    def stored_shape(self) -> tuple[int, ...]:
        return (self.n,)


_Choices = DiscreteSpace | MultiDiscreteSpace | MultiBinarySpace
LeafSpace = Annotated[BoxSpace | SetSpace | _Choices, Field(discriminator="kind")]


class DictSpace(FiniteModel):
    """Named boxes, sets or choices; on the wire its keys are sorted."""

    kind: Literal["dict"] = "dict"
    spaces: Annotated[dict[str, BoxSpace | SetSpace | _Choices], Field(min_length=1)]


PartSpace = Annotated[BoxSpace | DiscreteSpace | MultiDiscreteSpace, Field(discriminator="kind")]


class MixedSpace(FiniteModel):
    """Named boxes and choices that are one action: all choices, then all real numbers, by sorted name."""

    has_masks: ClassVar[bool] = True
    action_type: ClassVar[StoredType] = "float32"
    """Element type of a stored action, also for its choices."""
    kind: Literal["mixed"] = "mixed"
    spaces: Annotated[dict[str, PartSpace], Field(min_length=2, max_length=16)]

    @property
    def choices(self) -> tuple[int, ...]:
        """Number of choices per component, of all parts that have choices."""
        return tuple(count for _, part in sorted(self.spaces.items()) for count in part.choices)

    @property
    def box(self) -> BoxSpace:
        """All boxes as one."""
        boxes = [part for _, part in sorted(self.spaces.items()) if isinstance(part, BoxSpace)]
        low = [number for box in boxes for number in _each(box.low, box.size)]
        high = [number for box in boxes for number in _each(box.high, box.size)]
        return BoxSpace(shape=[len(low)], low=low, high=high)

    @property
    def action_shape(self) -> tuple[int, ...]:
        """Shape of an action, which is flat."""
        return (len(self.choices) + self.box.size,)

    @model_validator(mode="after")
    def _parts_fit(self) -> Self:
        size = 0
        for name, part in self.spaces.items():
            if not PART_NAME.fullmatch(name):
                raise ValueError(
                    f"spaces: {name[:80]!r} is no name: a letter, then up to 31 letters, digits or _"
                )
            if not isinstance(part, BoxSpace):
                continue
            size += part.size
            if size > MAX_NUMBERS:
                raise ValueError(f"spaces.{name}: {size} real numbers, the limit is {MAX_NUMBERS}")
            if part.dtype != "float32" or part.low is None or part.high is None:
                raise ValueError(f"spaces.{name}: a box of an action is float32 and has low and high")
        if not size or not self.choices:
            raise ValueError("a mixed action has a box and a discrete or multi_discrete part")
        return self


def _each(bound: Bound, size: int) -> list[float]:
    return bound if isinstance(bound, list) else [bound or 0.0] * size


ObservationSpace = Annotated[BoxSpace | SetSpace | DictSpace, Field(discriminator="kind")]
ActionSpace = Annotated[_Choices | BoxSpace | MixedSpace, Field(discriminator="kind")]


def observation_parts(space: ObservationSpace) -> dict[str, LeafSpace]:
    """The parts of an observation by key, sorted; what is no dictionary is the one part `obs`."""
    if isinstance(space, DictSpace):
        return {key: space.spaces[key] for key in sorted(space.spaces)}
    return {SINGLE_OBSERVATION: space}
