"""A group of learners that make each update together, and what all of them compute of their parts."""

import torch
from torch import Tensor


class LearnerGroup:
    """N learners in lockstep, each with its own rows. This class is the group of one.

    Used by the learner's main thread. All ranks call every method but `durable`, in the same order. Results
    are bit-identical on all ranks: they are combined from the same parts in rank order.

    Every method raises:
        GroupError: another rank is gone or late; names it and the operation.
        GroupOverError: rank 0 has ended the run.
    """

    rank: int = 0
    """Rank of this process, from 0."""
    size: int = 1
    """Number of ranks."""

    def barrier(self, what: str, words: Tensor) -> Tensor:
        """Wait for all ranks for as long as they live; returns [size, n], the `words` of each rank.

        Args:
            what: what is awaited, for messages.
            words: [n] int64 on the CPU.
        """
        del what
        return words.unsqueeze(0)

    def all_gather(self, tensor: Tensor) -> Tensor:
        """[size, ...]: the tensors of all ranks, which have the same shape and dtype."""
        return tensor.unsqueeze(0)

    def all_reduce(self, tensor: Tensor) -> None:
        """Replace the tensor by the sum over all ranks, in place; added in rank order."""
        if self.size > 1:
            tensor.copy_(ordered_sum(self.all_gather(tensor)))

    def broadcast(self, data: bytes) -> bytes:
        """The `data` of rank 0."""
        return data

    def durable(self, policy_version: int) -> None:
        """Rank 0: report that its version is on disk. Others: wait for that. On the writer's thread (D1)."""

    def leave(self) -> None:
        """End this rank's part of the run; rank 0 ends the run of all ranks. Never fails."""

    def close(self) -> None:
        """Close the connections."""


SINGLE_PROCESS = LearnerGroup()


def ordered_sum(parts: Tensor) -> Tensor:
    """[...] from [size, ...]: the parts added in order, so that every rank rounds alike."""
    total = parts[0].clone()
    for part in parts[1:]:
        total += part
    return total


def any_rank(group: LearnerGroup, flag: bool) -> bool:
    """Whether `flag` is true on any rank."""
    if group.size == 1:
        return flag
    return bool(group.all_gather(torch.tensor([flag], dtype=torch.uint8)).any())


def weighted_mean(group: LearnerGroup, value: float, weight: float) -> float:
    """Weighted mean over the ranks; a rank of weight 0 does not count."""
    if group.size == 1:
        return value
    mine = torch.tensor([value * weight if weight > 0 else 0.0, weight], dtype=torch.float64)
    total, weights = ordered_sum(group.all_gather(mine)).tolist()
    return total / weights
