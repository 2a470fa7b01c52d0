"""The group of learners over `torch.distributed`: gloo between CPUs, nccl between CUDA devices."""

import logging
import time
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Final, NoReturn

import torch
import torch.distributed as dist
from torch import Tensor
from typing_extensions import override

from attract.errors import GroupError, GroupOverError
from attract.learner.group.cells import LearnerGroup
from attract.learner.group.meeting import meet
from attract.learner.group.membership import HEARTBEAT_SECONDS, Membership, in_words
from attract.learner.group.store import StoreLostError
from attract.settings.cells import Cell

MEETING_SECONDS: Final = 600.0
"""Time limit for the others to come: browsers may start far slower elsewhere."""
LIMIT_SECONDS: Final = 120.0
"""Time limit for one step of an update, or for writing a version to disk."""
_FOREVER: Final = timedelta(days=30)
_KEPT_VERSIONS: Final = 8
_LONGEST_NAP_SECONDS: Final = 0.002
_STORE_LOST: Final = "cell 0 or the store of the group is lost"
log = logging.getLogger(__name__)


class TorchGroup(LearnerGroup):
    """`LearnerGroup` of several processes; there is one in a process, while it lives.

    Identities are not checked and nothing is encrypted: the group belongs on a private network.

    Args:
        cell: which of them this is, and where they meet.
        device: of the weights.
        on_over: called on another thread once rank 0 has ended the run; of the others.
        meeting_seconds: time limit for the others to come.
        limit_seconds: how long one step of an update may be.

    Raises: GroupError: names those that did not come.
    """

    def __init__(
        self,
        cell: Cell,
        device: torch.device,
        on_over: Callable[[], None] = lambda: None,
        *,
        meeting_seconds: float = MEETING_SECONDS,
        limit_seconds: float = LIMIT_SECONDS,
    ) -> None:
        self.rank = cell.rank
        self.size = cell.size
        self._limit_seconds = limit_seconds
        self._has_failed = False
        store, number = meet(cell, meeting_seconds)
        try:
            self._of_writer = store.beside(f"{number}")
            self._membership = Membership(cell.rank, cell.size, store.beside(f"{number}"), on_over=on_over)
        except StoreLostError as error:
            raise GroupError(_STORE_LOST) from error
        backend = "gloo" if device.type == "cpu" else "cpu:gloo,cuda:nccl"
        try:
            dist.init_process_group(
                backend,
                store=store.for_torch(f"{number}/torch"),
                rank=cell.rank,
                world_size=cell.size,
                timeout=timedelta(seconds=limit_seconds),
            )
            # For what may take as long as it likes while all live: the next batch, a pause, an evaluation.
            self._patient = dist.new_group(timeout=_FOREVER, backend="gloo")
        except RuntimeError as error:
            self._fail("the connections of the group", error)

    @override
    def barrier(self, what: str, words: Tensor) -> Tensor:
        parts = [torch.empty_like(words) for _ in range(self.size)]
        try:
            work = dist.all_gather(parts, words, group=self._patient, async_op=True)
            nap = _LONGEST_NAP_SECONDS / 16
            while work is not None and not work.is_completed():
                if self._membership.is_over.is_set():
                    raise GroupOverError
                if silent := self._membership.silent():
                    self._has_failed = True
                    raise GroupError(f"cell {silent[0]} sends no heartbeat; {what} was awaited from it")
                if self._membership.why_away:
                    self._has_failed = True
                    raise GroupError(f"{_STORE_LOST}; {what} was awaited")
                time.sleep(nap)
                nap = min(2 * nap, _LONGEST_NAP_SECONDS)
            if work is not None:
                work.wait()
        except RuntimeError as error:
            self._fail(what, error)
        return torch.stack(parts)

    @override
    def all_gather(self, tensor: Tensor) -> Tensor:
        parts = torch.empty((self.size, *tensor.shape), dtype=tensor.dtype, device=tensor.device)
        self._within(
            "its part of an update", partial(dist.all_gather, list(parts.unbind()), tensor.contiguous())
        )
        return parts

    @override
    def broadcast(self, data: bytes) -> bytes:
        size = torch.tensor([len(data)])
        self._within("its word", partial(dist.broadcast, size, 0))
        led = torch.empty(int(size), dtype=torch.uint8)
        if self.rank == 0 and data:
            led.copy_(torch.frombuffer(bytearray(data), dtype=torch.uint8))
        self._within("its word", partial(dist.broadcast, led, 0))
        return led.numpy().tobytes()

    @override
    def durable(self, policy_version: int) -> None:
        key = f"durable/{policy_version}"
        try:
            if self.rank == 0:
                self._of_writer.write(key, "yes")
                self._of_writer.erase(f"durable/{policy_version - _KEPT_VERSIONS}")
            else:
                self._of_writer.wait(key, self._limit_seconds)
        except StoreLostError as error:
            if self._membership.is_over.is_set():
                raise GroupOverError from error
            raise GroupError(
                f"version {policy_version} is not durable at cell 0 within {self._limit_seconds:g} s"
            ) from error

    @override
    def leave(self) -> None:
        self._membership.leave()

    @override
    def close(self) -> None:
        if self._has_failed and self.rank == 0:
            # The others may still read from the store which cells are lost.
            time.sleep(4 * HEARTBEAT_SECONDS)
        self._membership.close()
        if dist.is_initialized() and not self._has_failed:
            dist.destroy_process_group()

    def _within(self, what: str, call: Callable[[], object]) -> None:
        try:
            call()
        except RuntimeError as error:
            self._fail(what, error)

    def _fail(self, what: str, error: RuntimeError) -> NoReturn:
        if self._membership.is_over.is_set():
            raise GroupOverError from error
        log.info("the group broke: %s", error)
        self._has_failed = True
        try:
            lost = self._membership.find_lost()
            who = f"{in_words('cell', lost)} is lost" if lost else "a connection between cells broke"
        except StoreLostError:
            who = _STORE_LOST
        raise GroupError(f"{who}; {what} was awaited") from error
