"""Consequences of failed verification: an identity is left out with the reason, or the run pauses (C7)."""

from collections import Counter
from typing import Final

from attract.collection.batches import ClosedBatch
from attract.collection.effects import Unconfirmed
from attract.collection.fleet import Worker
from attract.collection.inputs import FrameUnreadable, LetIn, MessageWrong
from attract.collection.state import CollectionState
from attract.schema.learner import RejectedRow

MAX_NAMED: Final = 4
"""A note names at most so many workers of a banned browser; of more it gives the number."""
MAX_UNCONFIRMED_UPDATES: Final = 3
"""After so many updates in a row in which every segment looked at was refused the run pauses."""


def judge_update(state: CollectionState, batch: ClosedBatch, rejected: list[RejectedRow], now: float) -> None:
    """An update is done: who was wrong in it, and who is cleared by it.

    Where nothing could be confirmed, for any worker, the policy behaves differently in browsers than in the
    learner: no worker is blamed, and after a few such updates the run pauses.
    """
    rows = {rejection.row for rejection in rejected}
    blamed = Counter(
        worker_id
        for rejection in rejected
        if rejection.is_blamed and (worker_id := batch.worker_of(rejection.row)) is not None
    )
    looked_at = set(batch.verify_rows if batch.verify == "sample" else batch.rows)
    if blamed and looked_at and looked_at <= rows:
        state.unconfirmed_updates += 1
        if state.unconfirmed_updates >= MAX_UNCONFIRMED_UPDATES and not state.paused:
            state.paused = True
            state.emit(
                Unconfirmed(
                    f"C7: the run is paused: in {state.unconfirmed_updates} updates in a row every result "
                    "that was recomputed differed, for every worker. The policy computes other numbers in "
                    "browsers than in the learner. `attract doctor` and the newest version's policy_ack say "
                    "more"
                )
            )
        return
    state.unconfirmed_updates = 0
    wrong = Counter[str]()
    workers: dict[str, Worker] = {}
    for worker_id, count in blamed.items():
        worker = state.fleet.by_id(worker_id)
        wrong[worker.identity] += count
        workers[worker.identity] = worker
    for identity, count in wrong.items():
        reason = state.conduct.wrong_segments(identity, workers[identity].tier, count, now)
        leave_out(state, identity, reason, now)
    if state.conduct.has_probation:
        present = {state.fleet.by_id(int(worker_id)).identity for worker_id in set(batch.worker_id.tolist())}
        for identity in sorted(present - wrong.keys()):
            if state.conduct.clean_update(identity):
                state.note(
                    "conduct", f"the ban of the browser {identity} is lifted: all its results were confirmed"
                )


def leave_out(state: CollectionState, identity: str, reason: str | None, now: float) -> None:
    """An identity gets no leases from now on: those it has lapse, what no update has yet is thrown away.

    `reason`: what `Conduct` says; None: nothing happens.
    """
    if reason is None:
        return
    workers = [worker for worker in state.fleet.workers.values() if worker.identity == identity]
    for worker in workers:
        if worker.admitted:
            state.lapse_all(worker, f"left out: {reason}", now)
    ids = {worker.worker_id for worker in workers if worker.admitted}
    if state.described is not None:
        acceptance = state.described.acceptance
        for pool in (acceptance.pool, acceptance.warmup):
            state.free_blocks(pool.drop_workers(ids))
        state.described.audit.drop(identity)
    state.fleet.look_at_conduct(state.conduct, now)
    numbers = ", ".join(map(str, sorted(ids))) or "none yet"
    workers = f"worker {numbers}" if len(ids) <= MAX_NAMED else f"{len(ids)} workers"
    state.note("quarantine", f"the browser {identity} ({workers}) is banned: {reason}")


def message_wrong(state: CollectionState, event: MessageWrong, now: float) -> None:
    """Count what cannot be against its worker, and trust its earlier replays no more."""
    worker = state.fleet.of(event.connection_id)
    if isinstance(worker, Worker):
        if state.described is not None:
            state.described.audit.distrust(worker.identity)
        leave_out(state, worker.identity, state.conduct.wrong_message(worker.identity, now, event.what), now)


def frame_unreadable(state: CollectionState, event: FrameUnreadable, now: float) -> None:
    """Count an unreadable frame against its sender."""
    who = state.fleet.of(event.connection_id)
    if who is not None:
        leave_out(state, who.identity, state.conduct.unreadable_message(who.identity, now, event.what), now)


def let_in(state: CollectionState, event: LetIn, now: float) -> None:
    """Lift a ban by hand. Raises: KeyError: there is none."""
    identity = event.identity
    if state.conduct.reason(identity) is None:
        raise KeyError(identity)
    state.conduct.release(identity)
    state.fleet.look_at_conduct(state.conduct, now)
    state.note("conduct", f"the ban of the browser {identity} is lifted by an admin")
    if state.described is not None:
        state.described.audit.standings.pop(identity, None)
