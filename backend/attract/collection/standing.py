"""Numbers for monitoring a run's collection: workers, leases, blocks, rows."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from attract.collection.fleet import Worker
from attract.collection.state import CollectionState

WorkerState = Literal["joining", "playing", "waiting", "returning"]
RowState = Literal["free", "promised", "taken"]


@dataclass(frozen=True)
class Standing:
    """Numbers of one moment, and counts since the run was opened."""

    hosts: Mapping[str, int]
    """Connected hosts by tier."""
    workers: Mapping[tuple[str, WorkerState], int]
    """Workers by tier and state; `returning`: its socket closed and it may come back (rule C3). Those that
    left for good or were given up are in none."""
    leases_open: int
    leases_lapsed: int
    blocks_accepted: int
    blocks_refused: int
    rows: Mapping[RowState, int]
    """Rows of the store, one a segment; empty until the game is known."""
    versions_unpublished: int
    """Versions that are trained and not yet announced (rule D1)."""


def standing_of(state: CollectionState) -> Standing:
    """The numbers now; takes time in proportion to the workers that were ever seen."""
    described = state.described
    acceptance = None if described is None else described.acceptance
    rows: dict[RowState, int] = {}
    if acceptance is not None:
        free = acceptance.rows
        rows = {
            "free": free.available,
            "promised": free.reserved,
            "taken": free.capacity - free.num_free,
        }
    fleet = state.fleet
    workers: Counter[tuple[str, WorkerState]] = Counter()
    for worker in fleet.workers.values():
        shown = _state_of(worker)
        if shown is not None:
            workers[worker.tier, shown] += 1
    return Standing(
        hosts=Counter(host.tier for host in fleet.hosts.values() if host.connection_id is not None),
        workers=workers,
        leases_open=len(state.book),
        leases_lapsed=state.book.num_lapsed,
        blocks_accepted=0 if acceptance is None else acceptance.num_accepted,
        blocks_refused=0 if acceptance is None else acceptance.num_refused,
        rows=rows,
        versions_unpublished=max(0, state.learner.version - max(0, state.learner.public)),
    )


def _state_of(worker: Worker) -> WorkerState | None:
    if worker.broken or worker.away:
        return None
    if worker.connection_id is None:
        return "returning"
    if not worker.admitted:
        return "joining"
    return "playing" if worker.leases else "waiting"
