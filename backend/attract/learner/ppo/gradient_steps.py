"""Turns a minibatch into a step of the optimizer, by torch's autograd, for any network."""

import math
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from attract.algorithm.distributions import ActionDistribution
from attract.algorithm.losses import clipped_surrogate_loss, value_loss
from attract.learner.algorithms.adam import Adam
from attract.learner.algorithms.algorithm import ExtraLoss
from attract.learner.ppo.minibatches import Inputs, Minibatch
from attract.learner.ppo.report import ScheduledHyperparameters
from attract.policy.network import Policy
from attract.settings.ppo import PpoSettings


@dataclass(frozen=True, slots=True)
class Losses:
    """Losses and probability ratios of a minibatch."""

    row: Tensor
    """[4] float32: policy loss, value loss, entropy, and the loss that they make."""
    log_ratio: Tensor
    ratio: Tensor
    """[n] float32 of each step, new against old."""


class GradientSteps(AbstractContextManager["GradientSteps"], Protocol):
    """The arithmetic of one update's minibatches; entered while it lasts."""

    def losses(self, minibatch: Minibatch, value_coef: float) -> Losses:
        """policy_loss + value_coef * value_loss - entropy_coef * entropy, and its parts.

        With `normalize_value_loss`, value_coef is divided by max(1, variance of the batch's value targets).
        """
        ...

    def step(self) -> Tensor:
        """One step of the optimizer along the gradient of the last losses: its norm before it is cut."""
        ...


class AutogradSteps(AbstractContextManager["AutogradSteps"]):
    """`GradientSteps` for any network and any loss, by torch's autograd.

    Args:
        policy: changed in place.
        optimizer: over its parameters.
        inputs: of the batch.
        distribution: of the game's actions.
        settings: numbers that do not follow a schedule.
        rates: numbers that do. For a frozen policy (rule P12) policy_loss has no gradient.
        extra_loss: added to the loss of each minibatch; what is reported is without it.
        generator: of `extra_loss`.
    """

    def __init__(
        self,
        policy: Policy,
        optimizer: Adam,
        inputs: Inputs,
        distribution: ActionDistribution,
        settings: PpoSettings,
        rates: ScheduledHyperparameters,
        extra_loss: ExtraLoss | None,
        generator: torch.Generator,
    ) -> None:
        self._policy = policy
        self._optimizer = optimizer
        self._inputs = inputs
        self._distribution = distribution
        self._settings = settings
        self._rates = rates
        self._extra_loss = extra_loss
        self._generator = generator
        self._parameters: Sequence[Tensor] = list(policy.parameters())
        self._loss: Tensor | None = None

    def __exit__(self, *_exception: object) -> None:
        self._loss = None

    def losses(self, minibatch: Minibatch, value_coef: float) -> Losses:
        """See `GradientSteps`."""
        steps, rates = minibatch.steps, self._rates
        outputs, new_values = self._inputs.forward(self._policy, minibatch)
        new_log_probs, entropies = self._distribution.log_prob_and_entropy(
            outputs, steps.actions, steps.action_masks
        )
        log_ratio = new_log_probs - steps.log_probs
        ratio = log_ratio.exp()
        surrogate = clipped_surrogate_loss(ratio, steps.advantages, rates.clip_range, steps.weights)
        value = value_loss(new_values, steps.value_targets, steps.values, self._settings.clip_range_vf)
        entropy = entropies.mean()
        loss = torch.add(surrogate.detach() if rates.is_policy_frozen else surrogate, value, alpha=value_coef)
        if rates.entropy_coef != 0.0:
            loss = torch.sub(loss, entropy, alpha=rates.entropy_coef)
        self._loss = loss
        with torch.no_grad():
            row = torch.stack((surrogate, value, entropy, loss))
            return Losses(row, log_ratio.detach(), ratio.detach())

    def step(self) -> Tensor:
        """See `GradientSteps`."""
        loss, self._loss = self._loss, None
        if loss is None:
            raise RuntimeError("expected losses before each step, got none")
        if self._extra_loss is not None:
            loss = loss + self._extra_loss(self._generator)
        for parameter in self._parameters:
            parameter.grad = None
        loss.backward()
        max_norm = self._settings.max_grad_norm
        norm = torch.nn.utils.clip_grad_norm_(
            self._parameters, math.inf if max_norm is None else max_norm, foreach=True
        )
        self._optimizer.step()
        self._policy.limit_spread()
        return norm
