"""Advantages and value targets of a batch: once per update, or recomputed before each epoch."""

from dataclasses import dataclass

import torch
from torch import Tensor

from attract.algorithm.advantages import advantages_from_segments, vtrace_from_segments
from attract.algorithm.distributions import ActionDistribution
from attract.algorithm.streams import chain_segments
from attract.experience.batch import Batch
from attract.learner.algorithms.batch_evaluation import BatchEvaluation, evaluate_batch
from attract.policy.network import Policy
from attract.settings.ppo import PpoSettings


@dataclass(frozen=True, slots=True)
class Estimates:
    """Targets of the losses; [T, S] float32 each, numbers of invalid steps mean nothing."""

    advantages: Tensor
    """Not normalised."""
    value_targets: Tensor
    values: Tensor
    """Those the advantages were computed from; value clipping is around them."""
    ratios: Tensor | None = None
    """pi_start / pi_behaviour, where V-trace was used."""


class Estimator:
    """Gives a batch's estimates; made at the start of an update, lives as long as that (rules P4, P9).

    Without lag and `recompute_advantages` it is GAE on the values that came with the batch. V-trace takes its
    ratio from the weights the update begins with, and values under them. With `recompute_advantages` each
    call computes values under the weights of that moment; V-trace's ratio stays that of the start.

    Args:
        policy: its weights are read at each call.
        distribution: of the game's actions.
        batch: one update's segments.
        settings: gamma, gae_lambda, and which of the above.
        has_lag: whether the batch of any learner of this update has; None: this one alone is asked.
    """

    def __init__(
        self,
        policy: Policy,
        distribution: ActionDistribution,
        batch: Batch,
        settings: PpoSettings,
        *,
        has_lag: bool | None = None,
    ) -> None:
        self._policy = policy
        self._distribution = distribution
        self._batch = batch
        self._settings = settings
        self._gae_lambda = settings.lambda_for(sees_pictures=policy.sees_pictures)
        self._next_segment = chain_segments(
            batch.slot_id, batch.first_step, batch.reward.shape[0], batch.valid[0]
        )
        self._ratios: Tensor | None = None
        self._is_corrected = settings.lag_correction == "vtrace" and (
            batch.has_lag if has_lag is None else has_lag
        )

    @torch.no_grad()
    def estimate(self) -> Estimates:
        """Advantages and value targets over the batch's streams (rules E6, S2, P9)."""
        batch, settings = self._batch, self._settings
        if not self._is_corrected and not settings.recompute_advantages:
            return self._gae(batch.value, batch.final_value, batch.bootstrap_value)
        now = evaluate_batch(
            self._policy, self._distribution, batch, from_zero=settings.recurrent_start == "zero"
        )
        if not self._is_corrected:
            return self._gae(now.values, now.final_values, now.bootstrap_value)
        if self._ratios is None:
            self._ratios = torch.exp(now.log_probs - batch.log_prob)
        return self._vtrace(now, self._ratios)

    def _gae(self, values: Tensor, final_values: Tensor, bootstrap_value: Tensor) -> Estimates:
        batch, settings = self._batch, self._settings
        advantages = advantages_from_segments(
            batch.reward,
            values,
            final_values,
            bootstrap_value,
            batch.terminated,
            batch.truncated,
            batch.valid,
            self._next_segment,
            gamma=settings.gamma,
            gae_lambda=self._gae_lambda,
        )
        return Estimates(self._with_bonus(advantages), advantages + values, values)

    def _vtrace(self, now: BatchEvaluation, ratios: Tensor) -> Estimates:
        batch, settings = self._batch, self._settings
        advantages, targets = vtrace_from_segments(
            ratios,
            batch.reward,
            now.values,
            now.final_values,
            now.bootstrap_value,
            batch.terminated,
            batch.truncated,
            batch.valid,
            self._next_segment,
            gamma=settings.gamma,
            gae_lambda=self._gae_lambda,
            rho_max=settings.rho_max,
            c_max=settings.c_max,
        )
        return Estimates(self._with_bonus(advantages), targets, now.values, ratios)

    def _with_bonus(self, advantages: Tensor) -> Tensor:
        bonus = self._batch.advantage_bonus
        return advantages if bonus is None else advantages + bonus
