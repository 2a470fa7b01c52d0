"""DQN behind the seam: the loss of its gradient steps, and the policy's heads."""

import copy
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import ClassVar

import torch
from torch import Tensor

from attract.algorithm.quantiles import quantile_huber_loss, quantile_targets
from attract.learner.algorithms.algorithm import Learnable, Progress
from attract.learner.dqn.dense_steps import DenseSteps, can_be_written_out
from attract.learner.dqn.exploration import epsilon, logit_scale, wanted_entropy
from attract.learner.dqn.network import Choices, QuantileNetwork
from attract.learner.replay.off_policy import Minibatch, OffPolicy
from attract.settings.base import LearnerName
from attract.settings.dqn import DqnSettings

NUM_EXPLORED = 512
"""Observations over which the entropy of the next version is measured."""


class Dqn(OffPolicy):
    """Double, dueling DQN with quantile regression.

    After the gradient steps the policy's heads are written: the logits are the advantages, scaled so that
    actions are as random on average as the schedule wants.

    Args:
        learnable: the policy.
        settings: of the run.
        learner: `auto` computes gradients without autograd where it can.
    """

    metric_names: ClassVar[tuple[str, ...]] = ("train/loss", "train/q_value", "train/q_target")

    def __init__(self, learnable: Learnable, settings: DqnSettings, learner: LearnerName = "auto") -> None:
        self.network = QuantileNetwork(
            learnable.policy,
            Choices.of(learnable.distribution),
            settings.n_quantiles,
            learnable.generator("quantiles"),
        ).to(learnable.device)
        self.target = copy.deepcopy(self.network).requires_grad_(False)
        """Its normalisers and policy heads are never used."""
        super().__init__(learnable, settings, self.network, self.target)
        self._distribution = learnable.distribution
        self._settings = settings
        self._is_written_out = learner == "auto" and can_be_written_out(self.network)

    def _loss(self, minibatch: Minibatch) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Of the quantiles of the actions that were taken."""
        following = minibatch.following
        with torch.no_grad():
            best = self.network.best(following, minibatch.following_mask)
            targets = quantile_targets(
                minibatch.rewards, minibatch.discount, self.target.quantiles(following, best)
            )
        indices = self.network.choices.indices(minibatch.actions)
        predicted = self.network.quantiles(minibatch.now, indices)
        loss = quantile_huber_loss(predicted, targets)
        return loss, (loss.detach(), predicted.detach().mean(), targets.mean())

    def _steps(self) -> AbstractContextManager[Callable[[Minibatch], Tensor]]:
        if not self._is_written_out:
            return super()._steps()
        return DenseSteps(self.network, self.target, self.optimizer, self._settings)

    @torch.no_grad()
    def _write_policy(self, progress: Progress) -> tuple[dict[str, float], dict[str, float]]:
        """Logits for this epsilon."""
        settings = self._settings
        eps = epsilon(
            settings.exploration_initial_eps,
            settings.exploration_final_eps,
            settings.exploration_fraction,
            progress.agent_steps,
            progress.schedule_steps,
        )
        drawn = self.buffer.draw(NUM_EXPLORED, self.generator, gamma=0.0, n_steps=1, divisor=None)
        mask = self.buffer.masks(drawn.start, self._device)
        preprocessed = self._policy.preprocess(self.buffer.observations(drawn.start, self._device))
        wanted = wanted_entropy(eps, self.network.choices, mask, NUM_EXPLORED)
        self.network.write_heads(1.0)
        scale, entropy = logit_scale(self._policy, self._distribution, preprocessed, mask, wanted)
        self.network.write_heads(scale)
        return {"train/logit_scale": scale, "train/entropy": entropy}, {"train/epsilon": eps}
