"""Mean and variance of observations, gathered batch by batch in float64 and merged exactly."""

from dataclasses import dataclass
from functools import reduce
from typing import Self

import torch
from torch import Tensor

VARIANCE_FLOOR = 1e-8
"""Added to the variance before the root, so that a constant component divides by 1e-4 and not by 0."""
PART_BYTES = 64 << 20
"""Bytes of float64 numbers processed together; three times as much is allocated for a moment."""


@dataclass(frozen=True, slots=True)
class RunningMoments:
    """Count, mean and sum of squared deviations of a stream of observations; immutable, on the CPU."""

    count: float
    mean: Tensor
    """[...] float64."""
    squared_deviations: Tensor
    """[...] float64, sum of (x - mean)^2."""

    @classmethod
    def empty(cls, shape: tuple[int, ...]) -> Self:
        """Moments before the first observation."""
        return cls(0.0, torch.zeros(shape, dtype=torch.float64), torch.zeros(shape, dtype=torch.float64))

    @classmethod
    def of(cls, observations: Tensor, valid: Tensor) -> Self:
        """Moments of one batch, valid steps only (rules P7, S5).

        Args:
            observations: [T, S, ...] or [N, ...] float; NaN in invalid steps does not matter.
            valid: bool, the leading dimensions of `observations`.
        """
        at_once = max(1, PART_BYTES // (8 * max(1, observations[:1].numel())))
        parts = zip(observations.split(at_once), valid.split(at_once), strict=True)
        return reduce(cls.merge, [cls._of_part(part[kept].double()) for part, kept in parts])

    @classmethod
    def _of_part(cls, rows: Tensor) -> Self:
        """Moments of [n, ...] float64 rows, computed at once."""
        if rows.shape[0] == 0:
            return cls.empty(tuple(rows.shape[1:]))
        mean = rows.mean(0)
        squared = (rows - mean).square_().sum(0)
        return cls(float(rows.shape[0]), mean.cpu(), squared.cpu())

    def merge(self, other: Self) -> Self:
        """Moments of both streams together; exact, whatever the order up to rounding.

        Source: Chan, Golub, LeVeque 1979, "Updating formulae and a pairwise algorithm", equation 2.1.
        """
        count = self.count + other.count
        if count == 0:
            return self
        share = other.count / count
        difference = other.mean - self.mean
        mean = self.mean + difference * share
        squared = (
            self.squared_deviations + other.squared_deviations + difference.square() * (self.count * share)
        )
        return type(self)(count, mean, squared)

    @property
    def variance(self) -> Tensor:
        """[...] float64, population variance; 1 before anything was seen."""
        if self.count == 0:
            return torch.ones_like(self.mean)
        return self.squared_deviations / self.count

    @property
    def inverse_std(self) -> Tensor:
        """[...] float64, 1 / sqrt(variance + 1e-8)."""
        return torch.rsqrt(self.variance + VARIANCE_FLOOR)
