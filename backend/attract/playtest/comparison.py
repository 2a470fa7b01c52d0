"""Rank tests of a build against a baseline on pairs of equal seeds.

The chance of one false alarm in a whole playtest is at most `FALSE_ALARM`, over all its tests: Bonferroni's
correction over those that could reach it at all. Source: Tarone, 1990, doi:10.2307/2531456.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import pstdev
from typing import Final, Literal

from attract.playtest.ranks import signed_ranks
from attract.playtest.rules import THRESHOLDS

FALSE_ALARM: Final = 0.01

Direction = Literal["higher", "lower"]


@dataclass(frozen=True)
class Change:
    """A number of one player that differs between baseline and build."""

    player: str
    number: str
    direction: Direction
    before: float
    """Mean over the pairs."""
    now: float
    pairs: int
    p_value: float
    largest: int
    """Index of the pair that differs most."""

    @property
    def effect(self) -> float:
        """As a share of the mean before; infinite where that was 0."""
        return abs(self.now - self.before) / abs(self.before) if self.before else math.inf


def threshold(least: Sequence[float]) -> float:
    """The p-value that a test must stay below.

    Args:
        least: the smallest p-value that each test could have with what was played.
    """
    count = 1
    while sum(value < FALSE_ALARM / count for value in least) > count:
        count += 1
    return FALSE_ALARM / count


def least_p_value(before: Mapping[int, float], now: Mapping[int, float]) -> float:
    """The smallest that `compare` could give: with all pairs that differ on one side."""
    num_changed = sum(now[index] != before[index] for index in before.keys() & now.keys())
    return min(1.0, 2.0 ** (1 - num_changed))


def compare(
    player: str,
    number: str,
    before: Mapping[int, float],
    now: Mapping[int, float],
    limit: float,
    min_effect: float = THRESHOLDS["changed"]["share"],
) -> Change | None:
    """The change, or None where chance explains it or it does not matter.

    Wilcoxon's signed ranks over the pairs that differ: under no change the two builds are exchangeable, so
    the differences are symmetric about zero, whether chance is drawn alike or not. Source: Wilcoxon, 1945.

    Args:
        before: values by episode index.
        now: the same of the other build.
        limit: the p-value that it must stay below.
        min_effect: a change that matters, as a share of the mean or of the spread, whichever is larger.
    """
    if least_p_value(before, now) >= limit:
        return None
    indices = sorted(before.keys() & now.keys())
    differences = [now[index] - before[index] for index in indices]
    mean_before = math.fsum(before[index] for index in indices) / len(indices)
    mean_now = math.fsum(now[index] for index in indices) / len(indices)
    if abs(mean_now - mean_before) < min_effect * max(abs(mean_before), pstdev(before.values())):
        return None
    p_value = signed_ranks([value for value in differences if value != 0.0])
    if p_value >= limit:
        return None
    direction: Direction = "higher" if mean_now > mean_before else "lower"
    sign = 1.0 if direction == "higher" else -1.0
    largest = max(range(len(indices)), key=lambda i: sign * differences[i])
    return Change(player, number, direction, mean_before, mean_now, len(indices), p_value, indices[largest])


def beyond(before: Sequence[float], now: Sequence[float]) -> tuple[float | None, float]:
    """What a tenth of the episodes of before reached beyond the best of now, and the chance of that.

    The value is the least of them; None: fewer did. Under no change every set of the highest values is as
    likely as another, so all of them are of before with a chance of C(before, k) / C(all, k).
    """
    if not before or not now:
        return None, 1.0
    best = max(now)
    values = sorted(value for value in before if value > best)
    chance = math.comb(len(before), len(values)) / math.comb(len(before) + len(now), len(values))
    return (values[0] if len(values) >= max(1, len(before) // 10) else None), chance
