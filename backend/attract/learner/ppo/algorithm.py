"""PPO behind the seam: its state between updates, and what it makes of a batch before it learns from it."""

import logging
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

import torch

from attract.algorithm.normalisation import RunningMoments
from attract.experience.batch import Batch
from attract.learner.algorithms.algorithm import (
    AlgorithmState,
    ExtraLoss,
    Learnable,
    Progress,
    Report,
    undone_on_failure,
)
from attract.learner.algorithms.reward_scale import RETURNS, SeenReturns, SlotReturns, scaled
from attract.learner.checkpoints.state_tensors import (
    adam_tensors,
    random_state_of,
    restore_adam,
    restore_random_state,
    within,
)
from attract.learner.ppo.report import ScheduledHyperparameters, UpdateReport, scheduled_hyperparameters
from attract.learner.ppo.reward_history import RewardHistory
from attract.learner.ppo.update import create_optimizer, ppo_update
from attract.settings.base import LearnerName
from attract.settings.ppo import PpoSettings

_SLOTS = f"{RETURNS}.slots."
UNREWARDED_ENTROPY_COEF = 0.01
"""Minimum entropy coefficient for choices while every step so far had the same reward: until then an
action looks better only by the critic's error."""

MIN_DEVIATION_SHARE = 0.25
"""Floor of a minibatch's advantage deviation, as a share of the usual deviation (rule P1)."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AdvantageScale:
    """Decaying mean over updates of the variances of one policy's advantages: a floor for small ones (P1)."""

    variance: float = 0.0
    """Weighted sum of the variances."""
    weight: float = 0.0
    """Sum of the weights; 0 before the first update."""

    @classmethod
    def restore(cls, document: Any) -> Self:
        """What `to_document` gave. Raises: KeyError, TypeError, ValueError: it gave something else."""
        return cls(variance=float(document["variance"]), weight=float(document["weight"]))

    def to_document(self) -> dict[str, Any]:
        """As a checkpoint's document holds it."""
        return asdict(self)

    def then(self, variance: float, decay: float) -> "AdvantageScale":
        """The scale after one more update.

        Args:
            variance: of its advantages, before they are normalised; one that is not finite is ignored.
            decay: weight of the earlier variances, in [0, 1).
        """
        if not math.isfinite(variance):
            return self
        gain = 1.0 - decay
        return AdvantageScale(decay * self.variance + gain * variance, decay * self.weight + gain)

    @property
    def deviation(self) -> float:
        """The root of the mean; 0 before the first update."""
        return 0.0 if self.weight == 0.0 else math.sqrt(self.variance / self.weight)


@dataclass(frozen=True, slots=True)
class _Seen:
    """Statistics of an update's batch, which count from `commit` on."""

    rewards: RewardHistory
    advantages: AdvantageScale
    returns: SeenReturns | None
    """None: rewards are not scaled."""


