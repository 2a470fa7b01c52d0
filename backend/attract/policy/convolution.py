"""Encoders of images: a small convolutional network, and the one of IMPALA."""

from collections.abc import Sequence
from typing import Final, Literal

import torch
from torch import Tensor, nn

from attract.policy.dense import HIDDEN_GAIN, ReluLayer, initialise

CnnName = Literal["small", "impala"]

SMALL_FEATURES: Final = 128
SMALL_CHANNELS: Final = (16, 32)
SMALL_TARGET: Final = 8
"""Convolutions of the small network halve the image until neither side is longer than this."""
IMPALA_FEATURES: Final = 256
IMPALA_CHANNELS: Final = (16, 32, 32)
RESIDUAL_GAIN: Final = 0.5
"""The output of a fresh residual block is small beside its input, so that fifteen layers neither swell
nor lose more digits than rule C9 has."""


class SmallCnn(nn.Module):
    """3 x 3 convolutions with ReLU, at least two, that halve the image down to 8 x 8; then one dense layer.

    16 channels after the first, 32 after each other one. For images of a few dozen pixels: 32 x 32 x 3 takes
    0.7 million multiplications.
    """

    def __init__(self, shape: Sequence[int], generator: torch.Generator) -> None:
        """`shape` is [height, width, channels]."""
        super().__init__()
        height, width, channels = shape
        layers: list[nn.Conv2d] = []
        while len(layers) < len(SMALL_CHANNELS) or max(height, width) > SMALL_TARGET:
            stride = 2 if max(height, width) > SMALL_TARGET else 1
            out_channels = SMALL_CHANNELS[min(len(layers), 1)]
            conv = nn.Conv2d(channels, out_channels, 3, stride, padding=1)
            layers.append(initialise(conv, HIDDEN_GAIN, generator))
            channels, height, width = out_channels, -(-height // stride), -(-width // stride)
        self.convolutions = nn.Sequential(*layers)
        self.dense = initialise(ReluLayer(channels * height * width, SMALL_FEATURES), HIDDEN_GAIN, generator)
        self.num_features = SMALL_FEATURES

    def forward(self, images: Tensor) -> Tensor:
        """[N, 128] float32 from [N, height, width, channels] float32."""
        maps = images.permute(0, 3, 1, 2)
        for convolution in self.convolutions:
            maps = torch.relu(convolution(maps))
        return self.dense(maps.flatten(1))


class ResidualBlock(nn.Module):
    """x + conv(relu(conv(relu(x)))), 3 x 3, as many channels out as in."""

    def __init__(self, channels: int, generator: torch.Generator) -> None:
        super().__init__()
        self.first = initialise(nn.Conv2d(channels, channels, 3, padding=1), HIDDEN_GAIN, generator)
        self.second = initialise(nn.Conv2d(channels, channels, 3, padding=1), RESIDUAL_GAIN, generator)

    def forward(self, maps: Tensor) -> Tensor:
        """[N, channels, h, w] from the same."""
        return maps + self.second(torch.relu(self.first(torch.relu(maps))))


class ImpalaStage(nn.Module):
    """A convolution, a 3 x 3 maximum with stride 2, and two residual blocks."""

    def __init__(self, channels: int, out_channels: int, generator: torch.Generator) -> None:
        super().__init__()
        self.convolution = initialise(nn.Conv2d(channels, out_channels, 3, padding=1), 1.0, generator)
        self.blocks = nn.Sequential(*(ResidualBlock(out_channels, generator) for _ in range(2)))

    def forward(self, maps: Tensor) -> Tensor:
        """[N, out, ceil(h / 2), ceil(w / 2)] from [N, in, h, w]."""
        pooled = nn.functional.max_pool2d(self.convolution(maps), 3, stride=2, padding=1)
        return self.blocks(pooled)


class ImpalaCnn(nn.Module):
    """Three stages of residual convolutions and a dense layer.

    Source: Espeholt et al. 2018 (arXiv:1802.01561), figure 3, right, without its LSTM.
    """

    def __init__(self, shape: Sequence[int], generator: torch.Generator) -> None:
        """`shape` is [height, width, channels]."""
        super().__init__()
        height, width, channels = shape
        stages: list[ImpalaStage] = []
        for out_channels in IMPALA_CHANNELS:
            stages.append(ImpalaStage(channels, out_channels, generator))
            channels, height, width = out_channels, -(-height // 2), -(-width // 2)
        self.stages = nn.Sequential(*stages)
        self.dense = initialise(ReluLayer(channels * height * width, IMPALA_FEATURES), HIDDEN_GAIN, generator)
        self.num_features = IMPALA_FEATURES

    def forward(self, images: Tensor) -> Tensor:
        """[N, 256] float32 from [N, height, width, channels] float32."""
        return self.dense(torch.relu(self.stages(images.permute(0, 3, 1, 2))).flatten(1))


def create_cnn(name: CnnName, shape: Sequence[int], generator: torch.Generator) -> SmallCnn | ImpalaCnn:
    """The encoder of that name for images of [height, width, channels]."""
    return SmallCnn(shape, generator) if name == "small" else ImpalaCnn(shape, generator)
