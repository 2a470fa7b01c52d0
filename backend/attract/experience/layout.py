"""Layout of one row of the segment store, field by field, as data in the file's header."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, Literal, Self, cast

import numpy as np
from numpy.typing import NDArray

from attract.errors import ConfigurationError
from attract.schema.game import GameDescription
from attract.schema.spaces import SINGLE_OBSERVATION, observation_parts
from attract.schema.step_numbers import STEP_NUMBERS

ALIGNMENT: Final = 64
"""Every field starts on a cache line."""
RECURRENT_STATE: Final = "state"
"""Key of the packed recurrent state, in segments and beside final observations."""
LARGE_OBSERVATION_BYTES: Final = 1024
STEPS_PER_LARGE_FINAL: Final = 4
"""Steps per final observation that a row keeps of larger observations: images would double the store
for episodes that nearly never are that short."""

FieldKind = Literal["step", "row", "final"]
"""`step`: [horizon, capacity, ...]; `row`: [capacity, ...]; `final`: [finals, capacity, ...], where a row
uses the first `final_count`."""


@dataclass(frozen=True)
class PolicyLayout:
    """The policy's part of a segment: the shape of each recurrent state at its first step (rule S3)."""

    recurrent_state: Mapping[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])


@dataclass(frozen=True)
class Field:
    """One array of the store; `shape` is the part after time and row."""

    name: str
    kind: FieldKind
    dtype: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class StoreLayout:
    """Everything needed to find a field in the file: sizes and fields in their order.

    `action_choices` has the number of choices of each component of the action: n of a discrete space, 2 for
    each bit; it is empty where actions are continuous. Those of a mixed action are its first components.
    """

    horizon: int
    capacity: int
    num_finals: int
    """Final observations a row has room for: one per step, or fewer where observations are large."""
    ticks_per_step: int
    action_choices: tuple[int, ...]
    fields: tuple[Field, ...]

    @classmethod
    def for_run(
        cls, description: GameDescription, policy_layout: PolicyLayout, horizon: int, capacity: int
    ) -> Self:
        """The layout for one game and policy.

        Args:
            description: the game's observations and actions.
            policy_layout: recurrent state, if any.
            horizon: steps per segment.
            capacity: rows, that is segments held at once.

        Raises: ConfigurationError: for sizes below 1.
        """
        if horizon < 1 or capacity < 1:
            raise ConfigurationError(f"a store of horizon {horizon} and {capacity} rows holds nothing")
        observations = observation_fields(description)
        action = description.action
        fields = [Field(f"obs.{key}", "step", dtype, shape) for key, (dtype, shape) in observations.items()]
        fields.append(Field("action", "step", action.action_type, action.action_shape))
        fields += [Field(name, "step", dtype, ()) for name, dtype in STEP_NUMBERS.items()]
        if description.action_mask and action.has_masks:
            fields.append(Field("action_mask", "step", "bool", (sum(action.choices),)))
        fields.append(Field("bootstrap_value", "row", "float32", ()))
        fields += [
            Field(f"bootstrap_obs.{key}", "row", dtype, shape) for key, (dtype, shape) in observations.items()
        ]
        fields += [
            Field(f"recurrent_state.{key}", "row", "float32", tuple(policy_layout.recurrent_state[key]))
            for key in sorted(policy_layout.recurrent_state)
        ]
        row_numbers = ("slot_id", "first_step", "lease_id", "segment_index", "policy_version", "worker_id")
        fields += [Field(name, "row", "int64", ()) for name in row_numbers]
        fields += [Field("final_count", "row", "int32", ()), Field("final_step", "final", "int32", ())]
        fields.append(Field("final_value", "final", "float32", ()))
        fields += [
            Field(f"final_obs.{key}", "final", dtype, shape) for key, (dtype, shape) in observations.items()
        ]
        return cls(
            horizon=horizon,
            capacity=capacity,
            num_finals=_num_finals(observations, horizon),
            ticks_per_step=description.ticks_per_step,
            action_choices=action.choices,
            fields=tuple(fields),
        )

    @cached_property
    def observation_keys(self) -> tuple[str, ...]:
        """Keys of the observation, sorted."""
        return self._keys("obs.")

    @cached_property
    def recurrent_keys(self) -> tuple[str, ...]:
        """Keys of the recurrent state, sorted; empty for a feed-forward policy."""
        return self._keys("recurrent_state.")

    @cached_property
    def has_action_mask(self) -> bool:
        """Whether segments carry which actions were allowed."""
        return any(stored.name == "action_mask" for stored in self.fields)

    @cached_property
    def action_limits(self) -> NDArray[np.uint32]:
        """[components with choices], of a discrete action []: what each one's choices stay below."""
        limits = np.array(self.action_choices, np.uint32)
        return limits if self.field("action").shape else limits.reshape(())

    @property
    def num_actions(self) -> int | None:
        """Choices of a discrete action space, else None."""
        return self.action_choices[0] if self.action_choices and not self.field("action").shape else None

    @property
    def row_bytes(self) -> int:
        """Bytes of one segment in the store, without alignment."""
        return (
            sum(
                math.prod(self.array_shape(stored)) * np.dtype(stored.dtype).itemsize
                for stored in self.fields
            )
            // self.capacity
        )

    def field(self, name: str) -> Field:
        """The field called `name`. Raises: KeyError."""
        return self._by_name[name]

    @cached_property
    def _by_name(self) -> dict[str, Field]:
        return {stored.name: stored for stored in self.fields}

    def array_shape(self, stored: Field) -> tuple[int, ...]:
        leading = {"step": (self.horizon,), "row": (), "final": (self.num_finals,)}[stored.kind]
        return (*leading, self.capacity, *stored.shape)

    def offsets(self, start: int) -> tuple[dict[str, int], int]:
        """Byte offset of every field when the data begin at `start`, and where they end."""
        position = start
        found: dict[str, int] = {}
        for stored in self.fields:
            position = -(-position // ALIGNMENT) * ALIGNMENT
            found[stored.name] = position
            position += math.prod(self.array_shape(stored)) * np.dtype(stored.dtype).itemsize
        return found, position

    def to_json(self) -> dict[str, Any]:
        """Plain data for the file's header; `from_json` is its inverse."""
        return {
            "horizon": self.horizon,
            "capacity": self.capacity,
            "num_finals": self.num_finals,
            "ticks_per_step": self.ticks_per_step,
            "action_choices": list(self.action_choices),
            "fields": [
                [stored.name, stored.kind, stored.dtype, list(stored.shape)] for stored in self.fields
            ],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """A layout from a header. Raises: KeyError, TypeError, ValueError: when it is not one."""
        fields: list[Field] = []
        for name, kind, dtype, shape in cast("list[tuple[str, FieldKind, str, list[int]]]", data["fields"]):
            if kind not in ("step", "row", "final"):
                raise ValueError(f"field {name!r} is of kind {kind!r}")
            fields.append(Field(name, kind, np.dtype(dtype).name, tuple(int(extent) for extent in shape)))
        choices = tuple(int(count) for count in cast("list[int]", data["action_choices"]))
        sizes = {name: int(data[name]) for name in ("horizon", "capacity", "num_finals", "ticks_per_step")}
        if min(sizes.values()) < 1 or any(extent < 0 for stored in fields for extent in stored.shape):
            raise ValueError(f"sizes {sizes} are not all positive")
        return cls(**sizes, action_choices=choices, fields=tuple(fields))

    def _keys(self, prefix: str) -> tuple[str, ...]:
        return tuple(
            stored.name.removeprefix(prefix) for stored in self.fields if stored.name.startswith(prefix)
        )


def observation_fields(description: GameDescription) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Dtype and shape of each observation key, sorted by key; a plain box is `obs`."""
    parts = observation_parts(description.observation)
    return {key: (part.stored_type, part.stored_shape) for key, part in parts.items()}


def _num_finals(observations: Mapping[str, tuple[str, tuple[int, ...]]], horizon: int) -> int:
    size = sum(math.prod(shape) * np.dtype(dtype).itemsize for dtype, shape in observations.values())
    return horizon if size <= LARGE_OBSERVATION_BYTES else -(-horizon // STEPS_PER_LARGE_FINAL)


__all__ = [
    "ALIGNMENT",
    "RECURRENT_STATE",
    "SINGLE_OBSERVATION",
    "Field",
    "PolicyLayout",
    "StoreLayout",
    "observation_fields",
]
