"""The network of values: a policy's encoders and trunks, with heads for the return's bins."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from attract.algorithm.categories import NUM_BINS, bin_centres
from attract.algorithm.distributions import ActionDistribution, mask_logits
from attract.policy.action_kinds.discrete import Categorical
from attract.policy.action_kinds.multi_binary import Bernoulli
from attract.policy.action_kinds.multi_discrete import MultiCategorical
from attract.policy.dense import POLICY_HEAD_GAIN, BinsLayer, initialise
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


class ValuesNetwork(nn.Module):
    """Logits of the return's bins of each action: Z_i(s, a) = V_i(s) + sum over components of A_i(s, a_c).

    A is centred over the choices of each component (dueling; Wang et al. 2016, arXiv:1511.06581, equation 9;
    for several components Tavakoli et al. 2018, arXiv:1711.08946). Both read the policy's trunk; the policy's
    bins and heads are written by `write_heads`.

    Args:
        policy: feed-forward, with bins.
        choices: of the game's actions.
        limit: of the bins' centres.
        generator: draws the heads' initial weights.
    """

    centres: Tensor

    def __init__(self, policy: Policy, choices: Choices, limit: float, generator: torch.Generator) -> None:
        super().__init__()
        self.policy = policy
        self.choices = choices
        self.limit = limit
        inputs = self._bins.in_features
        self.advantage_head = _head(inputs, policy.num_outputs * NUM_BINS, generator)
        self.value_head = _head(inputs, NUM_BINS, generator)
        self.register_buffer("centres", bin_centres(limit), persistent=False)
        self.write_heads(1.0)

    @property
    def _bins(self) -> BinsLayer:
        if self.policy.bins is None:
            raise RuntimeError("expected a policy with bins of the return, got one without")
        return self.policy.bins

    def learned(self) -> list[nn.Parameter]:
        """What gradient steps change: all but the bins and the heads of the policy itself."""
        policy = self.policy
        own = (self._bins, policy.policy_head, policy.value_head)
        derived = {id(parameter) for layer in own for parameter in layer.parameters()}
        return [parameter for parameter in self.parameters() if id(parameter) not in derived]

    def followed(self) -> list[nn.Parameter]:
        """The same: the target network follows all that is learned."""
        return self.learned()

    def logits(self, preprocessed: Preprocessed, indices: Tensor) -> Tensor:
        """[B, NUM_BINS] logits of the return's bins.

        Args:
            preprocessed: B observations.
            indices: [B, components] int64, as `Choices.indices` gives them.
        """
        value, advantages = self._parts(preprocessed)
        chosen = indices.unsqueeze(2).expand(-1, -1, NUM_BINS)
        return value + advantages.gather(1, chosen).sum(1)

    @torch.no_grad()
    def best(self, preprocessed: Preprocessed, action_mask: Tensor | None) -> Tensor:
        """Indices of the choices whose mean return is largest; see `Choices.best`."""
        value, advantages = self._parts(preprocessed)
        means = (value.unsqueeze(1) + advantages).softmax(2) @ self.centres
        return self.choices.best(means, action_mask)

    def _parts(self, preprocessed: Preprocessed) -> tuple[Tensor, Tensor]:
        """[B, NUM_BINS] of the observation, and [B, K, NUM_BINS] centred ones of the choices."""
        features = self.policy.trunk(self.policy.features(preprocessed))
        value = self.value_head(features)
        return value, self.choices.centred(self.advantage_head(features).unflatten(1, (-1, NUM_BINS)))

    @torch.no_grad()
    def write_heads(self, scale: float) -> None:
        """Make the policy's logits `scale` times the differences of the choices' mean returns.

        Its bins are those of each choice, where other components' choices count by their mean; its value is
        the mean return of all choices.
        """
        policy, bins = self.policy, self._bins
        for name, of_bins in (("weight", bins.weight), ("bias", bins.bias)):
            own, shared = getattr(self.advantage_head, name), getattr(self.value_head, name)
            blocks = own.reshape(1, policy.num_outputs, -1)
            centred = self.choices.centred(blocks)[0].view(-1, *shared.shape)
            of_bins.copy_((centred + shared).flatten(0, 1))
        outputs = torch.eye(policy.num_outputs, device=self.centres.device)
        differences = self.choices.centred(outputs.unsqueeze(0))[0].t().contiguous()
        if self.choices.is_binary:
            differences = 2.0 * differences
        policy.policy_head.weight.copy_(scale * torch.kron(differences, self.centres.unsqueeze(0)))
        policy.value_head.weight.copy_(self.centres.repeat(bins.num_groups) / bins.num_groups)
        for head in (policy.policy_head, policy.value_head):
            head.bias.zero_()


def _head(inputs: int, outputs: int, generator: torch.Generator) -> nn.Linear:
    # Near 0 at first, so that no action looks better than another by chance.
    return initialise(nn.Linear(inputs, outputs), POLICY_HEAD_GAIN, generator)
