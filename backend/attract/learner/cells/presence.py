"""A heartbeat thread: shows the other cells that this one lives, and sees when the whole run is over."""

import contextlib
import threading
import time
from collections.abc import Callable
from typing import Final

from torch.distributed import Store  # pyright: ignore[reportPrivateImportUsage]

from attract.learner.cells.meeting import in_words

HEARTBEAT_SECONDS: Final = 0.25
TIMEOUT_SECONDS: Final = 15.0
"""Time without a heartbeat after which a cell is lost, although its connection did not break."""
HEARD_SECONDS: Final = 5.0
"""How long rank 0, when it ends, waits for the others' acknowledgement."""


class Presence:
    """One cell's; its own connection to the store.

    Args:
        store: of this meeting alone.
        rank: of this cell.
        size: how many there are.
        on_over: called on the thread once rank 0 has ended the run; of the others.
    """

    def __init__(self, store: Store, rank: int, size: int, on_over: Callable[[], None]) -> None:
        self._store = store
        self._rank = rank
        self._size = size
        self._on_over = on_over
        self.is_over = threading.Event()
        self._closed = threading.Event()
        self._heartbeats: dict[int, tuple[int, float]] = {}
        self._thread = threading.Thread(target=self._keep, name="presence", daemon=True)
        self._thread.start()

    def timed_out(self) -> list[int]:
        """Ranks without a heartbeat for `TIMEOUT_SECONDS`."""
        now = time.monotonic()
        return [rank for rank, (_, at) in sorted(self._heartbeats.items()) if now - at >= TIMEOUT_SECONDS]

    def find_gone(self) -> str:
        """Text that names the lost cells; takes some heartbeats. The first finder sets it for all."""
        try:
            if self._store.check(["why"]):
                return self._store.get("why").decode()
            before = self._read()
            time.sleep(4 * HEARTBEAT_SECONDS)
            after = self._read()
            gone = [rank for rank in before if before[rank] == after[rank] and rank != self._rank]
            found = f"{in_words(gone)} is lost" if gone else "a connection between cells broke"
            return self._store.compare_set("why", "", found).decode()
        except RuntimeError:
            return "cell 0 or the store of the group is lost"

    def end(self) -> None:
        """Called by rank 0 when the whole run is over; returns once the others know, or after a while."""
        with contextlib.suppress(RuntimeError):
            self._store.set("over", "yes")
            deadline = time.monotonic() + HEARD_SECONDS
            while self._store.add("heard", 0) < self._size - 1 and time.monotonic() < deadline:
                time.sleep(HEARTBEAT_SECONDS / 10)

    def close(self) -> None:
        """Stop the heartbeat."""
        self._closed.set()
        self._thread.join(2 * HEARTBEAT_SECONDS)

    def _read(self) -> dict[int, int]:
        return {rank: self._store.add(f"beat/{rank}", 0) for rank in range(self._size)}

    def _keep(self) -> None:
        while not self._closed.wait(HEARTBEAT_SECONDS):
            try:
                self._store.add(f"beat/{self._rank}", 1)
                now = time.monotonic()
                for rank, heartbeats in self._read().items():
                    if rank not in self._heartbeats or self._heartbeats[rank][0] != heartbeats:
                        self._heartbeats[rank] = heartbeats, now
                if self._rank != 0 and not self.is_over.is_set() and self._store.check(["over"]):
                    self.is_over.set()
                    self._store.add("heard", 1)
                    self._on_over()
            except RuntimeError:
                # The store is gone; waiting for the others will fail and report it.
                continue
