"""What one update trains on: the segments of a batch as tensors on the learner's device."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

import torch
from torch import Tensor

from attract.experience.batch import Batch
from attract.policy.observation_inputs import Observations

RECURRENT_STATE = "state"
"""Key of the packed recurrent state in a batch."""


@dataclass(frozen=True, slots=True)
class FinalObservations:
    """The last observations of truncated episodes, n of them (rule E8)."""

    step: Tensor
    column: Tensor
    """[n] int64, where in the batch."""
    observations: Observations
    """[n, ...] each, raw."""


@dataclass(frozen=True, slots=True)
class UpdateBatch:
    """All segments of one update, time-major; never written to by the update.

    Rows (columns here) are ordered by slot and first step, never by arrival (rule C8).
    """

    observations: Observations
    """[T, S, ...] each, raw, before each step."""
    actions: Tensor
    """[T, S] integer; or [T, S, components], integer or float32."""
    log_probs: Tensor
    """[T, S] float32, of the actions under the version that acted."""
    values: Tensor
    """[T, S] float32, V(observation) under the version that acted."""
    rewards: Tensor
    """[T, S] float32; raw, or scaled (rule P11)."""
    terminated: Tensor
    """[T, S] bool."""
    truncated: Tensor
    """[T, S] bool."""
    valid: Tensor
    """[T, S] bool, rule S5."""
    final_values: Tensor
    """[T, S] float32, V(final observation); read only where truncated."""
    bootstrap_value: Tensor
    """[S] float32, rule E4."""
    slot_id: Tensor
    """[S] integer."""
    first_step: Tensor
    """[S] integer, the slot's own step counter."""
    policy_lag: Tensor | None = None
    """[S] integer, the learner's version less the one that acted; None: no lag."""
    action_masks: Tensor | None = None
    """[T, S, choices] bool, or None where every action is always allowed."""
    state: Tensor | None = None
    """[S, state_size] float32, at the first step (rule S3); None: the policy is feed-forward."""
    bootstrap_observations: Observations = field(default_factory=dict[str, Tensor])
    """[S, ...] each, after the last step; needed to compute values anew (rule E8)."""
    finals: FinalObservations | None = None
    """Needed to compute values anew, where an episode was truncated."""
    reward_bonus: Tensor | None = None
    """[T, S] float32, what a wrapper pays beside the rewards, once these are scaled; None: nothing."""
    advantage_bonus: Tensor | None = None
    """[T, S] float32, a wrapper's own advantages, added to those that the algorithm estimates; None: none."""

    @classmethod
    def of(cls, batch: Batch, policy_version: int) -> Self:
        """The part of a batch that training reads; shares its tensors.

        Args:
            batch: verified segments.
            policy_version: the learner's, before the update.
        """
        return cls(
            observations=batch.observation,
            actions=batch.action,
            log_probs=batch.log_prob,
            values=batch.value,
            rewards=batch.reward,
            terminated=batch.terminated,
            truncated=batch.truncated,
            valid=batch.valid,
            final_values=batch.final_value,
            bootstrap_value=batch.bootstrap_value,
            slot_id=batch.slot_id,
            first_step=batch.first_step,
            policy_lag=policy_version - batch.policy_version,
            action_masks=batch.action_mask,
            state=batch.recurrent_state.get(RECURRENT_STATE),
            bootstrap_observations=batch.bootstrap_observation,
            finals=FinalObservations(batch.final_step, batch.final_column, batch.final_observation),
        )

    @property
    def reset_after(self) -> Tensor:
        """[T, S] bool: after which steps a recurrent state is zeroed (rules S4, E9)."""
        return self.terminated | self.truncated | ~self.valid

    @property
    def has_lag(self) -> bool:
        """Whether any segment was played by an earlier version than the learner's."""
        return self.policy_lag is not None and bool((self.policy_lag > 0).any())


def start_states(batch: UpdateBatch, state_size: int, *, from_zero: bool) -> Tensor:
    """State each segment is trained from: the stored one, or zeros (rule S3).

    Returns: [S, state_size] float32; state_size 0 for a feed-forward policy.
    Raises: ValueError: when stored states are wanted and the batch has none, or others.
    """
    num_segments = batch.valid.shape[1]
    if from_zero or state_size == 0:
        return torch.zeros((num_segments, state_size), device=batch.valid.device)
    if batch.state is None or batch.state.shape != (num_segments, state_size):
        found = None if batch.state is None else tuple(batch.state.shape)
        raise ValueError(f"expected states of shape ({num_segments}, {state_size}), got {found}")
    return batch.state


def finite_where_invalid(observations: Mapping[str, Tensor], valid: Tensor) -> Mapping[str, Tensor]:
    """Observations with zeros at invalid steps, so that what they hold reaches no gradient (rule S5).

    Args:
        observations: [T, S, ...] each.
        valid: [T, S] bool.
    """
    if bool(valid.all()):
        return observations
    return {
        key: array.masked_fill(~valid.view(*valid.shape, *(1,) * (array.dim() - 2)), 0)
        for key, array in observations.items()
    }
