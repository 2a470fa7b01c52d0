"""The networks of SAC: the policy, two values of actions on its features, and the temperature."""

import math

import torch
from torch import Tensor, nn

from attract.policy.dense import HIDDEN_GAIN, VALUE_HEAD_GAIN, initialise
from attract.policy.network import Policy
from attract.policy.observation_inputs import Preprocessed

NUM_CRITICS = 2


class Critic(nn.Module):
    """Q(s, a) from features and an action; hidden layers with layer normalisation, which is never exported.

    Layer normalisation keeps values of actions that were never taken bounded (Ball et al. 2023,
    arXiv:2302.02948, section 4.2).

    Args:
        num_features: of an observation.
        action_size: numbers of an action.
        hidden_sizes: of the policy's trunk.
        generator: draws the initial weights.
    """

    def __init__(
        self, num_features: int, action_size: int, hidden_sizes: tuple[int, ...], generator: torch.Generator
    ) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        inputs = num_features + action_size
        for size in hidden_sizes:
            layers += [
                initialise(nn.Linear(inputs, size), HIDDEN_GAIN, generator),
                nn.LayerNorm(size),
                nn.ReLU(),
            ]
            inputs = size
        self.layers = nn.Sequential(*layers, initialise(nn.Linear(inputs, 1), VALUE_HEAD_GAIN, generator))

    def forward(self, features: Tensor, actions: Tensor) -> Tensor:
        """[B] float32 from [B, features] and [B, size] within [-1, 1]."""
        return self.layers(torch.cat((features, actions), 1)).squeeze(1)


class SoftActorCritic(nn.Module):
    """A policy of real numbers, critics that read its encoders' features, and the temperature.

    Encoders learn from the critics' loss alone; the policy's trunk and deviations learn from the actor's.

    Args:
        policy: feed-forward, with a Gaussian's outputs.
        temperature: at the start.
        generator: draws the critics' initial weights.
    """

    def __init__(self, policy: Policy, temperature: float, generator: torch.Generator) -> None:
        super().__init__()
        self.policy = policy
        hidden = [module for module in policy.trunk if isinstance(module, nn.Linear)]
        num_features = (hidden[0] if hidden else policy.policy_head).in_features
        sizes = tuple(layer.out_features for layer in hidden)
        self.critics = nn.ModuleList(
            [
                Critic(num_features, policy.policy_head.out_features, sizes, generator)
                for _ in range(NUM_CRITICS)
            ]
        )
        self.log_temperature = nn.Parameter(torch.tensor(math.log(temperature)))

    def learned(self) -> list[nn.Parameter]:
        """What gradient steps change."""
        return list(self.parameters())

    def followed(self) -> list[nn.Parameter]:
        """Encoders and critics."""
        encoders = [
            parameter for encoder in self.policy.encoders.values() for parameter in encoder.parameters()
        ]
        return [*encoders, *self.critics.parameters()]

    def features(self, preprocessed: Preprocessed) -> Tensor:
        """[B, features] of observations, with gradient into the encoders."""
        return self.policy.features(preprocessed)

    def values(self, features: Tensor, actions: Tensor) -> Tensor:
        """[NUM_CRITICS, B] values of actions within [-1, 1]."""
        return torch.stack([critic(features, actions) for critic in self.critics])

    def act(self, features: Tensor, noise: Tensor) -> Tensor:
        """[B, size] actions mean + std noise, not clipped, with gradient into trunk, head and deviations."""
        return self.policy.policy_head(self.policy.trunk(features)) + self._log_std.exp() * noise

    @property
    def _log_std(self) -> Tensor:
        """[size]. Raises: RuntimeError: actions that are no real numbers, which the settings refuse."""
        if self.policy.action_log_std is None:
            raise RuntimeError("expected a policy of real numbers, got one of choices")
        return self.policy.action_log_std

    @property
    def entropy(self) -> Tensor:
        """[] nats of an action before it is clipped; the same for each observation."""
        return self._log_std.sum() + len(self._log_std) * 0.5 * math.log(2.0 * math.pi * math.e)

    def value(self, features: Tensor) -> Tensor:
        """[B] the policy's own value of observations."""
        trunk = self.policy.value_trunk
        read = self.policy.trunk(features).detach() if trunk is None else trunk(features)
        return self.policy.value_head(read).squeeze(1)
