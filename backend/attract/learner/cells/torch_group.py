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
from torch.distributed import PrefixStore  # pyright: ignore[reportPrivateImportUsage]

from attract.errors import GroupError, GroupOverError
from attract.learner.cells.group import ordered_sum
from attract.learner.cells.meeting import connect, erase, meet, open_store
from attract.learner.cells.presence import HEARTBEAT_SECONDS, Presence
from attract.settings.cells import Cell

MEETING_SECONDS: Final = 600.0
"""Time limit for the others to come: browsers may start far slower elsewhere."""
LIMIT_SECONDS: Final = 120.0
"""Time limit for one step of an update, or for writing a version to disk."""
_FOREVER: Final = timedelta(days=30)
_KEPT_VERSIONS: Final = 8
_LONGEST_NAP_SECONDS: Final = 0.002
log = logging.getLogger(__name__)


class TorchGroup:
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
        store = open_store(cell, meeting_seconds)
        number = meet(store, cell, meeting_seconds)
        try:
            own, self._of_writer = (PrefixStore(f"{number}", connect(cell)) for _ in range(2))
        except RuntimeError as error:
            raise GroupError("cell 0 or the store of the group is lost") from error
        self._presence = Presence(own, cell.rank, cell.size, on_over)
        backend = "gloo" if device.type == "cpu" else "cpu:gloo,cuda:nccl"
        try:
            dist.init_process_group(
                backend,
                store=PrefixStore(f"{number}/torch", store),
                rank=cell.rank,
                world_size=cell.size,
                timeout=timedelta(seconds=limit_seconds),
            )
            # For what may take as long as it likes while all live: the next batch, a pause, an evaluation.
            self._patient = dist.new_group(timeout=_FOREVER, backend="gloo")
        except RuntimeError as error:
            self._fail("the connections of the group", error)

    def barrier(self, what: str, words: Tensor) -> Tensor:
        """See `LearnerGroup`."""
        parts = [torch.empty_like(words) for _ in range(self.size)]
        try:
            work = dist.all_gather(parts, words, group=self._patient, async_op=True)
            nap = _LONGEST_NAP_SECONDS / 16
            while work is not None and not work.is_completed():
                if self._presence.is_over.is_set():
                    raise GroupOverError
                if timed_out := self._presence.timed_out():
                    self._has_failed = True
                    raise GroupError(f"cell {timed_out[0]} sends no heartbeat; {what} was awaited from it")
                time.sleep(nap)
                nap = min(2 * nap, _LONGEST_NAP_SECONDS)
            if work is not None:
                work.wait()
        except RuntimeError as error:
            self._fail(what, error)
        return torch.stack(parts)

    def all_gather(self, tensor: Tensor) -> Tensor:
        """See `LearnerGroup`."""
        parts = torch.empty((self.size, *tensor.shape), dtype=tensor.dtype, device=tensor.device)
        self._within(
            "its part of an update", partial(dist.all_gather, list(parts.unbind()), tensor.contiguous())
        )
        return parts

    def all_reduce(self, tensor: Tensor) -> None:
        """See `LearnerGroup`."""
        tensor.copy_(ordered_sum(self.all_gather(tensor)))

    def broadcast(self, data: bytes) -> bytes:
        """See `LearnerGroup`."""
        size = torch.tensor([len(data)])
        self._within("its word", partial(dist.broadcast, size, 0))
        led = torch.empty(int(size), dtype=torch.uint8)
        if self.rank == 0 and data:
            led.copy_(torch.frombuffer(bytearray(data), dtype=torch.uint8))
        self._within("its word", partial(dist.broadcast, led, 0))
        return led.numpy().tobytes()

    def durable(self, policy_version: int) -> None:
        """See `LearnerGroup`."""
        key = f"durable/{policy_version}"
        try:
            if self.rank == 0:
                self._of_writer.set(key, "yes")
                erase(self._of_writer, f"durable/{policy_version - _KEPT_VERSIONS}")
            else:
                self._of_writer.wait([key], timedelta(seconds=self._limit_seconds))
        except RuntimeError as error:
            if self._presence.is_over.is_set():
                raise GroupOverError from error
            raise GroupError(
                f"version {policy_version} is not durable at cell 0 within {self._limit_seconds:g} s"
            ) from error

    def leave(self) -> None:
        """See `LearnerGroup`."""
        if self.rank == 0:
            self._presence.end()

    def close(self) -> None:
        """See `LearnerGroup`."""
        if self._has_failed and self.rank == 0:
            # The others may still read from the store which cells are lost.
            time.sleep(4 * HEARTBEAT_SECONDS)
        self._presence.close()
        if dist.is_initialized() and not self._has_failed:
            dist.destroy_process_group()

    def _within(self, what: str, call: Callable[[], object]) -> None:
        try:
            call()
        except RuntimeError as error:
            self._fail(what, error)

    def _fail(self, what: str, error: RuntimeError) -> NoReturn:
        if self._presence.is_over.is_set():
            raise GroupOverError from error
        log.info("the group broke: %s", error)
        self._has_failed = True
        raise GroupError(f"{self._presence.find_gone()}; {what} was awaited") from error
