"""The entries of an observation as the network takes them in: one of a plain box, several of a dictionary."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor, nn

from attract.algorithm.normalisation import RunningMoments
from attract.schema.spaces import (
    BoxSpace,
    LeafSpace,
    MultiBinarySpace,
    ObservationSpace,
    SetSpace,
    observation_parts,
)

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


_DTYPES = {"float32": torch.float32, "uint8": torch.uint8, "int32": torch.int32}
UINT8_SCALE = 1.0 / 255.0

Observations = Mapping[str, Tensor]
"""Raw observations by entry key, as the wire carries them, with the same leading dimensions in each."""
Preprocessed = Mapping[str, Tensor]
"""Outputs of `Policy.preprocess`: all that does not depend on weights, leading dimensions kept."""

EntryKind = Literal["vector", "image", "set", "one_hot", "bits"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One array of the observation and how it enters the network."""

    key: str
    input_name: str
    """Name of its input in the ONNX graph."""
    suffix: str
    """Ends the names of its modules: empty for a plain box, so that their names are the plain ones."""
    kind: EntryKind
    dtype: torch.dtype
    shape: tuple[int, ...]
    choices: tuple[int, ...] = ()
    """Number of values of each component of a `one_hot`."""

    @property
    def num_features(self) -> int:
        """Numbers it has as a vector; of an image or a set, before its encoder."""
        return sum(self.choices) if self.kind == "one_hot" else math.prod(self.shape)

    @property
    def num_dimensions(self) -> int:
        """Number of dimensions of one raw observation."""
        return len(self.shape)

    @property
    def statistics_shape(self) -> tuple[int, ...]:
        """Shape of its mean: all rows of a set have one, or their order would matter."""
        return self.shape[1:] if self.kind == "set" else self.shape

    def moments(self, observations: Tensor, valid: Tensor) -> RunningMoments:
        """Moments of a batch's observations, [..., *shape] float, where valid [...] (rule P7).

        Of a set they are those of the rows that hold a thing; the 1 that ends these stays as it is.
        """
        if self.kind != "set":
            return RunningMoments.of(observations, valid)
        moments = RunningMoments.of(observations, valid.unsqueeze(-1) & (observations[..., -1] > 0))
        mean, squared = moments.mean.clone(), moments.squared_deviations.clone()
        mean[-1], squared[-1] = 0.0, moments.count
        return replace(moments, mean=mean, squared_deviations=squared)

    def encode(self, preprocessed: Tensor) -> Tensor:
        """[N, num_features] float32 (an image or a set: [N, *shape]) from what `Policy.preprocess` left."""
        if self.kind == "one_hot":
            parts = preprocessed.reshape(preprocessed.shape[0], -1).split(1, 1)
            # By comparison, so that a number outside the range is all zeros, as in the graph, and no crash.
            encoded = [
                part == torch.arange(count, dtype=part.dtype, device=part.device)
                for part, count in zip(parts, self.choices, strict=True)
            ]
            return torch.cat(encoded, 1).float()
        if preprocessed.dtype != torch.uint8:
            return preprocessed
        return preprocessed.float() if self.kind == "bits" else preprocessed.float() * UINT8_SCALE


def observation_inputs(space: ObservationSpace) -> tuple[Entry, ...]:
    """The entries of an observation space in sorted key order; a plain box is the single entry `obs`."""
    parts = observation_parts(space)
    if len(parts) == 1:
        return tuple(_entry(key, "obs", "", part) for key, part in parts.items())
    return tuple(
        _entry(key, f"obs_{index}", f"_{index}", part) for index, (key, part) in enumerate(parts.items())
    )


def _entry(
    key: str,
    input_name: str,
    suffix: str,
    space: LeafSpace,
) -> Entry:
    dtype, shape = _DTYPES[space.stored_type], space.stored_shape
    if isinstance(space, BoxSpace):
        kind: EntryKind = "image" if space.is_image else "vector"
        return Entry(key, input_name, suffix, kind, dtype, shape)
    if isinstance(space, SetSpace):
        return Entry(key, input_name, suffix, "set", dtype, shape)
    if isinstance(space, MultiBinarySpace):
        return Entry(key, input_name, suffix, "bits", dtype, shape)
    return Entry(key, input_name, suffix, "one_hot", dtype, shape, space.choices)
