"""More examples than were demonstrated: observations crossed with each other, and what trees choose there.

A network that is fitted to a few episodes plays them, and is at a loss between them. Trees are at home there
(`trees.py`), but no graph for browsers: so the network is fitted to what they choose in observations that lie
between those that were seen.
"""

from dataclasses import dataclass
from typing import Final, Self

import numpy as np
import torch
from torch import Tensor

from attract.algorithm.distributions import ActionDistribution
from attract.experience.batch import Batch
from attract.learner.imitation.trees import ExtraTrees
from attract.policy.network import Policy

NUM_CROSSED: Final = 60_000
SHARE_SEEN: Final = 0.1
"""Of all examples that were demonstrated as they stand."""
MOST_NUMBERS: Final = 256
"""Of an observation; a picture is no table."""


@dataclass(frozen=True, slots=True)
class CrossedExamples:
    """Observations and what to do in them, to be fitted to in the place of the demonstrations."""

    observation: dict[str, Tensor]
    """[n, ...] float32 each, raw."""
    action: Tensor
    """[n] or [n, components] int64."""

    @classmethod
    def of(cls, policy: Policy, batch: Batch, generator: torch.Generator) -> Self | None:
        """Made of a batch of demonstrations; None of pictures, for a memory, of real-valued actions.

        Masks are left out: what a mask forbids where two observations are crossed, only the game knows.
        The policy applies its own when it plays.

        `generator`: on the CPU; of how they are crossed, of the trees and of what these choose.
        """
        if policy.state_size > 0 or batch.action.is_floating_point():
            return None
        seen = {key: array[batch.valid] for key, array in batch.observation.items()}
        if any(not array.is_floating_point() for array in seen.values()):
            return None
        flat = torch.cat([array.flatten(1).double() for array in seen.values()], 1).cpu().numpy()
        if flat.shape[1] > MOST_NUMBERS or len(flat) < 2:
            return None
        random = np.random.default_rng(int(torch.randint(1 << 31, (1,), generator=generator)))
        num_rows = len(flat)
        num_repeats = max(1, round(NUM_CROSSED * SHARE_SEEN / num_rows))
        one, other = random.integers(num_rows, size=(2, NUM_CROSSED))
        crossed = np.where(random.random((NUM_CROSSED, flat.shape[1])) < 0.5, flat[one], flat[other])
        actions = batch.action[batch.valid].cpu()
        components = actions.reshape(num_rows, -1).numpy()
        drawn = np.empty((NUM_CROSSED, components.shape[1]), np.int64)
        for component in range(components.shape[1]):
            chosen = components[:, component]
            shares = ExtraTrees(flat, chosen, int(chosen.max()) + 1, random).probabilities(crossed)
            # Sharper than they are: what is drawn comes nearer to the likeliest; great doubt stays.
            bounds = (shares**2).cumsum(1)
            point = random.random((NUM_CROSSED, 1)) * bounds[:, -1:]
            drawn[:, component] = (point >= bounds).sum(1)
        device = batch.action.device
        whole = np.concatenate([crossed, np.tile(flat, (num_repeats, 1))]).astype(np.float32)
        parts = torch.from_numpy(whole).to(device).split([array[0].numel() for array in seen.values()], 1)
        observation = {
            key: part.reshape(-1, *array.shape[1:])
            for (key, array), part in zip(seen.items(), parts, strict=True)
        }
        action = np.concatenate([drawn, np.tile(components, (num_repeats, 1))])
        return cls(observation, torch.from_numpy(action).reshape(-1, *actions.shape[1:]).to(device))

    def loss(
        self,
        policy: Policy,
        distribution: ActionDistribution,
        num_rows: int,
        generator: torch.Generator,
    ) -> Tensor:
        """Mean negative log-likelihood, nats, of so many of them, drawn at random; with gradient."""
        drawn = torch.randint(len(self.action), (num_rows,), generator=generator).to(self.action.device)
        seen = {key: array[drawn] for key, array in self.observation.items()}
        outputs, _ = policy.forward_preprocessed(policy.preprocess(seen))
        return -distribution.log_prob_and_entropy(outputs, self.action[drawn])[0].mean()
