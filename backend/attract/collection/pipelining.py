"""When a lease may be issued, how large it is, and when a batch closes: `sync`, `overlap` and `async`."""

import math
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from attract.collection.config import CollectionConfig
from attract.collection.fleet import Worker

LARGEST_SHARE: Final = 4
"""No worker is asked for more than this many times the usual segments under one lease."""
MAX_BATCHES_AHEAD: Final = 1
"""`async`: leases are issued while at most so many full batches wait for the learner or are promised."""


@dataclass
class CollectionStatus:
    """Where collection and learning stand, in segments and versions."""

    version: int
    """The learner's: the last one trained."""
    busy: bool
    """An update is running: the next one will begin at version + 1."""
    pooled: int
    """Accepted segments of the batch that is filling."""
    promised: Collection[int]
    """Segments that each open training lease may still give, in the order of issue."""
    target: int
    """Rule S1's `batch_segments`."""
    boundary: bool
    """A lease ended with at least `target` segments accepted."""
    sealed: int = 0
    """Full batches that wait for the learner (`async`)."""
    held: int = 0
    """Segments that have come and wait for their audit (rule C10)."""
    _forecast: tuple[int, int] | None = None
    """(batches ahead, segments of the one after them), once asked for."""

    @property
    def next_start(self) -> int:
        """The version at which the next update begins."""
        return self.version + int(self.busy)

    @property
    def batches_ahead(self) -> int:
        """Batches that pool and open leases will make, one closing whenever a lease fills it (rule S1)."""
        if self._forecast is None:
            target = self.target
            ahead, filled = (1, 0) if self.pooled >= target else (0, self.pooled)
            # A fleet of hundreds has a thousand open leases, and this is asked at each message.
            for segments in (self.held, *self.promised):
                filled += segments
                if filled >= target:
                    ahead, filled = ahead + 1, 0
            self._forecast = ahead, filled
        return self.sealed + self._forecast[0]

    def promise(self, segments: int) -> None:
        """One more lease was issued since `batches_ahead` was asked for."""
        if self._forecast is not None:
            ahead, filled = self._forecast
            filled += segments
            self._forecast = (ahead + 1, 0) if filled >= self.target else (ahead, filled)


@dataclass(frozen=True)
class LeaseGrant:
    """A lease to be issued to a worker."""

    worker: Worker
    num_segments: int


class Schedule(Protocol):
    """How collection and learning take turns."""

    max_policy_lag: int
    waits_for_returning: bool
    """Whether no lease is issued while a worker may still come back to its socket (rule C8)."""
    waits_for_sessions: bool
    """Whether the idle workers of a host begin together, once all have their session of a new version."""

    def may_start(self, progress: CollectionStatus) -> bool:
        """Whether the pool is a batch, and the learner free for it."""
        ...

    def may_seal(self, progress: CollectionStatus) -> bool:
        """Whether the pool is a batch that should wait for the learner as it is."""
        ...

    def batch_closed(self) -> None:
        """The pool became a batch."""
        ...

    def orders(
        self, progress: CollectionStatus, workers: Sequence[Worker], takers: Callable[[], list[Worker]]
    ) -> Iterator[LeaseGrant]:
        """The leases to issue now, until everybody has what he may have.

        `workers` are those present, by id; `takers` gives those with room for one lease more now. Each order
        is issued, and `progress` told of it, before the next is asked for.
        """
        ...


class SyncSchedule:
    """Every lease of an iteration at version v, update, publish, next; shares are fixed (rule C8)."""

    max_policy_lag = 0
    waits_for_returning = True
    waits_for_sessions = False

    def __init__(self, rollout_segments: int, slots_per_worker: int) -> None:
        self._rollout_segments = rollout_segments
        self._slots = slots_per_worker
        self._round: deque[int] = deque()
        self._segments = 0
        self._round_open = False

    def may_start(self, progress: CollectionStatus) -> bool:
        """Once no lease is open any more: who finished first must not matter."""
        is_open = bool(progress.promised) or progress.held > 0
        return not progress.busy and not is_open and progress.pooled >= progress.target

    def may_seal(self, progress: CollectionStatus) -> bool:
        """Never: nothing is collected while the learner works."""
        return False

    def batch_closed(self) -> None:
        """The next order begins a new round."""
        self._round_open = False

    def orders(
        self, progress: CollectionStatus, workers: Sequence[Worker], takers: Callable[[], list[Worker]]
    ) -> Iterator[LeaseGrant]:
        """One equal lease for every worker; when one lapsed, more for idle workers."""
        if progress.busy or not workers:
            return
        if not self._round_open:
            # The round begins only when all of them can play this version.
            if any(worker.sent_version != progress.version or worker.leases for worker in workers):
                return
            self._round_open = True
            self._round = deque(worker.worker_id for worker in workers)
            self._segments = max(
                self._rollout_segments, math.ceil(progress.target / (len(workers) * self._slots))
            )
        if not self._round and sum(progress.promised) + progress.held + progress.pooled >= progress.target:
            return
        idle = {
            taker.worker_id: taker
            for taker in takers()
            if not taker.leases and taker.sent_version == progress.version
        }
        while self._round:
            worker = idle.pop(self._round.popleft(), None)
            if worker is not None:
                yield LeaseGrant(worker, self._segments)
        for worker in idle.values():
            missing = progress.target - progress.pooled - progress.held - sum(progress.promised)
            if missing <= 0:
                return
            yield LeaseGrant(worker, min(self._segments, math.ceil(missing / self._slots)))


