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


def quantile_huber_with_gradient(
    predicted: Tensor, targets: Tensor, room: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """The loss of `quantile_huber_loss`, and its gradient by `predicted`, [N, B] float32.

    Args:
        predicted: [N, B] float32. Its gradient takes a fifth of the operations that autograd would.
        targets: [M, B] float32.
        room: [3, N, M, B] float32, for what is computed on the way; None: new memory. New memory costs about
            as much as the sums.
    """
    (count, size), num_targets = predicted.shape, len(targets)
    taus = (torch.arange(count, dtype=predicted.dtype, device=predicted.device) + 0.5) / count
    shape = (3, count, num_targets, size)
    if room is None or room.shape != shape:
        room = predicted.new_empty(shape)
    errors, slopes, weighted = room
    torch.sub(targets, predicted.unsqueeze(1), out=errors)
    # c = u within the limit, else the limit with its sign: L(u) = c (u - c / 2), and L'(u) = c.
    torch.clamp(errors, -HUBER_LIMIT, HUBER_LIMIT, out=slopes)
    # |tau - 1{u < 0}| c = (tau - 1/2) |c| + c / 2, which torch vectorises.
    torch.abs(slopes, out=weighted).mul_((taus - 0.5).view(-1, 1, 1)).add_(slopes, alpha=0.5)
    share = 1.0 / (size * num_targets)
    gradient = weighted.sum(1).mul_(-share)
    return torch.dot(weighted.view(-1), errors.sub_(slopes, alpha=0.5).view(-1)).mul_(share), gradient


class _QuantileHuber(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, predicted: Tensor, targets: Tensor) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        loss, by_predicted = quantile_huber_with_gradient(predicted.t(), targets.t())
        ctx.save_for_backward(by_predicted.t())
        return loss

    @staticmethod
    def backward(ctx: Any, by_loss: Tensor) -> tuple[Tensor, None]:  # pyright: ignore[reportIncompatibleMethodOverride]
        (by_predicted,) = ctx.saved_tensors
        return by_loss * by_predicted, None
