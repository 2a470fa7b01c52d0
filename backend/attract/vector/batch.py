"""What one game's slots see and do: the shapes, and one group's step, a unit of `recv()` (rule I1)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from attract.experience.layout import PolicyLayout, StoreLayout, observation_fields
from attract.schema.episode_results import EpisodeResult
from attract.schema.game import GameDescription


@dataclass(frozen=True)
class VectorLayout:
    """Derived from the store's own layout, so that what is built here always fits there."""

    horizon: int
    """Steps per segment."""
    num_agents: int
    ticks_per_step: int
    observations: Mapping[str, tuple[str, tuple[int, ...]]]
    """Dtype and shape per key, keys sorted; a plain box is `obs`."""
    action_dtype: str
    action_shape: tuple[int, ...]
    num_actions: int | None
    """n of a discrete action space, else None."""
    mask_size: int
    """Entries of an action mask; 0 for a game without one."""

    @classmethod
    def for_game(cls, description: GameDescription, horizon: int) -> Self:
        """The layout for a game. Raises: ConfigurationError: for a horizon below 1."""
        store = StoreLayout.for_run(description, PolicyLayout(), horizon, 1)
        action = store.field("action")
        return cls(
            horizon=horizon,
            num_agents=description.num_agents,
            ticks_per_step=description.ticks_per_step,
            observations=observation_fields(description),
            action_dtype=action.dtype,
            action_shape=action.shape,
            num_actions=store.num_actions,
            mask_size=store.field("action_mask").shape[0] if store.has_action_mask else 0,
        )


@dataclass(frozen=True, eq=False)
class StepBatch:
    """One group after one step of each of its k slots; arrays hold until the same group's next batch.

    Columns are the group's slots in order, an instance's agents side by side.
    """

    group: int
    slots: slice
    """The rows of the whole environment that these are."""
    slot_id: NDArray[np.int64]
    """[k], as issued by the server; in a local environment the row number."""
    num_outcomes: int
    """Steps of this group delivered so far, this one included; 0: the observation after `reset`."""
    slot_step: NDArray[np.int64]
    """[k]: each slot's own step counter, steps taken in all (rule S2)."""
    observation: Mapping[str, NDArray[Any]]
    """Per key [k, ...]: after the step and, where an episode ended, after the reset (rule E3)."""
    action_mask: NDArray[np.bool_] | None
    """[k, n]: which actions are allowed next; None for a game without masks."""
    active: NDArray[np.bool_]
    """[k]: whether the slot takes part in the next step (rule E9)."""
    episode: NDArray[np.int64]
    episode_step: NDArray[np.int64]
    """[k] each: with the slot they name the next action's draw (rule C5)."""
    reward: NDArray[np.float32]
    """[k], raw, summed over the step's ticks; this and the next four are zero after `reset`."""
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]
    """[k] each, rule E1."""
    valid: NDArray[np.bool_]
    """[k]: False where the agent took no part, its game failed, or its worker has vanished."""
    executed_ticks: NDArray[np.uint16]
    final_column: NDArray[np.int64]
    """[n]: columns whose step was truncated; in an environment with `tells_terminal`, or terminated."""
    final_observation: Mapping[str, NDArray[Any]]
    """Per key [n, ...]: the observations before those resets (rule E2)."""
    episodes: tuple[EpisodeResult, ...]
    """Episodes that ended in this step; `step` is 0."""
    step_seconds: float
    """Longest time a worker took for its games of the group."""
