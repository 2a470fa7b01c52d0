"""The action distributions with their gradients written out, for a learner that does without autograd."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeGuard

import torch
from torch import Tensor

from attract.algorithm.distributions import ActionDistribution

Gradient = Callable[[Tensor, float], Tensor]
"""[num_outputs, N] of a loss, from its gradient by each log-probability, [N], and by each entropy."""


@dataclass(frozen=True, slots=True)
class Evaluated:
    """The result of `ActionDistribution.log_prob_and_entropy`, and its backward pass."""

    log_probs: Tensor
    entropies: Tensor
    """[N] float32 each."""
    gradient: Gradient


class WithGradient(Protocol):
    """An action distribution whose gradient is written out."""

    def with_gradient(self, outputs: Tensor, actions: Tensor, action_mask: Tensor | None) -> Evaluated:
        """See `evaluate_with_gradient`."""
        ...


def evaluate_with_gradient(
    distribution: ActionDistribution, outputs: Tensor, actions: Tensor, action_mask: Tensor | None = None
) -> Evaluated:
    """Log-probabilities and entropies as the distribution has them, from outputs with the steps last.

    Args:
        distribution: one that `has_gradient`.
        outputs: [num_outputs, N] float32.
        actions: [N] int64; or [N, components], int64 or, if continuous, float32.
        action_mask: [N, num_outputs] bool, True where allowed; None: all are.

    Raises: KeyError: for a distribution without one.
    """
    if not has_gradient(distribution):
        raise KeyError(type(distribution))
    return distribution.with_gradient(outputs, actions, action_mask)


def has_gradient(distribution: ActionDistribution) -> TypeGuard[WithGradient]:
    """Whether `evaluate_with_gradient` knows the distribution."""
    # Only the class itself counts: a subclass may have changed what the inherited gradient belongs to.
    return "with_gradient" in vars(type(distribution))


def choice_with_gradient(logits: Tensor, actions: Tensor) -> Evaluated:
    """One integer, from [A, N] logits and [1, N] actions.

    d log p_a / d logit_j = [j = a] - p_j; d H / d logit_j = -p_j (log p_j + H).
    """
    log_probs = torch.log_softmax(logits, 0)
    probs = log_probs.exp()
    entropies = (probs * log_probs).sum(0).neg_()

    def gradient(by_log_prob: Tensor, by_entropy: float) -> Tensor:
        if by_entropy == 0.0:
            found = probs * by_log_prob.neg()
        else:
            found = torch.add(log_probs, entropies).mul_(-by_entropy).sub_(by_log_prob).mul_(probs)
        return found.scatter_add_(0, actions, by_log_prob.unsqueeze(0))

    return Evaluated(log_probs.gather(0, actions).squeeze(0), entropies, gradient)


def without_forbidden(evaluated: Evaluated, forbidden: Tensor) -> Evaluated:
    """The same with a gradient of 0 where a logit was replaced by that of a forbidden choice."""
    return Evaluated(
        evaluated.log_probs,
        evaluated.entropies,
        lambda by_log_prob, by_entropy: evaluated.gradient(by_log_prob, by_entropy).masked_fill_(
            forbidden, 0.0
        ),
    )
