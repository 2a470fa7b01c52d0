"""Actor-critic perceptron for vector observations, with the observation normaliser in its graph."""

import math
from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor, nn

from attract.policy.dense import ReluLayer, TanhLayer

OBSERVATION_CLIP = 10.0
"""Normalised observations lie within this many standard deviations."""
_UINT8_SCALE = 1.0 / 255.0

TRUNK_GAIN = 2.0**0.5
POLICY_HEAD_GAIN = 0.01
VALUE_HEAD_GAIN = 1.0


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
        """[N, ...] float32 from [N, ...] float32."""
        return ((observations - self.mean) * self.inv_std).clamp(-OBSERVATION_CLIP, OBSERVATION_CLIP)


class MlpPolicy(nn.Module):
    """Action outputs and value from a float32 or uint8 observation; owned by one thread.

    Args:
        observation_shape: shape of one observation; flattened.
        observation_dtype: uint8 is scaled by 1/255 and never normalised (rule P7).
        num_outputs: numbers the action distribution needs.
        hidden_sizes: width of each hidden layer; may be empty.
        activation: after each hidden layer.
        shared_trunk: one trunk for both heads, or one each.
        normalize_observations: put an `ObservationNormaliser` in front (float32 only).
        generator: draws the initial weights; the same seed gives the same weights.
    """

    def __init__(
        self,
        observation_shape: Sequence[int],
        observation_dtype: Literal["float32", "uint8"],
        num_outputs: int,
        *,
        hidden_sizes: Sequence[int],
        activation: Literal["tanh", "relu"],
        shared_trunk: bool,
        normalize_observations: bool,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        self.observation_shape = tuple(observation_shape)
        self.observation_dtype = torch.uint8 if observation_dtype == "uint8" else torch.float32
        self.num_outputs = num_outputs
        self.num_inputs = num_inputs = math.prod(observation_shape)
        normalised = normalize_observations and self.observation_dtype.is_floating_point
        self.normaliser = ObservationNormaliser(observation_shape) if normalised else None
        self.trunk = _trunk(num_inputs, hidden_sizes, activation, generator)
        self.value_trunk = None if shared_trunk else _trunk(num_inputs, hidden_sizes, activation, generator)
        features = hidden_sizes[-1] if hidden_sizes else num_inputs
        self.policy_head = _head(features, num_outputs, POLICY_HEAD_GAIN, generator)
        self.value_head = _head(features, 1, VALUE_HEAD_GAIN, generator)

    def forward(self, obs: Tensor) -> tuple[Tensor, Tensor]:
        """What the ONNX graph computes: [N, num_outputs] action outputs and [N] value from [N, ...]."""
        return self.forward_prepared(self.prepare(obs))

    def prepare(self, observations: Tensor) -> Tensor:
        """The part without weights: [N, features] float32, scaled or normalised, flat.

        Statistics stay fixed during an update, so the learner does this once, not once per epoch.
        """
        if not self.observation_dtype.is_floating_point:
            observations = observations.float() * _UINT8_SCALE
        elif self.normaliser is not None:
            observations = self.normaliser(observations)
        return observations.reshape(-1, self.num_inputs)

    def forward_prepared(self, prepared: Tensor) -> tuple[Tensor, Tensor]:
        """[N, num_outputs] action outputs and [N] value from prepared observations."""
        features = self.trunk(prepared)
        value_features = features if self.value_trunk is None else self.value_trunk(prepared)
        return self.policy_head(features), self.value_head(value_features).squeeze(-1)


def _trunk(
    num_inputs: int,
    hidden_sizes: Sequence[int],
    activation: Literal["tanh", "relu"],
    generator: torch.Generator,
) -> nn.Sequential:
    kind = TanhLayer if activation == "tanh" else ReluLayer
    layers: list[nn.Module] = []
    for size in hidden_sizes:
        layers.append(_initialised(kind(num_inputs, size), TRUNK_GAIN, generator))
        num_inputs = size
    return nn.Sequential(*layers)


def _head(num_inputs: int, num_outputs: int, gain: float, generator: torch.Generator) -> nn.Linear:
    return _initialised(nn.Linear(num_inputs, num_outputs), gain, generator)


def _initialised(layer: nn.Linear, gain: float, generator: torch.Generator) -> nn.Linear:
    """The layer with orthogonal weights (Saxe et al. 2014, arXiv:1312.6120) and zero bias."""
    nn.init.orthogonal_(layer.weight, gain, generator=generator)
    nn.init.zeros_(layer.bias)
    return layer
