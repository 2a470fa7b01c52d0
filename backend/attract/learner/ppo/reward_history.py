"""Whether a game has paid for anything yet: until it has, there is nothing to decide for (rule P12)."""

from dataclasses import asdict, dataclass
from typing import Any, Self

import torch

from attract.experience.batch import Batch

MOST_HELD_STEPS = 20_000
"""Steps after which a policy is no longer held, though nothing was found."""


@dataclass(frozen=True, slots=True)
class RewardHistory:
    """Of every step of one policy that was learned from."""

    lowest: float
    highest: float
    """Rewards of a single step."""
    has_terminated: bool
    """Whether an episode came to an end of its own."""
    num_steps: int

    @classmethod
    def of(cls, batch: Batch) -> Self:
        """That of one batch's valid steps, of which there is at least one."""
        rewards = batch.reward[batch.valid]
        lowest, highest = (float(bound) for bound in torch.aminmax(rewards))
        return cls(lowest, highest, bool((batch.terminated & batch.valid).any()), rewards.numel())

    @classmethod
    def restore(cls, document: Any) -> Self:
        """What `to_document` gave. Raises: KeyError, TypeError, ValueError: it gave something else."""
        return cls(
            lowest=float(document["lowest"]),
            highest=float(document["highest"]),
            has_terminated=bool(document["has_terminated"]),
            num_steps=int(document["num_steps"]),
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
        )

    @property
    def is_uniform(self) -> bool:
        """Whether every step had the same reward."""
        return self.lowest == self.highest

    @property
    def holds_policy(self) -> bool:
        """Whether advantages can be nothing but the critic's error, and it is early enough to wait for it."""
        # Where nothing is ever paid, an end changes nothing.
        is_alike = self.is_uniform and (self.highest == 0.0 or not self.has_terminated)
        return is_alike and self.num_steps <= MOST_HELD_STEPS
