"""Moments of what all cells hold, merged in the order of the ranks: the same bits on each."""

from collections.abc import Mapping

import torch
from torch import Tensor

from attract.algorithm.normalisation import RunningMoments
from attract.learner.cells.group import LearnerGroup


def merged(group: LearnerGroup, moments: Mapping[str, RunningMoments]) -> dict[str, RunningMoments]:
    """Per key the moments of what all learners saw; all have the same keys and shapes."""
    if group.size == 1 or not moments:
        return dict(moments)
    names = sorted(moments)
    parts: list[Tensor] = []
    for name in names:
        own = moments[name]
        parts += [torch.tensor([own.count], dtype=torch.float64), own.mean, own.squared_deviations]
    found = {name: RunningMoments.empty(tuple(moments[name].mean.shape)) for name in names}
    for vector in group.all_gather(torch.cat([part.reshape(-1) for part in parts])):
        start = 0
        for name in names:
            shape = moments[name].mean.shape
            size = moments[name].mean.numel()
            mean = vector[start + 1 : start + 1 + size].view(shape)
            squared = vector[start + 1 + size : start + 1 + 2 * size].view(shape)
            found[name] = found[name].merge(RunningMoments(float(vector[start]), mean, squared))
            start += 1 + 2 * size
    return found


def variance(group: LearnerGroup, values: Tensor) -> float:
    """Population variance of the [n] values of all of them together; NaN where there is a single NaN."""
    if group.size == 1:
        return float(values.var(correction=0))
    own = RunningMoments.of(values, torch.ones_like(values, dtype=torch.bool))
    return float(merged(group, {"": own})[""].variance)
