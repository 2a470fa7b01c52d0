"""The steps of an update for policies of dense layers on a CPU, with all gradients written out."""

import math
from contextlib import AbstractContextManager
from typing import Self

import torch
from torch import Tensor

from attract.algorithm.distribution_gradients import Evaluated, evaluate_with_gradient, has_gradient
from attract.algorithm.distributions import ActionDistribution
from attract.learner.algorithms.adam import Adam
from attract.learner.algorithms.flat_parameters import FlatParameters
from attract.learner.ppo.gradient_steps import Losses
from attract.learner.ppo.minibatches import Minibatch, StepInputs, Steps
from attract.learner.ppo.report import ScheduledHyperparameters
from attract.policy.dense_gradients import DensePolicy, is_dense, parameter_blocks
from attract.policy.network import Policy
from attract.settings.ppo import PpoSettings


class FusedSteps(AbstractContextManager["FusedSteps"]):
    """`GradientSteps` without autograd: few operations, into kept buffers, in the same order every time.

    Args:
        policy: changed in place; one that `can_be_fused`, as are the next two.
        optimizer: over its parameters.
        inputs: of the batch.
        distribution: of the game's actions.
        settings: numbers that do not follow a schedule.
        rates: numbers that do.
    """

    def __init__(
        self,
        policy: Policy,
        optimizer: Adam,
        inputs: StepInputs,
        distribution: ActionDistribution,
        settings: PpoSettings,
        rates: ScheduledHyperparameters,
    ) -> None:
        self._policy = policy
        self._inputs = inputs
        self._distribution = distribution
        self._rates = rates
        self._clip_range_vf = settings.clip_range_vf
        self._max_norm = math.inf if settings.max_grad_norm is None else settings.max_grad_norm
        flat = self._flat = FlatParameters(optimizer, parameter_blocks(policy), _still(policy, rates))

        def views(*block: Tensor) -> tuple[Tensor, Tensor]:
            return flat.view(flat.weights, *block), flat.view(flat.gradients, *block)

        self._network = DensePolicy(policy, views)
        self._log_std = None if policy.action_log_std is None else views(policy.action_log_std)
        self._features: Tensor | None = None
        self._by_outputs: Tensor | None = None

    def __enter__(self) -> Self:
        self._flat.__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        self._features = self._by_outputs = None
        self._flat.__exit__(None, None, None)

    @torch.inference_mode()
    def losses(self, minibatch: Minibatch, value_coef: float) -> Losses:
        """See `GradientSteps`."""
        steps, rates = minibatch.steps, self._rates
        features = self._inputs.features(self._policy, minibatch)
        rows = self._network.forward(features)
        evaluated = evaluate_with_gradient(
            self._distribution, self._outputs(rows), steps.actions, steps.action_masks
        )
        log_ratio = evaluated.log_probs - steps.log_probs
        ratio = log_ratio.exp()
        by_outputs = torch.empty_like(rows)
        surrogate, by_log_prob = self._surrogate(ratio, steps)
        value = self._value(rows[-1], steps, value_coef, by_outputs[-1])
        self._set_policy_gradient(evaluated, by_log_prob, by_outputs)
        entropy = float(evaluated.entropies.mean())
        loss = surrogate + value_coef * value - rates.entropy_coef * entropy
        self._features, self._by_outputs = features, by_outputs
        return Losses(torch.tensor((surrogate, value, entropy, loss)), log_ratio, ratio)

    @torch.inference_mode()
    def step(self) -> Tensor:
        """See `GradientSteps`."""
        if self._features is None or self._by_outputs is None:
            raise RuntimeError("expected losses before each step, got none")
        self._network.backward(self._features, self._by_outputs)
        self._features = self._by_outputs = None
        norm = self._flat.step(self._max_norm)
        self._policy.limit_spread()
        return norm

    def _outputs(self, rows: Tensor) -> Tensor:
        """[num_outputs, n], as the distribution takes them."""
        outputs = rows[:-1]
        if self._log_std is None:
            return outputs
        return torch.cat((outputs, self._log_std[0].unsqueeze(1).expand(-1, outputs.shape[1])))

    def _surrogate(self, ratio: Tensor, steps: Steps) -> tuple[float, Tensor]:
        """The clipped surrogate loss, and its gradient by each log-probability."""
        rates, size = self._rates, len(ratio)
        unclipped = ratio * steps.advantages
        clipped = ratio.clamp(1.0 - rates.clip_range, 1.0 + rates.clip_range).mul_(steps.advantages)
        objective = torch.minimum(unclipped, clipped)
        if steps.weights is not None:
            objective.mul_(steps.weights)
            unclipped_gradient = unclipped * steps.weights
        else:
            unclipped_gradient = unclipped
        # d ratio / d log-probability is the ratio; where clipping makes the objective smaller there is none.
        by_log_prob = torch.mul(unclipped_gradient, unclipped <= clipped).mul_(
            0.0 if rates.is_policy_frozen else -1.0 / size
        )
        return -float(objective.sum()) / size, by_log_prob

    def _value(self, new_values: Tensor, steps: Steps, value_coef: float, gradient: Tensor) -> float:
        """The value loss; writes the gradient of `value_coef` times it."""
        size = len(new_values)
        error = torch.sub(new_values, steps.value_targets, out=gradient)
        squares = error.square()
        if self._clip_range_vf is not None:
            change = new_values - steps.values
            limited = change.clamp(-self._clip_range_vf, self._clip_range_vf)
            other_error = steps.values + limited - steps.value_targets
            other_squares = other_error.square()
            # A value that was clipped does not move.
            other_error.mul_(limited == change)
            gradient.copy_(torch.where(squares >= other_squares, error, other_error))
            squares = torch.maximum(squares, other_squares)
        gradient.mul_(value_coef / size)
        return 0.5 * float(squares.sum()) / size

    def _set_policy_gradient(self, evaluated: Evaluated, by_log_prob: Tensor, by_outputs: Tensor) -> None:
        size = len(by_log_prob)
        found = evaluated.gradient(by_log_prob, -self._rates.entropy_coef / size)
        num_rows = self._network.num_policy_rows
        by_outputs[:num_rows].copy_(found[:num_rows])
        if self._log_std is not None:
            torch.sum(found[num_rows:], 1, out=self._log_std[1])


def _still(policy: Policy, rates: ScheduledHyperparameters) -> list[Tensor]:
    """Parameters without gradient: the policy's own part, when it is frozen without entropy (P12)."""
    if not rates.is_policy_frozen or rates.entropy_coef != 0.0:
        return []
    own: list[Tensor] = [*policy.policy_head.parameters()]
    if policy.value_trunk is not None:
        own += policy.trunk.parameters()
    return own if policy.action_log_std is None else [*own, policy.action_log_std]


def can_be_fused(policy: Policy, distribution: ActionDistribution) -> bool:
    """Whether `FusedSteps` can do what `AutogradSteps` does, without a loss beside the algorithm's."""
    return is_dense(policy) and has_gradient(distribution) and next(policy.parameters()).is_cpu
