"""DQN's gradient steps for policies of dense layers on a CPU, with all gradients written out."""

import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import TracebackType

import torch
from torch import Tensor

from attract.algorithm.quantiles import quantile_huber_with_gradient, quantile_targets
from attract.learner.algorithms.adam import Adam
from attract.learner.algorithms.flat_parameters import FlatParameters
from attract.learner.dqn.network import QuantileNetwork
from attract.learner.replay.off_policy import Minibatch
from attract.policy.dense_gradients import Dense, DensePolicy, is_dense, parameter_blocks
from attract.settings.dqn import DqnSettings


class DenseSteps(AbstractContextManager[Callable[[Minibatch], Tensor]]):
    """The steps of `OffPolicy` without autograd: few operations, into kept buffers; entered for one update.

    A step's arrays have the batch as their last axis: the products of the heads come so, and sums over
    quantiles are then vectorised over the batch.

    Args:
        network: changed in place; one that `can_be_written_out`.
        target: what its parameters follow it to; changed when this is left.
        optimizer: over all that the network learns.
        settings: of the run.
    """

    def __init__(
        self, network: QuantileNetwork, target: QuantileNetwork, optimizer: Adam, settings: DqnSettings
    ) -> None:
        policy, heads = network.policy, (network.advantage_head, network.value_head)
        self._policy, self._choices = policy, network.choices
        self._num_quantiles, self._tau = network.num_quantiles, settings.tau
        self._max_norm = math.inf if settings.max_grad_norm is None else settings.max_grad_norm
        flat = self._flat = FlatParameters(optimizer, parameter_blocks(policy, heads))
        followers = self._followers = torch.zeros_like(flat.weights)
        self._homes = [
            (flat.view(followers, parameter), follower)
            for parameter, follower in zip(network.followed(), target.followed(), strict=True)
        ]

        def views(*block: Tensor) -> tuple[Tensor, Tensor]:
            return flat.view(flat.weights, *block), flat.view(flat.gradients, *block)

        def follower_views(*block: Tensor) -> tuple[Tensor, Tensor]:
            # It has no gradients.
            return flat.view(followers, *block), flat.view(followers, *block)

        self._online = DensePolicy(policy, views, heads)
        self._target = DensePolicy(policy, follower_views, heads)
        num_outputs = policy.policy_head.out_features
        self._quantile_heads = [
            views(parameter)[0].unflatten(0, (num_outputs, self._num_quantiles))
            for parameter in network.advantage_head.parameters()
        ]
        weight, bias = self._mean_heads = [head.mean(1) for head in self._quantile_heads]
        self._means = self._online.policy_column(Dense(weight, weight, bias, bias))
        self._centring = network.choices.centred(torch.eye(num_outputs).unsqueeze(0))[0]
        """[K, outputs], from outputs to advantages."""
        self._by_choice = self._centring.t().contiguous()
        self._room = torch.empty(3, self._num_quantiles, self._num_quantiles, settings.batch_size)

    def __enter__(self) -> Callable[[Minibatch], Tensor]:
        self._flat.__enter__()
        for view, follower in self._homes:
            view.copy_(follower)
        return self.step

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for view, follower in self._homes:
            follower.copy_(view)
        self._flat.__exit__(kind, error, trace)

    @torch.inference_mode()
    def step(self, minibatch: Minibatch) -> Tensor:
        """[4] as `OffPolicy` has it: loss, mean quantile, mean target, and the gradient's norm."""
        now, following = (self._policy.features(each) for each in (minibatch.now, minibatch.following))
        next_quantiles = self._quantiles(
            self._target.forward(following), self._shares(self._best(following, minibatch.following_mask))
        )
        targets = quantile_targets(minibatch.rewards, minibatch.discount, next_quantiles.t()).t()
        rows = self._online.forward(now)
        shares = self._shares(self._choices.indices(minibatch.actions))
        predicted = self._quantiles(rows, shares)
        loss, by_predicted = quantile_huber_with_gradient(predicted, targets, self._room)
        # The outputs are not needed any more: their gradient takes their place.
        torch.mul(shares.unsqueeze(1), by_predicted, out=self._advantages(rows))
        rows[-self._num_quantiles :].copy_(by_predicted)
        self._online.backward(now, rows)
        norm = self._flat.step(self._max_norm)
        self._followers.lerp_(self._flat.weights, self._tau)
        return torch.stack((loss, predicted.mean(), targets.mean(), norm))

    def _best(self, features: Tensor, action_mask: Tensor | None) -> Tensor:
        """[B, components], as `QuantileNetwork.best`."""
        for mean, quantiles in zip(self._mean_heads, self._quantile_heads, strict=True):
            torch.mean(quantiles, 1, out=mean)
        outputs = torch.empty(self._centring.shape[1], len(features))
        self._means.forward(features, outputs)
        return self._choices.best(torch.mm(self._centring, outputs).t(), action_mask)

    def _shares(self, indices: Tensor) -> Tensor:
        """[outputs, B], how much each output counts in the value of the chosen action."""
        chosen = self._by_choice.index_select(1, indices.flatten())
        return chosen.unflatten(1, indices.shape).sum(2) if indices.shape[1] > 1 else chosen

    def _quantiles(self, rows: Tensor, shares: Tensor) -> Tensor:
        """[N, B], as `QuantileNetwork.quantiles`, from the heads' outputs."""
        weighted = self._advantages(rows) * shares.unsqueeze(1)
        return weighted.sum(0).add_(rows[-self._num_quantiles :])

    def _advantages(self, rows: Tensor) -> Tensor:
        """[outputs, N, B], the part of the rows that is not the value."""
        return rows[: -self._num_quantiles].unflatten(0, (-1, self._num_quantiles))


def can_be_written_out(network: QuantileNetwork) -> bool:
    """Whether `DenseSteps` can do what autograd does."""
    return is_dense(network.policy) and network.value_head.weight.is_cpu
