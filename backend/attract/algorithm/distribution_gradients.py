"""The action distributions with their gradients written out, for a learner that does without autograd."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from attract.algorithm.distributions import (
    HALF_LOG_TWO_PI,
    ActionDistribution,
    Bernoulli,
    Categorical,
    DiagonalGaussian,
    MultiCategorical,
    mask_logits,
    refuse_mask,
)

Gradient = Callable[[Tensor, float], Tensor]
"""[num_outputs, N] of a loss, from its gradient by each log-probability, [N], and by each entropy."""


@dataclass(frozen=True, slots=True)
class Evaluated:
    """What `ActionDistribution.log_prob_and_entropy` gives, and how a loss goes back through it."""

    log_probs: Tensor
    entropies: Tensor
    """[N] float32 each."""
    gradient: Gradient


Evaluate = Callable[[Any, Tensor, Tensor, Tensor | None], Evaluated]


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
    return _EVALUATE[type(distribution)](distribution, outputs, actions, action_mask)


def has_gradient(distribution: ActionDistribution) -> bool:
    """Whether `evaluate_with_gradient` knows the distribution."""
    return type(distribution) in _EVALUATE


def _categorical(
    _distribution: Categorical, outputs: Tensor, actions: Tensor, action_mask: Tensor | None
) -> Evaluated:
    if action_mask is None:
        return _choice(outputs, actions.unsqueeze(0))
    forbidden = ~action_mask.t()
    return _without(_choice(_masked(outputs, action_mask), actions.unsqueeze(0)), forbidden)


def _multi_categorical(
    distribution: MultiCategorical, outputs: Tensor, actions: Tensor, action_mask: Tensor | None
) -> Evaluated:
    logits = outputs if action_mask is None else _masked(outputs, action_mask)
    choices = [
        _choice(part, chosen.unsqueeze(0))
        for part, chosen in zip(logits.split(distribution.nvec), actions.t(), strict=True)
    ]
    evaluated = Evaluated(
        torch.stack([choice.log_probs for choice in choices]).sum(0),
        torch.stack([choice.entropies for choice in choices]).sum(0),
        lambda by_log_prob, by_entropy: torch.cat(
            [choice.gradient(by_log_prob, by_entropy) for choice in choices]
        ),
    )
    return evaluated if action_mask is None else _without(evaluated, ~action_mask.t())


def _choice(logits: Tensor, actions: Tensor) -> Evaluated:
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


def _bernoulli(
    _distribution: Bernoulli, outputs: Tensor, actions: Tensor, action_mask: Tensor | None
) -> Evaluated:
    """Of each bit, d log p(a) / d l = a - sigmoid(l); d H / d l = -l sigmoid(l) (1 - sigmoid(l))."""
    refuse_mask(action_mask)
    bits = actions.t().to(outputs.dtype)
    chosen = torch.nn.functional.softplus((1.0 - 2.0 * bits) * outputs)
    unlikely = -outputs.abs()
    rare = torch.sigmoid(unlikely)
    entropies = (torch.nn.functional.softplus(unlikely) - unlikely * rare).sum(0)

    def gradient(by_log_prob: Tensor, by_entropy: float) -> Tensor:
        found = (bits - torch.sigmoid(outputs)).mul_(by_log_prob)
        if by_entropy != 0.0:
            found.addcmul_(outputs, rare * (1.0 - rare), value=-by_entropy)
        return found

    return Evaluated(chosen.sum(0).neg_(), entropies, gradient)


def _gaussian(
    distribution: DiagonalGaussian, outputs: Tensor, actions: Tensor, action_mask: Tensor | None
) -> Evaluated:
    """With e = (a - mean) / std: d log p / d mean = e / std, d log p / d log std = e^2 - 1.

    d H / d log std = 1.
    """
    refuse_mask(action_mask)
    size = distribution.num_outputs // 2
    mean, log_std = outputs[:size], outputs[size:]
    inverse = torch.exp(-log_std)
    deviations = (actions.t() - mean).mul_(inverse)
    squares = deviations.square()
    spread = log_std.sum(0)
    constant = size * HALF_LOG_TWO_PI

    def gradient(by_log_prob: Tensor, by_entropy: float) -> Tensor:
        by_mean = deviations * inverse * by_log_prob
        return torch.cat((by_mean, (squares - 1.0).mul_(by_log_prob).add_(by_entropy)))

    log_probs = squares.sum(0).mul_(-0.5).sub_(spread).sub_(constant)
    return Evaluated(log_probs, spread + (0.5 * size + constant), gradient)


_EVALUATE: dict[type, Evaluate] = {
    Categorical: _categorical,
    MultiCategorical: _multi_categorical,
    Bernoulli: _bernoulli,
    DiagonalGaussian: _gaussian,
}


def _masked(outputs: Tensor, action_mask: Tensor) -> Tensor:
    return mask_logits(outputs, action_mask.t())


def _without(evaluated: Evaluated, forbidden: Tensor) -> Evaluated:
    """No gradient where a logit was replaced."""
    return Evaluated(
        evaluated.log_probs,
        evaluated.entropies,
        lambda by_log_prob, by_entropy: evaluated.gradient(by_log_prob, by_entropy).masked_fill_(
            forbidden, 0.0
        ),
    )
