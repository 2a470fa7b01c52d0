"""Prioritised segments: how likely each is drawn, and the weights that correct for it (rule P3)."""

import torch
from torch import Tensor

PRIORITY_FLOOR = 1e-6
"""Added to each priority, so that a segment without advantage is drawn at times."""


def segment_probabilities(advantages: Tensor, valid: Tensor, alpha: float) -> Tensor:
    """Probability of each segment: w_i / sum w with w_i = (sum over valid steps of |A|)^alpha + 1e-6.

    Args:
        advantages: [T, S] float32, not normalised; invalid steps do not matter, whatever they hold.
        valid: [T, S] bool; at least one is True.
        alpha: > 0; 1 is in proportion to the advantage, towards 0 all are alike.

    Returns: [S] float64, sum 1; 0 for a segment without valid steps.
    Source: Schaul et al. 2016 (arXiv:1511.05952), equation 1, for segments; rule P3.
    """
    magnitudes = advantages.double().abs().masked_fill(~valid, 0.0).sum(0)
    weights = (magnitudes.pow(alpha) + PRIORITY_FLOOR).masked_fill(~valid.any(0), 0.0)
    return weights / weights.sum()


def importance_weights(probabilities: Tensor, beta: float) -> Tensor:
    """(N p_i)^-beta, divided by its mean under p; N is how many segments can be drawn.

    The mean weight of what is drawn is 1, so that the policy loss keeps its size beside the other losses.
    Divided by the largest weight, as in the source, one segment without advantages would take it away.

    Args:
        probabilities: [S] float64 from `segment_probabilities`.
        beta: in [0, 1]; 1 corrects wholly, 0 not at all.

    Returns: [S] float64 > 0; 0 where the probability is 0. With beta 1 it is 1 / (N p_i): the mean over draws
        is an unbiased estimate of the plain mean.
    Source: Schaul et al. 2016 (arXiv:1511.05952), section 3.4, but for the divisor; rule P3.
    """
    can_be_drawn = probabilities > 0
    expected = probabilities * can_be_drawn.sum()
    weights = torch.where(can_be_drawn, expected, 1.0).pow(-beta).masked_fill(~can_be_drawn, 0.0)
    return weights / (probabilities * weights).sum()


def draw_segments(probabilities: Tensor, num_draws: int, generator: torch.Generator) -> Tensor:
    """Segments drawn with replacement, independently, by inverting the running sum of the probabilities.

    Args:
        probabilities: [S] float64 on the CPU.
        num_draws: how many.
        generator: on the CPU, so that every device gets the same draws.

    Returns: [num_draws] int64; never a segment of probability 0.
    """
    cumulative = torch.cumsum(probabilities, 0)
    uniforms = torch.rand(num_draws, generator=generator, dtype=torch.float64)
    return torch.searchsorted(cumulative, uniforms * cumulative[-1], right=True)
