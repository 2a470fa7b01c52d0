"""The observation normaliser that is part of the network and of its graph."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

OBSERVATION_CLIP = 10.0
"""Normalised observations lie within this many standard deviations."""


class ObservationNormaliser(nn.Module):
    """clip((x - mean) * inv_std, -10, 10) with fixed statistics (rule P7); at first mean 0, inv_std 1.

    Buffers `mean` and `inv_std` have the observation's shape; the learner sets them between updates.
    """

    mean: Tensor
    inv_std: Tensor

    def __init__(self, shape: Sequence[int]) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(tuple(shape)))
        self.register_buffer("inv_std", torch.ones(tuple(shape)))

    def set_statistics(self, mean: Tensor, inv_std: Tensor) -> None:
        """Take over new statistics, [...] of the observation's shape, any float dtype."""
        self.mean.copy_(mean)
        self.inv_std.copy_(inv_std)

    def forward(self, observations: Tensor) -> Tensor:
        """[..., *shape] float32 from [..., *shape] float32."""
        return ((observations - self.mean) * self.inv_std).clamp(-OBSERVATION_CLIP, OBSERVATION_CLIP)
