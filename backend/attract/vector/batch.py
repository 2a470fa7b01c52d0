"""Observations of a group's slots and outcomes of their last step: one unit of `recv()` (rule I1)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attract.schema.messages import EpisodeResult


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
