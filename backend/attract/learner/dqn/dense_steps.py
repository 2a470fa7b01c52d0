"""DQN's gradient steps for policies of dense layers on a CPU, with all gradients written out."""

import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import TracebackType

import torch
from torch import Tensor

from attract.algorithm.categories import NUM_BINS, cross_entropy_with_gradient, histogram
from attract.learner.algorithms.adam import Adam
from attract.learner.algorithms.flat_parameters import FlatParameters
from attract.learner.dqn.network import ValuesNetwork
from attract.learner.replay.off_policy import Minibatch
from attract.policy.dense_gradients import DensePolicy, is_dense, parameter_blocks
from attract.settings.dqn import DqnSettings


class DenseSteps(AbstractContextManager[Callable[[Minibatch], Tensor]]):
    """The steps of `OffPolicy` without autograd: few operations, into kept buffers; entered for one update.

    A step's arrays have the batch as their last axis: the products of the heads come so, and sums over
    bins are then vectorised over the batch.

    Args:
        network: changed in place; one that `can_be_written_out`.
        target: what its parameters follow it to; changed when this is left.
        optimizer: over all that the network learns.
        settings: of the run.
    """

    def __init__(
        self, network: ValuesNetwork, target: ValuesNetwork, optimizer: Adam, settings: DqnSettings
    ) -> None:
        policy, heads = network.policy, (network.advantage_head, network.value_head)
        self._policy, self._choices = policy, network.choices
        self._limit, self._centres, self._tau = network.limit, network.centres, settings.tau
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
        self._centring = network.choices.centred(torch.eye(num_outputs).unsqueeze(0))[0]
        """[K, outputs], from outputs to advantages."""
        self._by_choice = self._centring.t().contiguous()

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
        """[4] as `OffPolicy` has it: loss, mean value, mean target, and the gradient's norm."""
        now, following = (self._policy.features(each) for each in (minibatch.now, minibatch.following))
        best = self._shares(self._best(following, minibatch.following_mask))
        next_values = self._centres @ self._logits(self._target.forward(following), best).softmax(0)
        targets = minibatch.rewards + minibatch.discount * next_values
        rows = self._online.forward(now)
        shares = self._shares(self._choices.indices(minibatch.actions))
        loss, by_logits, predicted = cross_entropy_with_gradient(
            self._logits(rows, shares), histogram(targets, self._limit)
        )
        # The outputs are not needed any more: their gradient takes their place.
        torch.mul(shares.unsqueeze(1), by_logits, out=self._advantages(rows))
        rows[-NUM_BINS:].copy_(by_logits)
        self._online.backward(now, rows)
        norm = self._flat.step(self._max_norm)
        self._followers.lerp_(self._flat.weights, self._tau)
        return torch.stack((loss, (self._centres @ predicted).mean(), targets.mean(), norm))

    def _best(self, features: Tensor, action_mask: Tensor | None) -> Tensor:
        """[B, components], as `ValuesNetwork.best`."""
        rows = self._online.forward(features)
        logits = torch.mm(self._centring, self._advantages(rows).flatten(1)).unflatten(1, (NUM_BINS, -1))
        shares = logits.add_(rows[-NUM_BINS:]).softmax(1)
        return self._choices.best(torch.einsum("knb,n->bk", shares, self._centres), action_mask)

    def _shares(self, indices: Tensor) -> Tensor:
        """[outputs, B], how much each output counts in the value of the chosen action."""
        chosen = self._by_choice.index_select(1, indices.flatten())
        return chosen.unflatten(1, indices.shape).sum(2) if indices.shape[1] > 1 else chosen

    def _logits(self, rows: Tensor, shares: Tensor) -> Tensor:
        """[NUM_BINS, B], as `ValuesNetwork.logits`, from the heads' outputs."""
        weighted = self._advantages(rows) * shares.unsqueeze(1)
        return weighted.sum(0).add_(rows[-NUM_BINS:])

    def _advantages(self, rows: Tensor) -> Tensor:
        """[outputs, NUM_BINS, B], the part of the rows that is not the value."""
        return rows[:-NUM_BINS].unflatten(0, (-1, NUM_BINS))


def can_be_written_out(network: ValuesNetwork) -> bool:
    """Whether `DenseSteps` can do what autograd does."""
    return is_dense(network.policy) and network.value_head.weight.is_cpu
