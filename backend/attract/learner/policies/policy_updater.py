"""One policy of a run in training: what its rows are judged by, and its part of an update (rules C7, P7)."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Literal

from torch import Tensor

from attract.algorithm.distributions import ActionDistribution, DiagonalGaussian
from attract.algorithm.normalisation import RunningMoments
from attract.experience.batch import Batch
from attract.learner.policies.policy_state import RETURNS, PolicyState
from attract.learner.ppo.novelty import SeenNovelty
from attract.learner.ppo.report import ScheduledHyperparameters, UpdateReport
from attract.learner.ppo.reward_history import RewardHistory
from attract.learner.ppo.reward_scale import SeenReturns, scaled
from attract.learner.ppo.update import ppo_update
from attract.learner.ppo.update_batch import UpdateBatch
from attract.learner.verification import VersionHistory, verify
from attract.schema.learner import RejectedRow
from attract.settings.ppo import PpoSettings

UNREWARDED_ENTROPY_COEF = 0.01
"""Least coefficient of the entropy of choices while every step so far had the same reward: nothing was found
yet that would be worth deciding for, and what looks better is the critic's error."""


class PolicyUpdater:
    """Sole user of one policy's state; hears of that policy's rows alone. On the learner's main thread.

    Args:
        state: changed in place.
        distribution: how the network's outputs become actions.
        ppo: of the run.
        num_versions: how many versions are remembered, to judge late segments by: `max_policy_lag` + 1.
    """

    def __init__(
        self, state: PolicyState, distribution: ActionDistribution, ppo: PpoSettings, num_versions: int
    ) -> None:
        self.state = state
        self._distribution = distribution
        self._ppo = ppo
        self._history = VersionHistory(state.policy, distribution, num_versions)
        self._suspects: set[int] = set()
        """Workers of which a segment was refused."""
        self._seen: SeenReturns | None = None
        self._novelty: SeenNovelty | None = None
        self._rewards: RewardHistory | None = None

    def remember(self, policy_version: int, state: Mapping[str, Tensor]) -> None:
        """Keep the state dict that plays as that version."""
        self._history.remember(policy_version, state)

    def verify(
        self, batch: Batch, verify_rows: Collection[int], *, extent: Literal["sample", "all"]
    ) -> tuple[Batch, list[RejectedRow]]:
        """Rule C7; without trust all rows are recomputed, and the batch returned has our own numbers.

        Of a worker that was wrong once every row is recomputed: the others of this batch, and all later.
        """
        worker_of = dict(zip(batch.rows, batch.worker_id.tolist(), strict=True))
        version_of = dict(zip(batch.rows, batch.policy_version.tolist(), strict=True))
        rows = set(batch.rows)
        wanted = rows.intersection(verify_rows) if extent == "sample" else rows
        batch, refused = self._verified(batch, wanted, replace_numbers=extent == "all")
        # A version that is not known here any more is no fault of the worker's.
        self._suspects |= {worker_of[row] for row in refused if version_of[row] in self._history}
        if extent == "sample":
            rest = {row for row in batch.rows if worker_of[row] in self._suspects} - wanted
            batch, more = self._verified(batch, rest, replace_numbers=False)
            refused |= more
        rejected = [
            RejectedRow(row=row, largest_difference=by, is_blamed=version_of[row] in self._history)
            for row, by in refused.items()
        ]
        return batch, rejected

    def _verified(
        self, batch: Batch, wanted: Collection[int], *, replace_numbers: bool
    ) -> tuple[Batch, dict[int, float]]:
        tolerance = self.state.tolerance
        return verify(batch, wanted, self._history, tolerance, replace_numbers=replace_numbers)

    def can_learn_from(self, batch: Batch) -> bool:
        """Whether a valid step is left past any burn-in."""
        return bool(batch.valid[self._ppo.burn_in_steps :].any())

    def update(self, batch: Batch, policy_version: int, rates: ScheduledHyperparameters) -> UpdateReport:
        """One update on verified rows; `policy_version` is that before it.

        Raises: NonFiniteUpdateError: the update was undone (rule P8).
        """
        update_batch, details = UpdateBatch.of(batch, policy_version), dict[str, float]()
        rates = self._rates_with(rates, batch)
        details["train/entropy_coef"] = rates.entropy_coef
        if self._ppo.normalize_rewards:
            self._seen = self.state.slot_returns.see(update_batch, self._ppo.gamma)
            rewards, divisor = scaled(update_batch.rewards, self.state.statistics[RETURNS], self._seen)
            update_batch = replace(update_batch, rewards=rewards)
            details["train/reward_divisor"] = divisor
        if self.state.novelty is not None:
            self._novelty = self.state.novelty.see(self.state.policy, update_batch, self._ppo.gamma)
            bonus = self._novelty.bonus * self._ppo.exploration_coef
            update_batch = replace(update_batch, rewards=update_batch.rewards + bonus)
            details["train/exploration_bonus"] = float(bonus[batch.valid].mean())
        report = ppo_update(
            self.state.policy,
            self.state.optimizer,
            update_batch,
            self._ppo,
            self.state.generator,
            distribution=self._distribution,
            rates=rates,
        )
        return replace(report, details={**report.details, **details})

    def gather(self, batch: Batch) -> None:
        """Let the next version normalise by this batch too (rules P7, P11).

        Args:
            batch: of a warm-up, or that of the last update, which succeeded.
        """
        moments = {
            key: RunningMoments.of(batch.observation[key], batch.valid)
            for key in self.state.observation_statistics
        }
        if self._rewards is not None:
            self.state.rewards, self._rewards = self._rewards, None
        if self._seen is not None:
            moments[RETURNS] = self._seen.moments
            self.state.slot_returns.take_over(self._seen)
            self._seen = None
        if self.state.novelty is not None and self._novelty is not None:
            self.state.novelty.take_over(self._novelty, self.state.generator)
            self._novelty = None
        self.state.gather(moments)

    def _rates_with(self, rates: ScheduledHyperparameters, batch: Batch) -> ScheduledHyperparameters:
        """Those of this update: what nothing was found for is not decided for (rule P12)."""
        history = RewardHistory.of(batch)
        self._rewards = history if self.state.rewards is None else self.state.rewards.then(history)
        is_held = self._rewards.holds_policy and self.state.novelty is None
        if isinstance(self._distribution, DiagonalGaussian):
            # Where entropy alone counts, the spread of a number would grow without bound.
            entropy_coef = 0.0 if is_held else rates.entropy_coef
        elif self._rewards.is_uniform:
            entropy_coef = max(rates.entropy_coef, UNREWARDED_ENTROPY_COEF)
        else:
            entropy_coef = rates.entropy_coef
        return replace(rates, is_policy_held=is_held, entropy_coef=entropy_coef)
