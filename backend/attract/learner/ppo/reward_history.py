"""Reward statistics: whether any reward was seen (P12), whether the game is zero-sum (P14)."""

from dataclasses import asdict, dataclass
from typing import Any, Self

import torch

from attract.experience.batch import Batch

MAX_FROZEN_STEPS = 20_000
"""Steps after which a policy is no longer frozen, though no reward was found."""
ROUNDING = 1e-5
"""Share of the largest reward that float32 may leave of a sum that is 0."""


@dataclass(frozen=True, slots=True)
class RewardHistory:
    """Reward statistics over every step that one policy learned from."""

    lowest: float
    highest: float
    """Rewards of a single step."""
    has_terminated: bool
    """Whether an episode came to an end of its own."""
    num_steps: int
    is_zero_sum: bool = False
    """Whether several agents shared the policy, and their rewards summed to 0 at every step."""

    @classmethod
    def of(cls, batch: Batch, num_agents: int = 1) -> Self:
        """The history of one batch's valid steps, at least one, in a game of `num_agents` agents."""
        rewards = batch.reward[batch.valid]
        lowest, highest = (float(bound) for bound in torch.aminmax(rewards))
        is_zero_sum = num_agents > 1 and _is_zero_sum(batch, num_agents, max(abs(lowest), abs(highest)))
        has_terminated = bool((batch.terminated & batch.valid).any())
        return cls(lowest, highest, has_terminated, rewards.numel(), is_zero_sum)

    @classmethod
    def restore(cls, document: Any) -> Self:
        """What `to_document` gave. Raises: KeyError, TypeError, ValueError: it gave something else."""
        return cls(
            lowest=float(document["lowest"]),
            highest=float(document["highest"]),
            has_terminated=bool(document["has_terminated"]),
            num_steps=int(document["num_steps"]),
            is_zero_sum=bool(document.get("is_zero_sum", False)),
        )

    def to_document(self) -> dict[str, Any]:
        """As a checkpoint's document holds it."""
        return asdict(self)

    def then(self, later: "RewardHistory") -> "RewardHistory":
        """The history of both."""
        return RewardHistory(
            min(self.lowest, later.lowest),
            max(self.highest, later.highest),
            self.has_terminated or later.has_terminated,
            self.num_steps + later.num_steps,
            self.is_zero_sum and later.is_zero_sum,
        )

    @property
    def is_uniform(self) -> bool:
        """Whether every step had the same reward."""
        return self.lowest == self.highest

    @property
    def freezes_policy(self) -> bool:
        """Whether advantages can only be the critic's error, and it is early enough to wait for a reward."""
        # Where every reward is 0, an end changes nothing.
        is_alike = self.is_uniform and (self.highest == 0.0 or not self.has_terminated)
        return is_alike and self.num_steps <= MAX_FROZEN_STEPS


def _is_zero_sum(batch: Batch, num_agents: int, largest: float) -> bool:
    """Whether the agents' rewards sum to 0 at each step of the instances that are wholly in the batch."""
    # The slots of an instance follow each other, and its agents take their steps together.
    times = torch.stack((batch.slot_id // num_agents, batch.first_step))
    _, instance, count = times.unique(dim=1, return_inverse=True, return_counts=True)
    rewards = batch.reward.masked_fill(~batch.valid, 0.0)
    sums = rewards.new_zeros(rewards.shape[0], count.numel()).index_add_(1, instance, rewards)
    whole = count == num_agents
    return bool(whole.any() & (sums[:, whole].abs() <= ROUNDING * largest).all())
