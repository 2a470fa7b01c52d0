"""Initial weights: orthogonal, with zero biases, drawn from one generator in the order of construction."""

from typing import TypeVar

import torch
from torch import nn

HIDDEN_GAIN = 2.0**0.5
POLICY_HEAD_GAIN = 0.01
VALUE_HEAD_GAIN = 1.0

Layer = TypeVar("Layer", nn.Linear, nn.Conv2d)


def initialise(layer: Layer, gain: float, generator: torch.Generator) -> Layer:
    """The layer with orthogonal weights (Saxe et al. 2014, arXiv:1312.6120) and zero bias."""
    nn.init.orthogonal_(layer.weight, gain, generator=generator)
    if layer.bias is not None:
        nn.init.zeros_(layer.bias)
    return layer
