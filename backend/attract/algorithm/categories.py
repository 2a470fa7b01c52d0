"""Returns as categories: bins of a histogram, targets among them, and the loss (HL-Gauss)."""

import torch
from torch import Tensor

NUM_BINS = 51
SMOOTHING = 0.75
"""Standard deviation of a target, in widths of a bin: it reaches about six of them."""


def bin_centres(limit: float) -> Tensor:
    """[NUM_BINS] float32, evenly from -limit to limit."""
    return torch.linspace(-limit, limit, NUM_BINS)


def histogram(returns: Tensor, limit: float) -> Tensor:
    """[NUM_BINS, B] float32: shares of a normal distribution around each return that fall into bins.

    They add up to 1. The mean of the bins' centres by these shares is the return, but near the limits.

    Args:
        returns: [B] float32; those beyond the limits are taken to be at them.
        limit: of `bin_centres`.

    Source: Imani and White 2018 (arXiv:1806.04613); Farebrother et al. 2024 (arXiv:2403.03950), section 3.1.
    """
    half = limit / (NUM_BINS - 1)
    edges = torch.linspace(-limit - half, limit + half, NUM_BINS + 1, device=returns.device)
    scale = 1.0 / (SMOOTHING * 2.0 * half * 2.0**0.5)
    below = torch.erf((edges.unsqueeze(1) - returns.clamp(-limit, limit)) * scale)
    return (below[1:] - below[:-1]).div_(below[-1] - below[0])


def cross_entropy_with_gradient(logits: Tensor, shares: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """[] the mean loss, its gradient by the logits and the predicted shares, [NUM_BINS, B] float32 each.

    Args:
        logits: [NUM_BINS, B] float32.
        shares: the same of the targets, as `histogram` gives them.
    """
    log_shares = logits.log_softmax(0)
    predicted = log_shares.exp()
    num_returns = shares.shape[1]
    loss = torch.dot(shares.flatten(), log_shares.flatten()).div_(-num_returns)
    return loss, (predicted - shares).div_(num_returns), predicted
