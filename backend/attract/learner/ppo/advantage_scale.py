"""Moving deviation of advantages: a floor for batches with small advantages (rule P1)."""

import math
from dataclasses import asdict, dataclass
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class AdvantageScale:
    """Decaying mean over updates of the variances of one policy's advantages."""

    variance: float = 0.0
    """Weighted sum of the variances."""
    weight: float = 0.0
    """Sum of the weights; 0 before the first update."""

    @classmethod
    def restore(cls, document: Any) -> Self:
        """What `to_document` gave. Raises: KeyError, TypeError, ValueError: it gave something else."""
        return cls(variance=float(document["variance"]), weight=float(document["weight"]))

    def to_document(self) -> dict[str, Any]:
        """As a checkpoint's document holds it."""
        return asdict(self)

    def then(self, variance: float, decay: float) -> "AdvantageScale":
        """The scale after one more update.

        Args:
            variance: of its advantages, before they are normalised; one that is not finite is ignored.
            decay: weight of the earlier variances, in [0, 1).
        """
        if not math.isfinite(variance):
            return self
        gain = 1.0 - decay
        return AdvantageScale(decay * self.variance + gain * variance, decay * self.weight + gain)

    @property
    def deviation(self) -> float:
        """The root of the mean; 0 before the first update."""
        return 0.0 if self.weight == 0.0 else math.sqrt(self.variance / self.weight)
