"""Exploration within the exported policy: the scale of its logits, by the entropy that is wanted."""

import math
from collections.abc import Callable
from typing import Final

import torch
from torch import Tensor

from attract.algorithm.distributions import ActionDistribution
from attract.learner.dqn.network import Choices
from attract.policy.network import Policy
from attract.policy.observation_inputs import Preprocessed

_LOG_SCALES: Final = (-10.0, 14.0)
_HALVINGS: Final = 24


def epsilon(
    first: float, last: float, fraction: float, agent_steps: int, schedule_steps: int | None
) -> float:
    """Exploration at this point of the run: linear from `first` to `last` over `fraction` of the schedule."""
    span = fraction * (schedule_steps or 0)
    return last if agent_steps >= span else first + (last - first) * agent_steps / span


def wanted_entropy(eps: float, choices: Choices, action_mask: Tensor | None, count: int) -> float:
    """Nats of an epsilon-greedy policy, mean over `count` observations; actions at random with chance `eps`.

    Args:
        action_mask: [count, K] bool; None: everything is allowed.
    """
    total = 0.0
    masks = None if action_mask is None else action_mask.split(choices.sizes, 1)
    for place, size in enumerate(choices.sizes):
        allowed = (
            torch.full((count,), float(size)) if masks is None else masks[place].sum(1).clamp(min=1).float()
        )
        rest = (eps / allowed).double()
        top = 1.0 - eps + rest
        entropy = -(torch.xlogy(top, top) + (allowed - 1.0) * torch.xlogy(rest, rest))
        total += float(entropy.mean())
    return total


@torch.no_grad()
def logit_scale(
    policy: Policy,
    distribution: ActionDistribution,
    preprocessed: Preprocessed,
    action_mask: Tensor | None,
    entropy: float,
) -> tuple[float, float]:
    """What the logits are multiplied by so that the mean entropy is as wanted, and the entropy then.

    Actions of exactly the same value stay equally likely; the entropy may then be larger.

    Args:
        policy: with logits of scale 1; not changed.
        distribution: of the game's actions.
        preprocessed: [N, ...] each.
        action_mask: [N, K] bool; None: everything is allowed.
        entropy: nats, mean over the observations.
    """
    logits, _ = policy.forward_preprocessed(preprocessed)
    actions = distribution.mode(logits, action_mask)

    def entropy_at(scale: float) -> float:
        found = distribution.log_prob_and_entropy(scale * logits, actions, action_mask)[1]
        return float(found.mean())

    scale = _largest(lambda scale: entropy_at(scale) > entropy)
    return scale, entropy_at(scale)


def _largest(holds: Callable[[float], bool]) -> float:
    """The largest scale that holds, of a condition that holds up to one scale and not from there on."""
    low, high = _LOG_SCALES
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(math.exp(middle)) else (low, middle)
    return math.exp(low)
