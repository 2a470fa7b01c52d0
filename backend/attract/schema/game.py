"""The game description: all that a trainer needs to know of a game, produced by the game's own code."""

import hashlib
import json
import math
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from attract.schema.base import MAX_AGENTS, FiniteModel, Name, Text
from attract.schema.spaces import ActionSpace, BoxSpace, ObservationSpace, observation_parts

MetricName = Annotated[str, Field(min_length=1, max_length=100)]
"""Shown as `game/<name>` and `reward/<name>`."""
Reduction = Literal["last", "sum", "mean", "max"]
StackDepth = Annotated[int, Field(ge=2, le=16)]
SimulatedSeconds = Annotated[float, Field(gt=0, le=86_400)]
"""Up to a day."""


class ParameterRange(FiniteModel):
    """A game parameter that curricula and randomisation may set."""

    default: float
    low: float
    high: float


class RewardRange(FiniteModel):
    """The rewards that one `update()` of a game may give an agent, both ends included."""

    low: float
    high: float

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.low > self.high:
            raise ValueError(f"reward: low {self.low:g} is above high {self.high:g}")
        return self


class GameDescription(FiniteModel):
    """Description of a game, from `describe(definition)` of the SDK; one per content hash of the module."""

    contract_version: Literal[1] = 1
    id: Name
    tick_seconds: SimulatedSeconds
    seconds_per_step: SimulatedSeconds
    ticks_per_step: Annotated[int, Field(ge=1, le=60_000)]
    max_seconds: float | None
    max_steps: Annotated[int, Field(ge=1, le=2**53 - 1)] | None
    num_agents: Annotated[int, Field(ge=1, le=MAX_AGENTS)] = 1
    observation: ObservationSpace
    action: ActionSpace
    action_mask: bool = False
    keys: dict[str, float | Annotated[list[float], Field(fail_fast=True)]] = {}
    idle_action: float | Annotated[list[float], Field(fail_fast=True)] | None = None
    parameters: dict[str, ParameterRange] = {}
    metrics: dict[MetricName, Reduction] = {}
    reward_terms: dict[MetricName, float] = {}
    reward: RewardRange | None = None
    """None: the game declares none."""
    has_draw: bool = False
    page: Annotated[str, Field(min_length=1, max_length=500)] | None = None
    """The page that the game lives in, below its adapter's folder; None: it needs none."""
    picture_stacks: dict[str, StackDepth] = {}
    """Observations, a plain box as `obs`, that are the pictures of so many last steps side by side in their
    channels, the newest last: blocks may have the newest alone (`Block.packed`)."""

    @model_validator(mode="after")
    def _whole_ticks(self) -> Self:
        ratio = self.seconds_per_step / self.tick_seconds
        if abs(ratio - self.ticks_per_step) > 1e-6 or not math.isfinite(ratio):
            raise ValueError(
                f"T1: seconds_per_step / tick_seconds is {ratio:g}, ticks_per_step says {self.ticks_per_step}"
            )
        return self

    @model_validator(mode="after")
    def _stacks_fit(self) -> Self:
        spaces = observation_parts(self.observation)
        for key, depth in self.picture_stacks.items():
            leaf = spaces.get(key)
            if leaf is None:
                raise ValueError(f"picture_stacks: no observation {key[:80]!r}; there are {sorted(spaces)}")
            if not (isinstance(leaf, BoxSpace) and leaf.dtype == "uint8" and leaf.is_image):
                raise ValueError(
                    f"picture_stacks.{key}: it must be a uint8 box of shape [rows, columns, channels]"
                )
            if leaf.shape[-1] % depth:
                raise ValueError(
                    f"picture_stacks.{key}: {leaf.shape[-1]} channels are not {depth} pictures of equal size"
                )
        return self


class GameReference(FiniteModel):
    """Location of the module of a run's game; `url` is relative to the page's base."""

    name: Name
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    url: Text
    has_page: bool = False
    """Whether the game lives in a page, which a host opens in a frame of another origin than its own."""


def description_sha256(description: GameDescription) -> str:
    """Hash of a game's description: of its JSON with sorted keys, no spaces and no escapes, in UTF-8."""
    data = description.model_dump(mode="json")
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()
