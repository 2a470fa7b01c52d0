"""A group of two in one process: what the other cell brings is known beforehand."""

import torch
from torch import Tensor

from attract.learner.group.cells import LearnerGroup


class Beside(LearnerGroup):
    """`LearnerGroup` of rank `rank`; the other one's tensors are given, in the order of the calls."""

    size = 2

    def __init__(self, *others: Tensor, rank: int = 0, led: tuple[bytes, ...] = ()) -> None:
        self.rank = rank
        self.sent: list[Tensor] = []
        self.words: list[bytes] = []
        self._others = list(others)
        self._led = list(led)

    def all_gather(self, tensor: Tensor) -> Tensor:
        self.sent.append(tensor.clone())
        other = self._others.pop(0) if self._others else tensor
        return torch.stack((tensor, other) if self.rank == 0 else (other, tensor))

    def barrier(self, what: str, words: Tensor) -> Tensor:
        return self.all_gather(words)

    def broadcast(self, data: bytes) -> bytes:
        self.words.append(data)
        return self._led.pop(0) if self._led else data
