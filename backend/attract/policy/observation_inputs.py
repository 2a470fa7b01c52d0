"""The entries of an observation as the network takes them in: one of a plain box, several of a dictionary."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from attract.experience.layout import SINGLE_OBSERVATION
from attract.schema.spaces import (
    BoxSpace,
    DictSpace,
    LeafSpace,
    MultiBinarySpace,
    ObservationSpace,
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

EntryKind = Literal["vector", "image", "one_hot", "bits"]


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
        """Numbers it has as a vector; of an image, before its encoder."""
        return sum(self.choices) if self.kind == "one_hot" else math.prod(self.shape)

    @property
    def num_dimensions(self) -> int:
        """Number of dimensions of one raw observation."""
        return len(self.shape)

    def encode(self, preprocessed: Tensor) -> Tensor:
        """[N, num_features] float32 (an image: [N, *shape]) from [N, ...] as `Policy.preprocess` left it."""
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
    if not isinstance(space, DictSpace):
        return (_entry(SINGLE_OBSERVATION, "obs", "", space),)
    keys = sorted(space.spaces)
    if len(keys) == 1:
        return (_entry(keys[0], "obs", "", space.spaces[keys[0]]),)
    return tuple(
        _entry(key, f"obs_{index}", f"_{index}", space.spaces[key]) for index, key in enumerate(keys)
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
    if isinstance(space, MultiBinarySpace):
        return Entry(key, input_name, suffix, "bits", dtype, shape)
    return Entry(key, input_name, suffix, "one_hot", dtype, shape, space.choices)
