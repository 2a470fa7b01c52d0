"""Quantile regression of returns: targets and loss (QR-DQN)."""

from typing import Any, cast

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
    return cast("Tensor", _QuantileHuber.apply(predicted, targets))  # pyright: ignore[reportUnknownMemberType]


class _QuantileHuber(torch.autograd.Function):
    """The loss with its gradient written out: a fifth of the operations that autograd takes."""

    @staticmethod
    def forward(ctx: Any, predicted: Tensor, targets: Tensor) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        size, count = predicted.shape
        taus = (torch.arange(count, dtype=predicted.dtype, device=predicted.device) + 0.5) / count
        from_half = (taus - 0.5).view(1, -1, 1)
        errors = targets.unsqueeze(1) - predicted.unsqueeze(2)
        # c = u within the limit, else the limit with its sign: L(u) = c (u - c / 2), and L'(u) = c.
        slopes = errors.clamp(-HUBER_LIMIT, HUBER_LIMIT)
        # |tau - 1{u < 0}| c = (tau - 1/2) |c| + c / 2, which torch vectorises.
        weighted = slopes.abs().mul_(from_half).add_(slopes, alpha=0.5)
        share = 1.0 / (size * targets.shape[1])
        ctx.save_for_backward(weighted.sum(2).mul_(-share))
        return weighted.mul_(errors.sub_(slopes, alpha=0.5)).sum().mul_(share)

    @staticmethod
    def backward(ctx: Any, by_loss: Tensor) -> tuple[Tensor, None]:  # pyright: ignore[reportIncompatibleMethodOverride]
        (by_predicted,) = ctx.saved_tensors
        return by_loss * by_predicted, None
