"""A trainer's line to the store at the rendezvous, which trainer 0 keeps; opened again when lost."""

import contextlib
import threading
import time
from collections.abc import Callable, Generator
from typing import Final

from attract.errors import FederationError
from attract.learner.federated.store import KeyValueStore, StoreLostError
from attract.settings.curriculum import FederatedSettings

BEAT_SECONDS: Final = 0.5
"""Interval of a trainer's heartbeats or, if it is cut off, of its attempts to come back."""
SHUTDOWN_SECONDS: Final = 3.0
"""How long trainer 0, when it ends, keeps the store for trainers that still read from it."""
REACH_SECONDS: Final = 2.0
NOTHING: Final = "-"
"""Stands under a key that has no value yet, since reading one that is not there waits."""

Say = Callable[[str], None]


class Rendezvous:
    """Owned by `Meetings`; a thread of its own shows the others that this trainer lives.

    Args:
        settings: who this trainer is.
        has_begun: whether this trainer's run has begun: then it does not wait for all to begin together.
        say: gets messages for the user, on any thread.
    """

    def __init__(self, settings: FederatedSettings, *, has_begun: bool, say: Say) -> None:
        self._settings = settings
        self.has_begun = has_begun
        self._say = say
        host, port = settings.rendezvous.rsplit(":", 1)
        self._address = host, int(port)
        self._changed = threading.Condition()
        self._board: KeyValueStore | None = None
        self._why_away = ""
        self._lost_at = time.monotonic()
        self._is_away_reported = False
        self._is_over = False
        self._in_use = False
        self._closed = threading.Event()
        self._keeper = threading.Thread(target=self._keep, name="rendezvous", daemon=True)

    @property
    def keeps_store(self) -> bool:
        """Whether the store is in this process."""
        return self._settings.rank == 0

    def open(self) -> None:
        """Keep the store, or begin to look for it.

        Raises: FederationError: when this trainer is to keep it and cannot.
        """
        deadline = time.monotonic() + self._settings.lost_seconds
        while self.keeps_store and self._board is None:
            try:
                store = KeyValueStore.keep(*self._address, self._settings.lost_seconds)
            except StoreLostError as error:
                # The learner whose place this one takes may still be about to end.
                if time.monotonic() < deadline:
                    time.sleep(BEAT_SECONDS)
                    continue
                raise FederationError(
                    f"trainer 0 cannot listen at {self._settings.rendezvous}: {error}"
                ) from error
            self._set_up(store)
            self._board = store
        self._keeper.start()

    def store(self, patience_seconds: float) -> KeyValueStore | None:
        """The store; while it is away, as soon as it is back, or None once it was away for so long."""
        with self._changed:
            while self._board is None:
                left = self._lost_at + patience_seconds - time.monotonic()
                if left <= 0 or self._is_over:
                    return None
                self._changed.wait(left)
            return self._board

    @property
    def why_away(self) -> str:
        """Reason why this trainer's last attempt to reach the store failed."""
        return self._why_away

    @contextlib.contextmanager
    def in_use(self) -> Generator[None]:
        """While this lasts, trainer 0 does not end: another trainer reads from its store."""
        self._in_use = True
        try:
            yield
        finally:
            self._in_use = False

    def lost(self, store: KeyValueStore, why: str) -> None:
        """Report that this store does not answer any more."""
        with self._changed:
            if self._board is not store or self.keeps_store:
                return
            self._board = None
            self._why_away = why
            self._lost_at = time.monotonic()

    def away(self) -> None:
        """A round is done without the others; said once."""
        with self._changed:
            is_news, self._is_away_reported = not self._is_away_reported, True
        if is_news:
            what = "has ended" if self._is_over else f"is away ({self._why_away})"
            where = self._settings.rendezvous
            self._say(
                f"trainer 0, which keeps the rendezvous at {where}, {what}: this trainer continues "
                "alone until it is back"
            )

    def leave(self) -> None:
        """Tell the others that this trainer's run has ended; never fails."""
        store = self._board
        if store is None:
            return
        with contextlib.suppress(StoreLostError):
            store.write(f"gone/{self._settings.rank}", "its run has ended")
            if self.keeps_store:
                store.write("over", "yes")
                self._wait_for_readers(store)

    def close(self) -> None:
        """Hang up."""
        self._closed.set()
        with self._changed:
            self._board = None

    def _wait_for_readers(self, store: KeyValueStore) -> None:
        others = [rank for rank in range(self._settings.world_size) if rank != self._settings.rank]
        deadline = time.monotonic() + SHUTDOWN_SECONDS
        while time.monotonic() < deadline:
            gone = store.read([f"gone/{rank}" for rank in others])
            beats = [store.add(f"beat/{rank}", 0) for rank in others]
            if store.add("heard", 0) >= sum(
                why == NOTHING and beat > 0 for why, beat in zip(gone, beats, strict=True)
            ):
                return
            time.sleep(BEAT_SECONDS / 10)

    def _set_up(self, store: KeyValueStore) -> None:
        for rank in range(self._settings.world_size):
            store.set_default(f"at/{rank}", NOTHING)
            store.set_default(f"gone/{rank}", NOTHING)
            store.add(f"beat/{rank}", 0)
        store.set_default("over", "no")
        store.set_default("closed", "0")
        store.set_default("begun", "yes" if self.has_begun else "no")

    def _keep(self) -> None:
        """On a thread of its own, until `close`."""
        while not self._closed.wait(BEAT_SECONDS):
            store = self._board
            try:
                if store is None:
                    self._come_back()
                else:
                    self._beat(store)
            except StoreLostError as error:
                self._why_away = str(error)
                if store is not None:
                    self.lost(store, str(error))

    def _come_back(self) -> None:
        store = KeyValueStore.reach(*self._address, max(REACH_SECONDS, self._settings.lost_seconds))
        if store.read(["over"]) == ["yes"]:
            return
        store.write(f"gone/{self._settings.rank}", NOTHING)
        store.add(f"beat/{self._settings.rank}", 1)
        if self.has_begun:
            store.write("begun", "yes")
        with self._changed:
            was_reported, self._is_away_reported, self._is_over = self._is_away_reported, False, False
            self._board = store
            self._changed.notify_all()
        if was_reported:
            self._say(f"the rendezvous at {self._settings.rendezvous} is back")

    def _beat(self, store: KeyValueStore) -> None:
        store.add(f"beat/{self._settings.rank}", 1)
        if self.keeps_store or self._in_use or store.read(["over"]) != ["yes"]:
            return
        with self._changed:
            if self._in_use:
                return
            self._is_over = True
            self._board = None
            self._changed.notify_all()
        store.add("heard", 1)
