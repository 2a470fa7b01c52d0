"""Membership of a group of learners: heartbeats, who is lost, and the end of the run.

Keys on the store: `beat/RANK` grows while a member lives, `gone/RANK` says why the others do not wait for it,
and `over` that rank 0 has ended the run. Rank 0 sets them up.
"""

import contextlib
import threading
import time
from collections.abc import Callable, Collection, Generator, Mapping
from typing import Final

from attract.learner.group.store import KeyValueStore, StoreLostError

HEARTBEAT_SECONDS: Final = 0.25
"""Interval of heartbeats or, for a member that is cut off, of its attempts to return."""
LOST_SECONDS: Final = 15.0
"""Default time without a heartbeat after which a member is lost."""
SHUTDOWN_SECONDS: Final = 5.0
"""How long rank 0, when it ends, waits until the others know; they may still read from its store."""
NOTHING: Final = "-"
"""Stands under a key that has no value yet, since reading one that is not there waits."""


class Heartbeats:
    """When each rank's heartbeat last moved; time is an argument, in monotonic seconds."""

    def __init__(self, lost_seconds: float) -> None:
        self._lost_seconds = lost_seconds
        self._seen: dict[int, tuple[int, float]] = {}
        self._observed = 0.0

    def observe(self, counts: Mapping[int, int], now: float) -> None:
        """Take in the counters of all ranks."""
        self._observed = now
        for rank, count in counts.items():
            if rank not in self._seen or self._seen[rank][0] != count:
                self._seen[rank] = count, now

    def silent(self) -> list[int]:
        """Ranks that once lived and whose counter stood still for `lost_seconds`, as of the last look."""
        return [
            rank
            for rank, (count, at) in sorted(self._seen.items())
            if count > 0 and self._observed - at >= self._lost_seconds
        ]


class Membership:
    """One rank's; a thread of its own shows the others that it lives, and watches them.

    Args:
        rank: of this process.
        size: number of ranks.
        store: the connection of a member whose store cannot come back; None: `connect` makes one.
        connect: called on the thread for each connection, after a loss again; raises StoreLostError.
        lost_seconds: time without a heartbeat after which a member is lost.
        on_connect: called on the thread with each connection that `connect` made.

    Raises: StoreLostError: the given store is lost.
    """

    def __init__(
        self,
        rank: int,
        size: int,
        store: KeyValueStore | None,
        connect: Callable[[], KeyValueStore] | None = None,
        *,
        lost_seconds: float = LOST_SECONDS,
        on_connect: Callable[[KeyValueStore], None] = lambda store: None,
    ) -> None:
        self._rank = rank
        self._others = [other for other in range(size) if other != rank]
        self._lost_seconds = lost_seconds
        self._connect = connect
        self._on_connect = on_connect
        self.is_over = threading.Event()
        """Whether rank 0 has ended the run."""
        self.why_away = ""
        """Why the last request to the store failed; empty after one that did not."""
        self._changed = threading.Condition()
        self._store = store
        self._heartbeats = Heartbeats(lost_seconds)
        self._lost_at = time.monotonic()
        self._in_use = False
        self._closed = threading.Event()
        if store is not None:
            self._enter(store)
        self._thread = threading.Thread(target=self._keep, name="membership", daemon=True)
        self._thread.start()

    def store(self, patience_seconds: float) -> KeyValueStore | None:
        """The store; None when the run is over, or the store has been lost for so long."""
        with self._changed:
            while self._store is None and not self.is_over.is_set():
                left = self._lost_at + patience_seconds - time.monotonic()
                if left <= 0:
                    return None
                self._changed.wait(left)
            return None if self.is_over.is_set() else self._store

    def lost(self, store: KeyValueStore | None, why: str) -> None:
        """Report that this store does not answer any more."""
        with self._changed:
            if self._store is not store:
                return
            self.why_away = why
            if store is not None and self._connect is not None:
                self._store = None
                self._lost_at = time.monotonic()

    @contextlib.contextmanager
    def in_use(self) -> Generator[None]:
        """While this lasts, rank 0 does not end: this member reads from its store."""
        with self._changed:
            self._in_use = True
        try:
            yield
        finally:
            self._in_use = False

    def look(self, store: KeyValueStore) -> list[int]:
        """Members without a heartbeat for `lost_seconds`. Raises: StoreLostError."""
        counts = _counts(store, self._others)
        with self._changed:
            self._heartbeats.observe(counts, time.monotonic())
            return self._heartbeats.silent()

    def leave(self) -> None:
        """Tell the others that this member has ended; rank 0 ends the run. Never fails.

        Rank 0 returns once all that live know, or after `SHUTDOWN_SECONDS`.
        """
        store = self._store
        if store is None or self.is_over.is_set():
            return
        with contextlib.suppress(StoreLostError):
            store.write(f"gone/{self._rank}", "its run has ended")
            if self._rank != 0:
                return
            store.write("over", "yes")
            deadline = time.monotonic() + SHUTDOWN_SECONDS
            while time.monotonic() < deadline:
                counts = _counts(store, self._others).values()
                gone = store.read([f"gone/{rank}" for rank in self._others])
                lives = [count > 0 and why == NOTHING for count, why in zip(counts, gone, strict=True)]
                if not any(lives):
                    return
                time.sleep(HEARTBEAT_SECONDS / 10)

    def close(self) -> None:
        """Stop the heartbeat; without `leave` before it, the others notice after a while."""
        self._closed.set()
        self._thread.join(2 * HEARTBEAT_SECONDS)
        self._store = None

    def _enter(self, store: KeyValueStore) -> None:
        if self._rank == 0:
            for rank in (0, *self._others):
                store.add(f"beat/{rank}", 0)
                store.set_default(f"gone/{rank}", NOTHING)
            store.set_default("over", "no")
        store.write(f"gone/{self._rank}", NOTHING)
        store.add(f"beat/{self._rank}", 1)

    def _keep(self) -> None:
        while not self._closed.wait(HEARTBEAT_SECONDS):
            store = self._store
            try:
                if store is None:
                    self._come_back()
                else:
                    self._beat(store)
            except StoreLostError as error:
                self.lost(store, str(error))

    def _come_back(self) -> None:
        if self._connect is None:
            return
        store = self._connect()
        if store.read(["over"]) == ["yes"]:
            return
        self._enter(store)
        self._on_connect(store)
        with self._changed:
            self._heartbeats = Heartbeats(self._lost_seconds)
            self.is_over.clear()
            self.why_away = ""
            self._store = store
            self._changed.notify_all()

    def _beat(self, store: KeyValueStore) -> None:
        store.add(f"beat/{self._rank}", 1)
        self.look(store)
        is_over = store.read(["over"]) == ["yes"]
        with self._changed:
            self.why_away = ""
            if not is_over or self._rank == 0 or self._in_use or self.is_over.is_set():
                return
            self.is_over.set()
            self._changed.notify_all()
        store.write(f"gone/{self._rank}", "it goes on alone")


def _counts(store: KeyValueStore, ranks: Collection[int]) -> dict[int, int]:
    return dict(zip(ranks, map(int, store.read([f"beat/{rank}" for rank in ranks])), strict=True))


def in_words(noun: str, ranks: Collection[int]) -> str:
    """E.g. "trainer 1", or "trainers 0, 2"."""
    return f"{noun}{'s' if len(ranks) > 1 else ''} {', '.join(str(rank) for rank in sorted(ranks))}"