class OverlapSchedule:
    """Workers collect the next batch while the learner works on the last; lag at most `max_policy_lag`."""

    waits_for_returning = False
    waits_for_sessions = True

    def __init__(self, rollout_segments: int, max_policy_lag: int, prefetch: int = 1) -> None:
        self._rollout_segments = rollout_segments
        self._prefetch = prefetch
        self.max_policy_lag = max_policy_lag

    def may_start(self, progress: CollectionStatus) -> bool:
        """At the first lease boundary with enough, or when the learner comes free after it."""
        return not progress.busy and progress.boundary and progress.pooled >= progress.target

    def may_seal(self, progress: CollectionStatus) -> bool:
        """Never: what arrives while the learner works joins the batch that it takes next."""
        return False

    def batch_closed(self) -> None:
        """Nothing changes: leases in play go on into the next batch."""

    def orders(
        self, progress: CollectionStatus, workers: Sequence[Worker], takers: Callable[[], list[Worker]]
    ) -> Iterator[LeaseGrant]:
        """A lease for each worker without one, then up to `prefetch` ahead, if its segments stay fresh.

        A lease issued now adds to the batch after all those that are promised, whose update begins at version
        `next_start + batches_ahead`. So a lease of version v fits while that is at most v + lag; the same
        rule is the back-pressure: about one batch ahead of the learner, never more.
        """
        speeds: list[float] | None = None
        for queued in range(self._prefetch + 1):
            # Asked first, for while the learner is behind everybody is a taker.
            if not self._may_issue(progress, progress.version):
                return
            for worker in [taker for taker in takers() if len(taker.leases) == queued]:
                version = worker.sent_version
                if version is None or not self._may_issue(progress, version):
                    continue
                if speeds is None:
                    speeds = [
                        worker.steps_per_second for worker in workers if worker.steps_per_second is not None
                    ]
                yield LeaseGrant(
                    worker, segments_by_speed(self._rollout_segments, worker.steps_per_second, speeds)
                )

    def _may_issue(self, progress: CollectionStatus, version: int) -> bool:
        return progress.next_start + progress.batches_ahead - version <= self.max_policy_lag


class AsyncSchedule(OverlapSchedule):
    """Workers go on while full batches wait for the learner; experience may be `max_policy_lag` versions old.

    A full batch that waits is sealed, so that a learner that falls behind gets batches of the usual size.
    With a lag of 1 nothing can be sealed, and this is `overlap`.
    """

    def may_start(self, progress: CollectionStatus) -> bool:
        """As soon as the learner is free, if a batch waits; else as in `overlap`."""
        return (not progress.busy and progress.sealed > 0) or super().may_start(progress)

    def may_seal(self, progress: CollectionStatus) -> bool:
        """A full pool, if leases of the newest version are young enough for the batch after it."""
        full = progress.busy and progress.boundary and progress.pooled >= progress.target
        batches_before = progress.next_start - progress.version + progress.sealed
        return full and progress.sealed < MAX_BATCHES_AHEAD and batches_before + 1 <= self.max_policy_lag

    def _may_issue(self, progress: CollectionStatus, version: int) -> bool:
        # Back-pressure, however large the lag.
        return progress.batches_ahead <= MAX_BATCHES_AHEAD and super()._may_issue(progress, version)


def segments_by_speed(usual: int, speed: float | None, speeds: list[float]) -> int:
    """Segments per slot for a worker, so that fast and slow ones finish a lease together (rule C4).

    Slots never change (rule S1), so a share is a whole number of segments of each slot, at least 1.

    Args:
        usual: segments per slot for a worker of mean speed, >= 1.
        speed: steps per second of this worker, > 0; None when not measured yet: it gets the usual.
        speeds: those of all measured workers of the fleet.

    Returns: segments per slot, in [1, 4 x usual].
    """
    if speed is None or not speeds:
        return usual
    mean = sum(speeds) / len(speeds)
    return max(1, min(LARGEST_SHARE * usual, round(usual * speed / mean)))


def resolve_schedule(config: CollectionConfig, slots_per_worker: int) -> Schedule:
    """The schedule of that name."""
    if config.settings.schedule == "sync":
        return SyncSchedule(config.rollout_segments, slots_per_worker)
    kind = AsyncSchedule if config.settings.schedule == "async" else OverlapSchedule
    return kind(config.rollout_segments, config.settings.policy_lag, config.settings.prefetch)
