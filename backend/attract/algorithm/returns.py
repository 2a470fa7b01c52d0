"""Discounted sums of past rewards along streams of segments, by whose size rewards are scaled (rule P11)."""

import torch
from torch import Tensor

from attract.algorithm.normalisation import RunningMoments
from attract.algorithm.streams import discounted_sums

MIN_SPREAD = 0.1
"""Share of the returns' root mean square that their deviation is taken to be at least."""
REWARD_LIMIT = 10.0
"""Scaled rewards are clipped to [-10, 10], as in Stable-Baselines3's and Gymnasium's normalisation."""


def past_returns(
    rewards: Tensor, ended: Tensor, valid: Tensor, carried: Tensor, next_segment: Tensor | None, gamma: float
) -> Tensor:
    """G_t = r_t + gamma * G_{t-1}, restarted after an episode's end and after an invalid step.

    Args:
        rewards: [T, S] float32, raw; numbers of invalid steps do not matter.
        ended: [T, S] bool, terminated or truncated.
        valid: [T, S] bool, rule S5.
        carried: [S] float32, G of the slot's step before the segment; 0 where an episode begins there. Read
            only for segments that follow no other of this batch.
        next_segment: [S] int64, successor's column or -1, from `chain_segments`; None: no successors.
        gamma: discount per step, in [0, 1].

    Returns: [T, S] float32; 0 at invalid steps.
    Source: Engstrom et al. 2020 (arXiv:2005.12729), section 2, "reward scaling".
    """
    terms = torch.where(valid, rewards, 0.0)
    passes_on = torch.where(ended | ~valid, 0.0, gamma)
    previous = None if next_segment is None else _reversed(next_segment)
    first = torch.zeros_like(carried)
    if previous is None:
        entered = carried
    else:
        follows = previous >= 0
        first = torch.where(follows, passes_on[-1][previous.clamp(min=0)], first)
        entered = carried.masked_fill(follows, 0.0)
    terms[0].add_(torch.where(valid[0], entered, 0.0), alpha=gamma)
    decay = torch.where(valid, torch.cat((first.unsqueeze(0), passes_on[:-1])), 0.0)
    # The sums run backwards in time; seen from the end, the past is what comes later.
    return discounted_sums(terms.flip(0), decay.flip(0), previous).flip(0)


def reward_divisor(returns: RunningMoments) -> float:
    """Deviation of the discounted returns seen so far, at least a tenth of their size; 1 while all were 0.

    The deviation is the one that gives value targets a spread of about 1, which the value loss needs to
    weigh beside the policy's. With the same reward in every step and long episodes, returns hardly vary,
    and rewards divided by their deviation alone would grow without bound.

    Args:
        returns: moments of `past_returns`, scalar.

    Returns: above 0; NaN or infinite where a reward was not finite, so that the update is undone (rule P8).
    """
    if returns.count == 0:
        return 1.0
    variance = float(returns.variance)
    mean_square = variance + float(returns.mean.square())
    return 1.0 if mean_square == 0.0 else max(variance, MIN_SPREAD**2 * mean_square) ** 0.5


def scaled_rewards(rewards: Tensor, divisor: float) -> Tensor:
    """Rewards over the divisor, clipped at `REWARD_LIMIT`; [T, S] float32, NaN stays NaN.

    The same whatever unit a game counts its rewards in: a factor on them is one on the divisor.
    """
    return (rewards / divisor).clamp_(-REWARD_LIMIT, REWARD_LIMIT)


def _reversed(next_segment: Tensor) -> Tensor:
    """[S] int64, the column of each segment's predecessor, -1 where there is none."""
    previous = torch.full_like(next_segment, -1)
    columns = torch.arange(len(next_segment), device=next_segment.device)
    follows = next_segment >= 0
    previous[next_segment[follows]] = columns[follows]
    return previous
