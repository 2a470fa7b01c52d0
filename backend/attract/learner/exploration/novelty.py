"""Random network distillation: a bonus for observations unlike those seen before, beside the rewards."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from attract.algorithm.normalisation import RunningMoments
from attract.experience.batch import Batch, finite_where_invalid
from attract.learner.algorithms.adam import Adam
from attract.learner.algorithms.reward_scale import SeenReturns, SlotReturns, scaled
from attract.learner.checkpoints.state_tensors import (
    adam_tensors,
    moments_of,
    moments_tensors,
    restore_adam,
    within,
)
from attract.policy.network import Policy
from attract.policy.observation_inputs import Entry

HIDDEN_SIZE = 128
NUM_CODES = 32
LEARNING_RATE = 1e-3
MINIBATCH_STEPS = 1024
FEATURE_LIMIT = 5.0
"""Normalised observations are clipped here: a rare outlier must not count as new forever."""


@dataclass(frozen=True, slots=True)
class SeenNovelty:
    """Intrinsic rewards of one batch and its statistics: committed only after its update succeeded (P8)."""

    bonus: Tensor
    """[T, S] float32, of the observation after each step, in units of the bonus's own discounted returns."""
    features: Tensor
    """[T, S, F] float32, of the observation before each step: what the predictor learns to know."""
    bootstrap_features: Tensor
    """[S, F] float32, of the observation after the last step."""
    valid: Tensor
    """[T, S] bool."""
    returns: SeenReturns
    error: float
    """Mean squared error of the predictor, over the steps with an intrinsic reward."""


class RandomNetworkDistillation:
    """A random network and a predictor of it, which errs where little was seen; part of a policy's state.

    The bonus of a step is the squared error at the observation after it, 0 where the episode ended,
    divided by the running size of its discounted returns as rewards are (rule P11). It fades as the predictor
    learns.

    Args:
        entries: of the observation.
        generator: of the initial weights of both networks.
        device: of the policy.

    Source: Burda et al. 2018 (arXiv:1810.12894), sections 2.2 and 2.4.
    """

    def __init__(self, entries: Sequence[Entry], generator: torch.Generator, device: torch.device) -> None:
        self._entries = entries
        num_features = sum(entry.num_features for entry in entries)
        self._target = small_network(num_features, NUM_CODES, generator).to(device).requires_grad_(False)
        self._predictor = small_network(num_features, NUM_CODES, generator).to(device)
        self._optimizer = Adam(self._predictor.parameters(), lr=LEARNING_RATE)
        self._moments = RunningMoments.empty(())
        self._slot_returns = SlotReturns()

    @torch.no_grad()
    def see(self, policy: Policy, batch: Batch, gamma: float, *, is_episodic: bool = True) -> SeenNovelty:
        """Intrinsic rewards of the batch's steps; changes nothing.

        Args:
            policy: normalises the observations, as the update does.
            batch: with its bootstrap observations.
            gamma: discount per step.
            is_episodic: whether the returns by which errors are divided end with an episode.
        """
        observed = finite_where_invalid(batch.observation, batch.valid)
        features = self._features(policy, observed)
        last = self._features(policy, batch.bootstrap_observation)
        after = torch.cat((features[1:], last.unsqueeze(0)))
        ended = batch.terminated | batch.truncated
        is_paid = batch.valid & ~ended
        errors = self._errors(after.flatten(0, 1)).view(ended.shape).masked_fill(~is_paid, 0.0)
        seen = self._slot_returns.see(
            batch, gamma, rewards=errors, ended=None if is_episodic else ~batch.valid
        )
        bonus, _ = scaled(errors, self._moments, seen)
        error = float(errors.sum() / is_paid.sum().clamp(min=1))
        return SeenNovelty(bonus, features, last, batch.valid, seen, error)

    def take_over(self, seen: SeenNovelty, generator: torch.Generator) -> None:
        """The batch was learned from: what it showed is less of a novelty now.

        Args:
            seen: from `see`.
            generator: on the CPU, of the order; drawn from once.
        """
        self._moments = self._moments.merge(seen.returns.moments)
        self._slot_returns.take_over(seen.returns)
        known = seen.features[seen.valid]
        order = torch.randperm(len(known), generator=generator).to(known.device)
        for part in order.split(MINIBATCH_STEPS):
            self._optimizer.zero_grad()
            self._errors(known.index_select(0, part)).mean().backward()
            self._optimizer.step()

    def tensors(self) -> dict[str, Tensor]:
        """As a checkpoint keeps it. Not copied."""
        tensors = {f"target.{name}": tensor for name, tensor in self._target.state_dict().items()}
        tensors |= {f"predictor.{name}": tensor for name, tensor in self._predictor.state_dict().items()}
        adam = adam_tensors(self._optimizer, self._predictor)
        tensors |= {f"adam.{name}": tensor for name, tensor in adam.items()}
        tensors |= {f"slots.{name}": tensor for name, tensor in self._slot_returns.tensors().items()}
        return tensors | moments_tensors("returns", self._moments)

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Take over what `tensors` gave.

        Raises: KeyError, ValueError, RuntimeError: when something of it is missing or spoilt.
        """
        self._target.load_state_dict(within(tensors, "target."))
        self._predictor.load_state_dict(within(tensors, "predictor."))
        restore_adam(self._optimizer, self._predictor, within(tensors, "adam."))
        self._slot_returns.restore(within(tensors, "slots."))
        moments = moments_of("returns", tensors)
        if moments is None:
            raise KeyError("returns")
        self._moments = moments

    def _features(self, policy: Policy, observations: Mapping[str, Tensor]) -> Tensor:
        """[..., F] float32 of [..., *shape] each."""
        preprocessed = policy.preprocess(observations)
        first = self._entries[0]
        leading = preprocessed[first.key].shape[: observations[first.key].dim() - first.num_dimensions]
        num_rows = math.prod(leading)
        parts: list[Tensor] = []
        for entry in self._entries:
            array = preprocessed[entry.key]
            encoded = entry.encode(array.reshape(num_rows, *array.shape[len(leading) :]))
            if entry.kind == "set":
                # Each number by itself in ascending order: another order of the rows is nothing new.
                encoded = encoded.sort(1).values
            parts.append(encoded.flatten(1))
        return torch.cat(parts, 1).clamp(-FEATURE_LIMIT, FEATURE_LIMIT).view(*leading, -1)

    def _errors(self, features: Tensor) -> Tensor:
        """[N] mean squared error of the predictor's codes."""
        return (self._predictor(features) - self._target(features)).square().mean(1)


def small_network(
    num_features: int, num_outputs: int, generator: torch.Generator, *, output_gain: float = 2**0.5
) -> nn.Sequential:
    """Two hidden layers of `HIDDEN_SIZE` rectified units; `output_gain`: how large outputs are at first."""
    layers = (
        nn.Linear(num_features, HIDDEN_SIZE),
        nn.Linear(HIDDEN_SIZE, HIDDEN_SIZE),
        nn.Linear(HIDDEN_SIZE, num_outputs),
    )
    for layer, gain in zip(layers, (2**0.5, 2**0.5, output_gain), strict=True):
        nn.init.orthogonal_(layer.weight, gain, generator=generator)
        nn.init.zeros_(layer.bias)
    return nn.Sequential(layers[0], nn.ReLU(), layers[1], nn.ReLU(), layers[2])
