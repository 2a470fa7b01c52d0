"""Protocol of the group of learners that make an update together, and the group of one."""

from typing import Protocol

import torch
from torch import Tensor


class LearnerGroup(Protocol):
    """N learners in lockstep; rows stay where they were played. Used by the learner's main thread.

    Every method but `durable` is called by all of them, in the same order. What they get is the same bits on
    each: it is put together from the same parts in the order of the ranks.

    Every method raises:
        GroupError: another learner is gone, or late; names it and what was awaited.
        GroupOverError: rank 0 has ended the run.
    """

    @property
    def rank(self) -> int:
        """Which of them this is, from 0."""
        ...

    @property
    def size(self) -> int:
        """How many they are."""
        ...

    def barrier(self, what: str, words: Tensor) -> Tensor:
        """Wait for everybody for as long as they live; [size, n], what each brought, by rank.

        Args:
            what: is awaited, for people.
            words: [n] int64 on the CPU.
        """
        ...

    def all_gather(self, tensor: Tensor) -> Tensor:
        """[size, ...]: that tensor of each, by rank. All have the same shape and dtype."""
        ...

    def all_reduce(self, tensor: Tensor) -> None:
        """Make it the sum over all, in place; added in the order of the ranks."""
        ...

    def broadcast(self, data: bytes) -> bytes:
        """What rank 0 gave."""
        ...

    def durable(self, policy_version: int) -> None:
        """Of rank 0: its version is on disk. Of another: wait until it is. On the writer's thread (D1)."""
        ...

    def leave(self) -> None:
        """The run is over for this one. Of rank 0: for all, who hear of it; never fails."""
        ...

    def close(self) -> None:
        """Hang up."""
        ...


class SingleProcess:
    """A learner without others: nothing is waited for, and no number changes."""

    rank = 0
    size = 1

    def barrier(self, what: str, words: Tensor) -> Tensor:
        """See `LearnerGroup`."""
        del what
        return words.unsqueeze(0)

    def all_gather(self, tensor: Tensor) -> Tensor:
        """See `LearnerGroup`."""
        return tensor.unsqueeze(0)

    def all_reduce(self, tensor: Tensor) -> None:
        """See `LearnerGroup`."""

    def broadcast(self, data: bytes) -> bytes:
        """See `LearnerGroup`."""
        return data

    def durable(self, policy_version: int) -> None:
        """See `LearnerGroup`."""

    def leave(self) -> None:
        """See `LearnerGroup`."""

    def close(self) -> None:
        """See `LearnerGroup`."""


SINGLE_PROCESS = SingleProcess()


def ordered_sum(parts: Tensor) -> Tensor:
    """[...] of [size, ...]: the parts added one after the other, so that every machine rounds alike."""
    total = parts[0].clone()
    for part in parts[1:]:
        total += part
    return total


def any_rank(group: LearnerGroup, flag: bool) -> bool:
    """Whether it is true of any of them."""
    if group.size == 1:
        return flag
    return bool(group.all_gather(torch.tensor([flag], dtype=torch.uint8)).any())


def weighted_mean(group: LearnerGroup, value: float, weight: float) -> float:
    """Mean over the group of a number that each has of so much; weights of 0 count for nothing."""
    if group.size == 1:
        return value
    mine = torch.tensor([value * weight if weight > 0 else 0.0, weight], dtype=torch.float64)
    total, weights = ordered_sum(group.all_gather(mine)).tolist()
    return total / weights