class Ppo:
    """`Algorithm`: clipped PPO with Adam, on rewards scaled by the size of their returns.

    Args:
        learnable: the policy.
        settings: of the run.
        learner: how gradients are computed.
    """

    uses_log_probs: bool = True

    def __init__(self, learnable: Learnable, settings: PpoSettings, learner: LearnerName = "auto") -> None:
        self._policy = learnable.policy
        self._distribution = learnable.distribution
        self._settings = settings
        self._learner: LearnerName = learner
        self._num_agents = learnable.num_agents
        self.optimizer = create_optimizer(learnable.policy, settings.learning_rate)
        self.generator = learnable.generator("shuffle")
        """Shuffles minibatches; on the CPU whatever the device."""
        self.moments: Mapping[str, RunningMoments] = (
            {RETURNS: RunningMoments.empty(())} if settings.normalize_rewards else {}
        )
        self._slot_returns = SlotReturns()
        self._rewards: RewardHistory | None = None
        """None before there was one."""
        self._advantages = AdvantageScale()
        self._seen: _Seen | None = None
        self._is_halved = False
        """Whether the device had no room for minibatches as large as the settings have them."""

    def can_learn_from(self, batch: Batch) -> bool:
        return bool(batch.valid[self._settings.burn_in_steps :].any())

    def update(self, batch: Batch, progress: Progress, extra_loss: ExtraLoss | None = None) -> Report:
        details = dict[str, float]()
        scheduled = scheduled_hyperparameters(self._settings, progress.agent_steps, progress.schedule_steps)
        history = RewardHistory.of(batch, self._num_agents)
        history = history if self._rewards is None else self._rewards.then(history)
        rates = self._rates_with(scheduled, batch, history)
        gae_lambda = self._settings.lambda_for(
            sees_pictures=self._policy.sees_pictures, is_zero_sum=history.is_zero_sum
        )
        settings = self._settings.model_copy(update={"gae_lambda": gae_lambda})
        if rates.entropy_coef != scheduled.entropy_coef:
            details["train/entropy_coef"] = rates.entropy_coef
        returns: SeenReturns | None = None
        if settings.normalize_rewards:
            returns = self._slot_returns.see(batch, settings.gamma)
            rewards, divisor = scaled(batch.reward, self.moments[RETURNS], returns)
            batch = replace(batch, reward=rewards)
            details["train/reward_divisor"] = divisor
        if batch.reward_bonus is not None:
            batch = replace(batch, reward=batch.reward + batch.reward_bonus)
        # Between equal opponents who learn, points become rare, but stay worth playing for (rule P14).
        min_deviation = 0.0 if history.is_zero_sum else MIN_DEVIATION_SHARE * self._advantages.deviation
        report = self._fitted(batch, settings, rates, min_deviation, extra_loss)
        advantages = self._advantages
        # The advantages of a frozen policy are the critic's error.
        if settings.advantage_scale_decay is not None and not rates.is_policy_frozen:
            advantages = advantages.then(report.advantage_variance, settings.advantage_scale_decay)
        self._seen = _Seen(history, advantages, returns)
        return Report({**report.metrics(), **details}, scheduled.metrics(), report.entropy)

    def _fitted(
        self,
        batch: Batch,
        settings: PpoSettings,
        rates: ScheduledHyperparameters,
        min_deviation: float,
        extra_loss: ExtraLoss | None,
    ) -> UpdateReport:
        """The update; where the device has no room for its minibatches, once, in halves of them."""
        try:
            with undone_on_failure(self):
                return ppo_update(
                    self._policy,
                    self.optimizer,
                    batch,
                    settings.halved if self._is_halved else settings,
                    self.generator,
                    distribution=self._distribution,
                    rates=rates,
                    min_deviation=min_deviation,
                    extra_loss=extra_loss,
                    learner=self._learner,
                )
        except torch.OutOfMemoryError as error:
            if self._is_halved:
                raise
            log.warning("out of memory: minibatches are half as large from here on: %s", error)
            self._is_halved = True
        # The failed attempt's memory is freed before the next attempt.
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        return self._fitted(batch, settings, rates, min_deviation, extra_loss)

    def commit(self) -> Mapping[str, RunningMoments]:
        if self._seen is None:
            return {}
        seen, self._seen = self._seen, None
        self._rewards, self._advantages = seen.rewards, seen.advantages
        if seen.returns is None:
            return {}
        self._slot_returns.take_over(seen.returns)
        return {RETURNS: seen.returns.moments}

    def snapshot(self) -> Callable[[], None]:
        weights = {name: tensor.detach().clone() for name, tensor in self._policy.state_dict().items()}
        undo_optimizer = self.optimizer.undo_point()
        random_state, seen = self.generator.get_state(), self._seen

        def undo() -> None:
            self._seen = seen
            self._policy.load_state_dict(weights)
            undo_optimizer()
            self.generator.set_state(random_state)

        return undo

    def state(self) -> AlgorithmState:
        slots = self._slot_returns.tensors() if RETURNS in self.moments else {}
        return AlgorithmState(
            tensors={f"{_SLOTS}{name}": tensor for name, tensor in slots.items()},
            optimizer=adam_tensors(self.optimizer, self._policy),
            document={
                "random_state": {"shuffle": random_state_of(self.generator)},
                "rewards": None if self._rewards is None else self._rewards.to_document(),
                "advantages": self._advantages.to_document(),
            },
        )

    def load_state(self, state: AlgorithmState) -> None:
        document = state.document
        restore_adam(self.optimizer, self._policy, state.optimizer)
        restore_random_state(self.generator, document["random_state"]["shuffle"])
        known = document.get("rewards")
        self._rewards = None if known is None else RewardHistory.restore(known)
        if (spread := document.get("advantages")) is not None:
            self._advantages = AdvantageScale.restore(spread)
        if slots := within(state.tensors, _SLOTS):
            self._slot_returns.restore(slots)

    def _rates_with(
        self, rates: ScheduledHyperparameters, batch: Batch, history: RewardHistory
    ) -> ScheduledHyperparameters:
        """Rates of this update: without a differing reward the policy keeps its entropy (rule P12)."""
        has_bonus = batch.reward_bonus is not None or batch.advantage_bonus is not None
        is_frozen = history.freezes_policy and not has_bonus
        if self._policy.action_log_std is not None:
            # Where entropy alone counts, the spread of a number would grow without bound.
            entropy_coef = 0.0 if is_frozen else rates.entropy_coef
        elif history.is_uniform:
            entropy_coef = max(rates.entropy_coef, UNREWARDED_ENTROPY_COEF)
        else:
            entropy_coef = rates.entropy_coef
        return replace(rates, is_policy_frozen=is_frozen, entropy_coef=entropy_coef)
