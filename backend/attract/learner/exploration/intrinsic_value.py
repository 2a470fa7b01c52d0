"""A value function of intrinsic rewards alone, and the advantages from it."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from attract.algorithm.advantages import advantages_from_segments
from attract.algorithm.losses import explained_variance
from attract.algorithm.streams import chain_segments
from attract.experience.batch import Batch
from attract.learner.algorithms.adam import Adam
from attract.learner.checkpoints.state_tensors import adam_tensors, restore_adam, within
from attract.learner.exploration.novelty import SeenNovelty, small_network

NUM_EPOCHS = 4
MINIBATCH_STEPS = 256
LEARNING_RATE = 2.5e-3
"""PPO's defaults for its own value function: one that lags behind adds noise to every advantage."""


@dataclass(frozen=True, slots=True)
class IntrinsicEstimates:
    """Estimates for one batch, under the weights before its update."""

    advantages: Tensor
    """[T, S] float32, not normalised; 0 where invalid."""
    features: Tensor
    """[N, F] float32, of the valid steps."""
    targets: Tensor
    """[N] float32, what their values should have been."""
    explained_variance: float


class IntrinsicValue:
    """The discounted intrinsic rewards to come, predicted from an observation's features.

    It is a network of its own and never leaves the learner: what plays is not changed by it.

    Args:
        num_features: of an observation.
        generator: of the initial weights.
        device: of the policy.
    """

    def __init__(self, num_features: int, generator: torch.Generator, device: torch.device) -> None:
        self._network = small_network(num_features, 1, generator, output_gain=0.01).to(device)
        self._optimizer = Adam(self._network.parameters(), lr=LEARNING_RATE)

    @torch.no_grad()
    def estimate(
        self, seen: SeenNovelty, batch: Batch, *, gamma: float, gae_lambda: float
    ) -> IntrinsicEstimates:
        """Advantages of the intrinsic rewards, across the ends of episodes; changes nothing.

        Args:
            seen: of the batch.
            batch: that was seen.
            gamma: discount per step, whatever the algorithm's own.
            gae_lambda: as in `advantages_from_segments`.
        """
        horizon, valid = batch.valid.shape[0], batch.valid
        values = self._values(seen.features)
        # An agent that is away earns nothing, and where it comes back is nothing that its last step led to.
        leaves = torch.zeros_like(valid)
        leaves[:-1] = ~valid[1:]
        advantages = advantages_from_segments(
            seen.bonus,
            values,
            values,
            self._values(seen.bootstrap_features),
            leaves,
            torch.zeros_like(valid),
            valid,
            chain_segments(batch.slot_id, batch.first_step, horizon, valid[0]),
            gamma=gamma,
            gae_lambda=gae_lambda,
        )
        targets = (advantages + values)[valid]
        return IntrinsicEstimates(
            advantages,
            seen.features[valid],
            targets,
            float(explained_variance(values[valid], targets)),
        )

    def learn(self, estimates: IntrinsicEstimates, generator: torch.Generator) -> None:
        """The batch was learned from: fit the values to its targets.

        Args:
            estimates: from `estimate`.
            generator: on the CPU, of the order; drawn from once a pass.
        """
        features, targets = estimates.features, estimates.targets
        for _ in range(NUM_EPOCHS):
            order = torch.randperm(len(targets), generator=generator).to(targets.device)
            for part in order.split(MINIBATCH_STEPS):
                self._optimizer.zero_grad()
                values = self._values(features.index_select(0, part))
                (values - targets.index_select(0, part)).square().mean().backward()
                self._optimizer.step()

    def tensors(self) -> dict[str, Tensor]:
        """As a checkpoint keeps it. Not copied."""
        network = {f"network.{name}": tensor for name, tensor in self._network.state_dict().items()}
        adam = adam_tensors(self._optimizer, self._network)
        return network | {f"adam.{name}": tensor for name, tensor in adam.items()}

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Take over what `tensors` gave.

        Raises: KeyError, ValueError, RuntimeError: when something of it is missing or spoilt.
        """
        self._network.load_state_dict(within(tensors, "network."))
        restore_adam(self._optimizer, self._network, within(tensors, "adam."))

    def _values(self, features: Tensor) -> Tensor:
        """[...] of [..., F]."""
        return self._network(features).squeeze(-1)
