"""The network of quantiles: a policy's encoders and trunks, with heads for the return's quantiles."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from attract.algorithm.distributions import ActionDistribution, mask_logits
from attract.policy.action_kinds.discrete import Categorical
from attract.policy.action_kinds.multi_binary import Bernoulli
from attract.policy.action_kinds.multi_discrete import MultiCategorical
from attract.policy.dense import POLICY_HEAD_GAIN, initialise
from attract.policy.network import Policy
from attract.policy.observation_inputs import Preprocessed


@dataclass(frozen=True, slots=True)
class Choices:
    """The components of an action, each a choice among `sizes[c]`; K choices in all."""

    sizes: tuple[int, ...]
    is_binary: bool = False
    """Whether a component is a bit with one output: how much better 1 is than 0."""

    @classmethod
    def of(cls, distribution: ActionDistribution) -> "Choices":
        """Raises: RuntimeError: actions without choices, which the settings refuse."""
        match distribution:
            case Categorical():
                return cls((distribution.num_outputs,))
            case MultiCategorical():
                return cls(tuple(distribution.nvec))
            case Bernoulli():
                return cls((2,) * distribution.num_outputs, is_binary=True)
            case _:
                raise RuntimeError(f"expected actions with choices, got {type(distribution).__name__}")

    def centred(self, outputs: Tensor) -> Tensor:
        """[B, K, N] advantages whose mean over each component's choices is 0, from [B, outputs, N]."""
        if self.is_binary:
            return torch.stack((-0.5 * outputs, 0.5 * outputs), 2).flatten(1, 2)
        parts = outputs.split(self.sizes, 1)
        return torch.cat([part - part.mean(1, keepdim=True) for part in parts], 1)

    def indices(self, actions: Tensor) -> Tensor:
        """[B, components] int64, which of the K choices each component took."""
        if len(self.sizes) == 1:
            return actions.view(-1, 1)
        starts = torch.tensor([0, *self.sizes[:-1]], device=actions.device).cumsum(0)
        return actions.view(len(actions), -1) + starts

    def best(self, means: Tensor, action_mask: Tensor | None) -> Tensor:
        """The same of the best allowed choices, from [B, K] values; the first of equals."""
        allowed = None if self.is_binary else action_mask
        parts = mask_logits(means, allowed).split(self.sizes, 1)
        return self.indices(torch.stack([part.argmax(1) for part in parts], 1))


class QuantileNetwork(nn.Module):
    """Quantiles of the return of each action: Z_i(s, a) = V_i(s) + sum over components of A_i(s, a_c).

    A is centred over the choices of each component (dueling; Wang et al. 2016, arXiv:1511.06581, equation 9;
    for several components Tavakoli et al. 2018, arXiv:1711.08946). V reads the policy's value trunk, A its
    policy trunk, which it shares with the policy; the policy's own heads are written by `write_heads`.

    Args:
        policy: feed-forward.
        choices: of the game's actions.
        num_quantiles: N.
        generator: draws the heads' initial weights.
    """

    def __init__(
        self, policy: Policy, choices: Choices, num_quantiles: int, generator: torch.Generator
    ) -> None:
        super().__init__()
        self.policy = policy
        self.choices = choices
        self.num_quantiles = num_quantiles
        inputs, outputs = policy.policy_head.in_features, policy.policy_head.out_features
        self.advantage_head = _head(inputs, outputs * num_quantiles, generator)
        self.value_head = _head(inputs, num_quantiles, generator)

    def learned(self) -> list[nn.Parameter]:
        """What gradient steps change: all but the heads of the policy itself."""
        own = (*self.policy.policy_head.parameters(), *self.policy.value_head.parameters())
        derived = {id(parameter) for parameter in own}
        return [parameter for parameter in self.parameters() if id(parameter) not in derived]

    def followed(self) -> list[nn.Parameter]:
        """The same: the target network follows all that is learned."""
        return self.learned()

    def quantiles(self, preprocessed: Preprocessed, indices: Tensor) -> Tensor:
        """[B, N] quantiles of the return of actions.

        Args:
            preprocessed: B observations.
            indices: [B, components] int64, as `Choices.indices` gives them.
        """
        inputs = self.policy.features(preprocessed)
        features = self.policy.trunk(inputs)
        trunk = self.policy.value_trunk
        value = self.value_head(features if trunk is None else trunk(inputs))
        advantages = self.advantage_head(features).unflatten(1, (-1, self.num_quantiles))
        chosen = indices.unsqueeze(2).expand(-1, -1, self.num_quantiles)
        return value + self.choices.centred(advantages).gather(1, chosen).sum(1)

    @torch.no_grad()
    def best(self, preprocessed: Preprocessed, action_mask: Tensor | None) -> Tensor:
        """Indices of the choices whose mean over quantiles is largest; see `Choices.best`."""
        features = self.policy.trunk(self.policy.features(preprocessed))
        weight, bias = (self._mean(parameter) for parameter in self.advantage_head.parameters())
        means = nn.functional.linear(features, weight, bias)
        return self.choices.best(self.choices.centred(means.unsqueeze(2)).squeeze(2), action_mask)

    def _mean(self, of_head: Tensor) -> Tensor:
        """The advantage head's weight or bias, mean over quantiles."""
        return of_head.unflatten(0, (-1, self.num_quantiles)).mean(1)

    @torch.no_grad()
    def write_heads(self, scale: float) -> None:
        """Make the policy's value the mean of V, and its logits `scale` times the mean of A."""
        policy = self.policy
        for name, of_policy in (("weight", policy.policy_head.weight), ("bias", policy.policy_head.bias)):
            own = self._mean(getattr(self.advantage_head, name))
            if not self.choices.is_binary:
                parts: Sequence[Tensor] = own.split(self.choices.sizes)
                own = torch.cat([part - part.mean(0, keepdim=True) for part in parts])
            of_policy.copy_(scale * own)
        policy.value_head.weight.copy_(self.value_head.weight.mean(0, keepdim=True))
        policy.value_head.bias.copy_(self.value_head.bias.mean(0, keepdim=True))


def _head(inputs: int, outputs: int, generator: torch.Generator) -> nn.Linear:
    # Near 0 at first, so that no action looks better than another by chance.
    return initialise(nn.Linear(inputs, outputs), POLICY_HEAD_GAIN, generator)
