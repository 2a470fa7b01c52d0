"""Quantile regression of returns: targets and loss (QR-DQN)."""

import torch
from torch import Tensor

HUBER_LIMIT = 1.0
"""Error up to which the loss is quadratic: kappa."""


def quantile_targets(rewards: Tensor, discount: Tensor, next_quantiles: Tensor) -> Tensor:
    """[B, N] float32: rewards + discount * quantiles of the best next action.

    Args:
        rewards: [B] float32, discounted sum of the rewards until the next observation.
        discount: [B] float32, gamma to their number; 0 where the episode terminated.
        next_quantiles: [B, N] float32, of the action that the learned network prefers, by the target network
            (van Hasselt et al. 2016, arXiv:1509.06461, equation 4).
    """
    return rewards.unsqueeze(1) + discount.unsqueeze(1) * next_quantiles


def quantile_huber_loss(predicted: Tensor, targets: Tensor) -> Tensor:
    """[] float32, mean over the batch of sum over i of mean over j of |tau_i - 1{u < 0}| L(u).

    With u = targets_j - predicted_i, tau_i = (i + 1/2) / N, and L(u) = u^2 / 2 up to `HUBER_LIMIT`, from
    there on HUBER_LIMIT (|u| - HUBER_LIMIT / 2).

    Args:
        predicted: [B, N] float32, with gradient.
        targets: [B, M] float32.

    Source: Dabney et al. 2018 (arXiv:1710.10044), equations 9 and 10 and algorithm 1.
    """
    count = predicted.shape[1]
    taus = (torch.arange(count, dtype=predicted.dtype, device=predicted.device) + 0.5) / count
    errors = targets.unsqueeze(1) - predicted.unsqueeze(2)
    size = errors.detach().abs()
    weights = (taus.view(1, -1, 1) - (errors.detach() < 0).to(predicted.dtype)).abs()
    huber = torch.where(size <= HUBER_LIMIT, 0.5 * errors.square(), HUBER_LIMIT * (errors.abs() - 0.5))
    return (weights * huber).mean(2).sum(1).mean()
