"""Moments of what all cells hold, merged in the order of the ranks: the same bits on each."""

from collections.abc import Mapping

import torch
from torch import Tensor

from attract.algorithm.normalisation import RunningMoments
from attract.learner.checkpoints.state_tensors import moments_by_name, moments_tensors
from attract.learner.group.cells import LearnerGroup


def merged(group: LearnerGroup, moments: Mapping[str, RunningMoments]) -> dict[str, RunningMoments]:
    """Per key the moments of what all learners saw; all have the same keys and shapes."""
    if group.size == 1 or not moments:
        return dict(moments)
    own: dict[str, Tensor] = {}
    for name in sorted(moments):
        own |= moments_tensors(name, moments[name])
    found = {name: RunningMoments.empty(tuple(seen.mean.shape)) for name, seen in moments.items()}
    sizes = [tensor.numel() for tensor in own.values()]
    for vector in group.all_gather(torch.cat([tensor.reshape(-1) for tensor in own.values()])):
        parts = zip(own.items(), vector.split(sizes), strict=True)
        theirs = moments_by_name({name: part.view(tensor.shape) for (name, tensor), part in parts})
        found = {name: seen.merge(theirs[name]) for name, seen in found.items()}
    return found


def variance(group: LearnerGroup, values: Tensor) -> float:
    """Population variance of the [n] values of all of them together; NaN where there is a single NaN."""
    if group.size == 1:
        return float(values.var(correction=0))
    own = RunningMoments.of(values, torch.ones_like(values, dtype=torch.bool))
    return float(merged(group, {"": own})[""].variance)
