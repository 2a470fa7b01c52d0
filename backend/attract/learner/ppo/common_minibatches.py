"""Minibatches split over cells: how many there are, and statistics over all parts together."""

from collections.abc import Sequence
from dataclasses import astuple
from functools import reduce

import torch
from torch import Tensor

from attract.algorithm.losses import AdvantageMoments
from attract.learner.group.cells import LearnerGroup


def common_number(group: LearnerGroup, num_parts: int, num_units: int) -> int:
    """Number of minibatches per epoch in every cell: as many as the largest batch makes.

    Args:
        group: all cells.
        num_parts: that this cell's batch makes by itself.
        num_units: that it can be cut into; the least of all cells' bounds the number.
    """
    if group.size == 1:
        return num_parts
    parts, units = group.all_gather(torch.tensor([num_parts, num_units])).unbind(1)
    return max(1, min(int(parts.max()), int(units.min())))


def unite(
    group: LearnerGroup, parts: Sequence[Tensor], min_deviation: float | None
) -> list[tuple[Tensor, float]]:
    """The advantages of each minibatch's part here, normalised over all cells, and the part's share of it.

    Args:
        group: all cells; each has as many parts.
        parts: [n] float32 advantages each; of no step where n is 0.
        min_deviation: as `normalise_advantages` takes it; None: they stay as they are.
    """
    own = [astuple(AdvantageMoments.of(part)) for part in parts]
    of_all = group.all_gather(torch.tensor(own, dtype=torch.float64)).unbind(1)
    found: list[tuple[Tensor, float]] = []
    for part, by_rank in zip(parts, of_all, strict=True):
        whole = reduce(AdvantageMoments.merge, [AdvantageMoments(*row) for row in by_rank.tolist()])
        kept = part if min_deviation is None else whole.normalise(part, min_deviation)
        found.append((kept, part.numel() / whole.count if whole.count > 0 else 0.0))
    return found
