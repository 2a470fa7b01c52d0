"""PPO's losses and the numbers reported about an update, each with its formula."""

import torch
from torch import Tensor

SPREAD_TOLERANCE = 1e-6
"""Advantages that differ by less than this, relative to the largest, have no spread: only rounding."""


def normalise_advantages(advantages: Tensor, min_deviation: float = 0.0) -> Tensor:
    """(A - mean A) / (max(std A, min_deviation) + 1e-8), Bessel-corrected; without spread unchanged (P1).

    Args:
        advantages: [..., N] float32, N >= 1, valid steps only: each row is one minibatch.
        min_deviation: >= 0; rows with a smaller deviation are divided by this.

    Returns: [..., N] float32, each row by its own mean, and its own deviation or `min_deviation`.
    Source: rule P1; Andrychowicz et al. 2020 (arXiv:2006.05990), choice C67.
    """
    if advantages.shape[-1] < 2:
        return advantages
    low, high = torch.aminmax(advantages, dim=-1, keepdim=True)
    has_spread = (high - low) > SPREAD_TOLERANCE * torch.maximum(high.abs(), low.abs())
    std, mean = torch.std_mean(advantages, dim=-1, keepdim=True)
    # One multiply-add with two numbers a row: scale 1 and shift 0 leave one without spread alone.
    scale = torch.where(has_spread, 1.0 / (std.clamp_min(min_deviation) + 1e-8), 1.0)
    shift = torch.where(has_spread, -mean * scale, 0.0)
    return torch.addcmul(shift, advantages, scale)


def clipped_surrogate_loss(
    ratio: Tensor, advantages: Tensor, clip_range: float, weights: Tensor | None = None
) -> Tensor:
    """- mean w * min(ratio * A, clip(ratio, 1 - clip_range, 1 + clip_range) * A).

    Args:
        ratio: [N] float32, exp(new_log_prob - log_prob).
        advantages: [N] float32, without gradient.
        clip_range: > 0.
        weights: [N] float32 w, importance weights of the steps' segments (P3); None: all 1.

    Returns: scalar; its gradient is 0 where clipping makes the objective smaller.
    Source: Schulman et al. 2017 (arXiv:1707.06347), equation 7; rule P5.
    """
    unclipped = ratio * advantages
    clipped = ratio.clamp(1.0 - clip_range, 1.0 + clip_range) * advantages
    objective = torch.minimum(unclipped, clipped)
    return -(objective if weights is None else objective * weights).mean()


def value_loss(
    new_values: Tensor,
    value_targets: Tensor,
    old_values: Tensor | None = None,
    clip_range_vf: float | None = None,
) -> Tensor:
    """Half the mean squared error of the value prediction, optionally clipped.

        unclipped: 1/2 mean (v - target)^2
        clipped:   1/2 mean max((v - target)^2, (v_old + clip(v - v_old, -c, c) - target)^2)

    Args:
        new_values, value_targets: [N] float32; targets without gradient.
        old_values: [N] float32, needed with `clip_range_vf`.
        clip_range_vf: c > 0, in units of the value; None: not clipped.

    Returns: scalar.
    Source: OpenAI baselines' ppo2, as in Engstrom et al. 2020 (arXiv:2005.12729), section 3; rule P5.
    """
    if clip_range_vf is None:
        return 0.5 * torch.nn.functional.mse_loss(new_values, value_targets)
    if old_values is None:
        raise ValueError("expected old_values with clip_range_vf, got None")
    clipped = old_values + (new_values - old_values).clamp(-clip_range_vf, clip_range_vf)
    return (
        0.5 * torch.maximum((new_values - value_targets).square(), (clipped - value_targets).square()).mean()
    )


def approx_kl(log_ratio: Tensor, ratio: Tensor) -> Tensor:
    """mean((ratio - 1) - log ratio): an unbiased, never negative estimate of KL(old || new).

    Args:
        log_ratio, ratio: [N] float32, new_log_prob - log_prob and its exponential.

    Returns: scalar >= 0.
    Source: Schulman 2020, "Approximating KL divergence", estimator k3; rule P5.
    """
    return (ratio - 1.0 - log_ratio).mean()


def clip_fraction(ratio: Tensor, clip_range: float) -> Tensor:
    """Share of steps with |ratio - 1| > clip_range; scalar in [0, 1]."""
    return ((ratio - 1.0).abs() > clip_range).float().mean()


def explained_variance(predictions: Tensor, targets: Tensor) -> Tensor:
    """1 - var(targets - predictions) / var(targets): 1 is perfect, 0 no better than a constant.

    Args:
        predictions, targets: [N] float32, valid steps only.

    Returns: scalar; NaN where the targets do not vary.
    """
    variance = targets.var(correction=0)
    share = 1.0 - (targets - predictions).var(correction=0) / variance
    return torch.where(variance > 0, share, torch.nan)
