"""Extremely randomised trees: what was chosen, learned from few examples of a table of numbers.

Geurts, Ernst, Wehenkel: Extremely randomized trees, Machine Learning 63 (2006).
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

MOST_TREES: Final = 200
FEWEST_TREES: Final = 20
GROWN_ROWS: Final = 2_000_000
"""Rows times trees, about, that a forest is grown of."""
ROWS_AT_ONCE: Final = 8_192


class ExtraTrees:
    """A forest that gives the probability of each choice; grown until every leaf has one choice alone.

    Each node draws a threshold of every number, between the least and the largest value that come there, and
    keeps the one that leaves the purest halves. Where examples are few, the average of such steps is closer
    to what a player means than a smooth function is.

    Args:
        seen: [n, numbers] float64.
        chosen: [n] int64, 0 to `num_choices` - 1.
        num_choices: how many there are.
        random: of the thresholds.
    """

    def __init__(
        self,
        seen: NDArray[np.float64],
        chosen: NDArray[np.int64],
        num_choices: int,
        random: np.random.Generator,
    ) -> None:
        self.num_trees = int(np.clip(GROWN_ROWS // max(1, len(seen)), FEWEST_TREES, MOST_TREES))
        self._counts = np.eye(num_choices)[chosen]
        self._seen = seen
        self._random = random
        self._number: list[int] = []
        """Of each node, which number it asks for; -1 for a leaf."""
        self._threshold: list[float] = []
        self._below: list[int] = []
        """The node for what is not above the threshold; that for what is comes right after it."""
        self._shares: list[NDArray[np.float64]] = []
        roots = [self._grow() for _ in range(self.num_trees)]
        self._roots = np.array(roots)
        self._nodes = np.array(self._number), np.array(self._threshold), np.array(self._below)
        self._leaves = np.array(self._shares)

    def probabilities(self, seen: NDArray[np.float64]) -> NDArray[np.float64]:
        """[m, num_choices], the mean over the trees, for [m, numbers]."""
        parts = [
            self._mean_of(seen[first : first + ROWS_AT_ONCE]) for first in range(0, len(seen), ROWS_AT_ONCE)
        ]
        return np.concatenate(parts)

    def _mean_of(self, seen: NDArray[np.float64]) -> NDArray[np.float64]:
        number, threshold, below = self._nodes
        total = np.zeros((len(seen), self._leaves.shape[1]))
        rows = np.arange(len(seen))
        for root in self._roots:
            at = np.full(len(seen), root)
            while (asked := number[at] >= 0).any():
                nodes = at[asked]
                is_above = seen[rows[asked], number[nodes]] > threshold[nodes]
                at[asked] = below[nodes] + is_above
            total += self._leaves[at]
        return total / self.num_trees

    def _grow(self) -> int:
        """A tree of all examples; its root."""
        root = self._add_node()
        waiting = [(root, np.arange(len(self._seen)))]
        while waiting:
            node, rows = waiting.pop()
            counts = self._counts[rows]
            self._shares[node] = counts.mean(0)
            split = None if self._shares[node].max() == 1.0 else self._split(rows, counts)
            if split is None:
                continue
            self._number[node], self._threshold[node], is_above = split
            below, above = self._add_node(), self._add_node()
            self._below[node] = below
            waiting += [(below, rows[~is_above]), (above, rows[is_above])]
        return root

    def _add_node(self) -> int:
        self._number.append(-1)
        self._threshold.append(0.0)
        self._below.append(-1)
        self._shares.append(np.zeros(self._counts.shape[1]))
        return len(self._number) - 1

    def _split(
        self, rows: NDArray[np.int64], counts: NDArray[np.float64]
    ) -> tuple[int, float, NDArray[np.bool_]] | None:
        """The number, its threshold and which rows are above; None where all rows are alike."""
        seen = self._seen[rows]
        low, high = seen.min(0), seen.max(0)
        varying = np.flatnonzero(low < high)
        if not len(varying):
            return None
        low, high = low[varying], high[varying]
        drawn = low + self._random.random(len(varying)) * (high - low)
        # Rounded up to the largest, nothing would be above.
        thresholds = np.where(drawn < high, drawn, low)
        is_above = seen[:, varying] > thresholds
        above = is_above.T @ counts
        below = counts.sum(0) - above
        num_above = is_above.sum(0)
        purity = (above**2).sum(1) / num_above + (below**2).sum(1) / (len(rows) - num_above)
        best = int(purity.argmax())
        return int(varying[best]), float(thresholds[best]), is_above[:, best]
