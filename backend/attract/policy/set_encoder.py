"""Encoder of a set of things: the same layers for each, and features that their order does not change."""

from collections.abc import Sequence
from typing import Final

import torch
from torch import Tensor, nn

from attract.policy.dense import HIDDEN_GAIN, ReluLayer, initialise

SET_FEATURES: Final = 32
NUM_HEADS: Final = 4
"""Each weighs a quarter of the features by scores of its own."""


class SetEncoder(nn.Module):
    """Two layers shared by all rows, then the mean of their features, weighted by attention.

    A head's weight of a row is the softmax of its score over the rows that hold a thing and one of score 0
    that holds none: the fewer rows matter, the smaller the features, and without rows they are zeros.

    Source: Lee et al. 2019 (arXiv:1810.00825), section 3.2, with one learned query and without normalisation.
    """

    def __init__(self, shape: Sequence[int], generator: torch.Generator) -> None:
        """`shape` is [rows, numbers + 1], as `SetSpace` stores it."""
        super().__init__()
        layers = [ReluLayer(width, SET_FEATURES) for width in (shape[1], SET_FEATURES)]
        self.layers = nn.Sequential(*(initialise(layer, HIDDEN_GAIN, generator) for layer in layers))
        self.scores = initialise(nn.Linear(SET_FEATURES, NUM_HEADS), 1.0, generator)
        self.num_features = SET_FEATURES

    def forward(self, rows: Tensor) -> Tensor:
        """[N, 32] float32 from [N, rows, numbers + 1] float32."""
        features, holds = self.layers(rows), rows[..., -1:]
        scores = self.scores(features) * holds
        largest = scores.detach().amax(1, keepdim=True).clamp(min=0.0)
        shares = torch.exp(scores - largest) * holds
        weights = shares / (shares.sum(1, keepdim=True) + torch.exp(-largest))
        heads = features.unflatten(2, (NUM_HEADS, -1)) * weights.unsqueeze(3)
        return heads.sum(1).flatten(1)
