"""The learner's baseline: PPO's passes over ready tensors, as lean as torch allows, nothing else."""

import copy
from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn

from attract.learner.ppo.estimates import Estimator
from attract.learner.ppo.update import ADAM_EPSILON
from attract.policy.dense import ReluLayer, TanhLayer
from attract.policy.network import Policy
from attract_benchmarks.speed.ready_update import RATES, ReadyUpdate, timed

Forward = Callable[[Tensor], tuple[Tensor, Tensor]]
"""[n, num_actions] logits and [n] values from [n, num_inputs]."""


class BarePpo:
    """The same batch, network, losses and steps as a `ReadyUpdate`, for one discrete choice.

    Advantages and targets are there before it begins. It keeps no rule that costs time: no entropy, no
    reports, no check of what is finite, nothing that could be undone.

    Args:
        ready: whose work is done again; its policy is copied.
        plain: with torch's own layers instead of the policy's.
    """

    def __init__(self, ready: ReadyUpdate, *, plain: bool = False) -> None:
        self._device = ready.device
        self._ppo = ready.work.ppo
        batch = ready.batch
        estimates = Estimator(ready.policy, ready.distribution, batch, self._ppo).estimate()
        self._observations = ready.policy.preprocess(batch.observation)["obs"].flatten(0, 1).contiguous()
        self._actions = batch.action.flatten().long()
        self._log_probs = batch.log_prob.flatten().contiguous()
        self._advantages = estimates.advantages.flatten().contiguous()
        self._targets = estimates.value_targets.flatten().contiguous()
        variance = float(self._targets.var(correction=0))
        self._value_coef = self._ppo.value_coef / max(1.0, variance)
        self.network, self._forward = _plain_network(ready) if plain else _own_network(ready)
        self._weights = {name: tensor.clone() for name, tensor in self.network.state_dict().items()}

    def run(self) -> float:
        """Seconds of one update; after it the network has its first weights again."""
        seconds = timed(self.update, self._device)
        self.network.load_state_dict(self._weights)
        return seconds

    def update(self) -> None:
        """All passes over the batch, with a fresh optimizer."""
        parameters = list(self.network.parameters())
        optimizer = torch.optim.Adam(parameters, lr=RATES.learning_rate, eps=ADAM_EPSILON, fused=True)
        low, high = 1.0 - RATES.clip_range, 1.0 + RATES.clip_range
        for index in self.minibatches():
            logits, values = self._forward(self._observations.index_select(0, index))
            # Along the first axis torch's softmax over few actions is several times faster.
            chosen = self._actions.index_select(0, index).unsqueeze(0)
            new = torch.log_softmax(logits.t().contiguous(), 0).gather(0, chosen).squeeze(0)
            ratio = (new - self._log_probs.index_select(0, index)).exp()
            advantages = self._normalised(index)
            surrogate = torch.min(ratio * advantages, ratio.clamp(low, high) * advantages).mean()
            error = nn.functional.mse_loss(values, self._targets.index_select(0, index))
            optimizer.zero_grad(set_to_none=True)
            torch.sub(error * (0.5 * self._value_coef), surrogate).backward()
            nn.utils.clip_grad_norm_(parameters, self._ppo.max_grad_norm or torch.inf, foreach=True)
            optimizer.step()

    def minibatches(self) -> Iterator[Tensor]:
        """[n] int64 each, places in the batch: every step once an epoch, in random order."""
        num_steps = self._actions.numel()
        for _ in range(self._ppo.n_epochs):
            order = torch.randperm(num_steps, device=self._device)
            yield from torch.tensor_split(order, self._ppo.minibatches_for(num_steps))

    def _normalised(self, index: Tensor) -> Tensor:
        advantages = self._advantages.index_select(0, index)
        std, mean = torch.std_mean(advantages)
        return (advantages - mean) / (std + 1e-8)


def _own_network(ready: ReadyUpdate) -> tuple[nn.Module, Forward]:
    policy = copy.deepcopy(ready.policy)
    return policy, lambda observations: policy.forward_preprocessed({"obs": observations})


class _PlainNetwork(nn.Module):
    """The same weights in `nn.Linear`, with `nn.Tanh` or `nn.ReLU`."""

    def __init__(self, policy: Policy) -> None:
        super().__init__()
        self.trunk = _plain_trunk(policy.trunk)
        self.value_trunk = None if policy.value_trunk is None else _plain_trunk(policy.value_trunk)
        self.policy_head = copy.deepcopy(policy.policy_head)
        self.value_head = copy.deepcopy(policy.value_head)

    def forward(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        features = self.trunk(observations)
        of_value = features if self.value_trunk is None else self.value_trunk(observations)
        return self.policy_head(features), self.value_head(of_value).squeeze(-1)


def _plain_trunk(trunk: nn.Sequential) -> nn.Sequential:
    layers: list[nn.Module] = []
    for layer in trunk:
        if not isinstance(layer, TanhLayer | ReluLayer):
            raise RuntimeError(f"expected layers of tanh or ReLU, got {layer!r}")
        plain = nn.Linear(layer.in_features, layer.out_features).to(layer.weight.device)
        plain.load_state_dict(layer.state_dict())
        layers += [plain, nn.Tanh() if isinstance(layer, TanhLayer) else nn.ReLU()]
    return nn.Sequential(*layers)


def _plain_network(ready: ReadyUpdate) -> tuple[nn.Module, Forward]:
    network = _PlainNetwork(ready.policy)
    return network, network
