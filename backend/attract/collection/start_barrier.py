"""When a run's first workers are admitted: once the expected fleet is there, or will not come (rule C8)."""

from typing import Final

from attract.collection.config import CollectionConfig
from attract.collection.fleet import Fleet

SETTLE_SECONDS: Final = 3.0
"""`overlap`: a smaller fleet begins when no worker came or left for so long and none is on its way."""


class StartBarrier:
    """Closed until the first workers may be admitted, then open for good. Used by the core alone."""

    def __init__(self, config: CollectionConfig) -> None:
        self._expected = config.num_workers
        self._waits_for_all = config.settings.schedule == "sync"
        self._join_seconds = config.settings.join_seconds
        self.is_open = False
        self._first_at: float | None = None
        self._changed_at = 0.0

    def changed(self, fleet: Fleet, now: float) -> None:
        """A host or a worker came or left."""
        self._changed_at = now
        if self._first_at is None and fleet.waiting_for_admission():
            self._first_at = now

    def deadline(self, fleet: Fleet) -> float | None:
        """When it will open by itself, as things stand; None when it will not, or is open."""
        if self.is_open or self._waits_for_all or self._first_at is None or not fleet.waiting_for_admission():
            return None
        latest = self._first_at + self._join_seconds
        willing = sum(host.max_workers for host in fleet.hosts.values() if host.connection_id is not None)
        if len(fleet.waiting_for_admission()) >= willing:
            return min(latest, self._changed_at + SETTLE_SECONDS)
        return latest

    def try_open(self, fleet: Fleet, now: float) -> bool:
        """Whether it is open now."""
        if not self.is_open:
            deadline = self.deadline(fleet)
            complete = len(fleet.waiting_for_admission()) >= self._expected
            self.is_open = complete or (deadline is not None and now >= deadline)
        return self.is_open
