"""Rank statistics and Student's quantile: a playtest installs without scipy, which takes 140 MB."""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from statistics import correlation
from typing import Final

import numpy as np

MAX_EXACT: Final = 50
"""Differences up to which the signs are counted; beyond, the normal distribution is as good."""


def ranks(values: Sequence[float]) -> list[float]:
    """From 1; equal values share the mean of theirs."""
    ordered = sorted(values)
    return [(bisect_left(ordered, value) + bisect_right(ordered, value) + 1) / 2 for value in values]


def rank_correlation(first: Sequence[float], second: Sequence[float]) -> float:
    """Spearman's, of pairs; both must vary."""
    return correlation(ranks(first), ranks(second))


def signed_ranks(differences: Sequence[float]) -> float:
    """The two-sided p-value of Wilcoxon's signed ranks, in (0, 1].

    Args:
        differences: of pairs, none of them 0. Under no change either sign of each is as likely.

    Source: Wilcoxon, 1945.
    """
    weights = ranks([abs(value) for value in differences])
    higher = math.fsum(weight for weight, value in zip(weights, differences, strict=True) if value > 0)
    if len(weights) > MAX_EXACT:
        spread = math.sqrt(math.fsum(weight**2 for weight in weights)) / 2
        return math.erfc(abs(higher - math.fsum(weights) / 2) / spread / math.sqrt(2))
    # Twice each rank is a whole number, with ties too.
    doubled = [round(2 * weight) for weight in weights]
    chances = np.zeros(sum(doubled) + 1)
    chances[0] = 1.0
    for weight in doubled:
        moved = np.concatenate((np.zeros(weight), chances[:-weight]))
        chances = (chances + moved) / 2
    at = round(2 * higher)
    return min(1.0, 2 * float(min(chances[: at + 1].sum(), chances[at:].sum())))


def student_975(freedom: int) -> float:
    """The 0.975 quantile of Student's distribution with 1 or more degrees of freedom."""
    low, high = 0.0, math.pi / 2
    for _ in range(60):
        angle = (low + high) / 2
        low, high = (angle, high) if _share_within(angle, freedom) < 0.95 else (low, angle)
    return math.sqrt(freedom) * math.tan(low)


def _share_within(angle: float, freedom: int) -> float:
    """P(|T| <= sqrt(freedom) * tan(angle)). Source: Abramowitz and Stegun, 26.7.3 and 26.7.4."""
    odd = freedom % 2
    term, total = math.cos(angle) ** odd, 0.0
    for power in range(odd, freedom - 1, 2):
        total += term
        term *= (power + 1) / (power + 2) * math.cos(angle) ** 2
    total *= math.sin(angle)
    return 2 / math.pi * (angle + total) if odd else total
