"""Rank tests of a build against a baseline on pairs of equal seeds.

The chance of one false alarm in a whole playtest is at most `FALSE_ALARM`: it is divided by the number of
tests and of looks (Bonferroni), so looking early costs power and no certainty.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

FALSE_ALARM: Final = 0.01
LOOKS: Final = (16, 32, 64, 128, 256)
"""Episodes of each player after which a build is compared."""
LEAST_EFFECT: Final = 0.03
"""A change that matters, as a share of the mean or of the spread, whichever is larger."""

Direction = Literal["higher", "lower"]


@dataclass(frozen=True)
class Change:
    """A number of one player that differs."""

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


def threshold(num_tests: int) -> float:
    """The p-value that a test must stay below."""
    return FALSE_ALARM / (max(1, num_tests) * len(LOOKS))


def compare(
    player: str, number: str, before: Mapping[int, float], now: Mapping[int, float], num_tests: int
) -> Change | None:
    """The change, or None where chance explains it or it does not matter.

    Wilcoxon's signed ranks over the pairs that differ: under no change the two builds are exchangeable, so
    the differences are symmetric about zero, whether chance is drawn alike or not. Source: Wilcoxon, 1945.

    Args:
        before: values by episode index.
        now: the same of the other build.
        num_tests: tests that are made at each look.
    """
    indices = sorted(before.keys() & now.keys())
    differences = [now[index] - before[index] for index in indices]
    changed = [value for value in differences if value != 0.0]
    # The smallest p-value that so many pairs can have.
    if 2.0 ** (1 - len(changed)) > threshold(num_tests):
        return None
    mean_before = math.fsum(before[index] for index in indices) / len(indices)
    mean_now = math.fsum(now[index] for index in indices) / len(indices)
    if abs(mean_now - mean_before) < LEAST_EFFECT * max(abs(mean_before), _spread(list(before.values()))):
        return None
    p_value = _signed_ranks(changed)
    if p_value >= threshold(num_tests):
        return None
    direction: Direction = "higher" if mean_now > mean_before else "lower"
    sign = 1.0 if direction == "higher" else -1.0
    largest = max(range(len(indices)), key=lambda i: sign * differences[i])
    return Change(player, number, direction, mean_before, mean_now, len(indices), p_value, indices[largest])


def reached_no_more(before: Sequence[float], now: Sequence[float], num_tests: int) -> float | None:
    """The value that a tenth of the episodes reached before and none does now; None: chance explains it.

    Fisher's exact test of the shares. Source: Fisher, 1922.
    """
    if not before or not now:
        return None
    best = max(now)
    beyond = sorted(value for value in before if value > best)
    if len(beyond) < max(1, len(before) // 10):
        return None
    # The chance that all that reached it are among those of before, if both builds are alike.
    total = len(before) + len(now)
    p_value = math.comb(len(before), len(beyond)) / math.comb(total, len(beyond))
    return beyond[0] if p_value < threshold(num_tests) else None


def _signed_ranks(differences: Sequence[float]) -> float:
    # scipy takes a tenth of a second to import.
    from scipy.stats import wilcoxon

    return float(wilcoxon(differences)[1])  # pyright: ignore[reportArgumentType]


def _spread(values: Sequence[float]) -> float:
    mean = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values))
