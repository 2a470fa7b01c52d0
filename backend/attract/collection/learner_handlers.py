"""Inputs of the collection core that come of the learner."""

from attract.collection.effects import PoolChanged, SendToLearner
from attract.collection.planning import report_waiting, start_warmup
from attract.collection.state import CollectionState
from attract.collection.trust_handlers import judge_update
from attract.schema.learner import Dropped, Published, Ready, Trained


def ready(state: CollectionState, now: float, ready: Ready) -> None:
    """Go on with what the learner that died had, or void what was played for a version that is lost."""
    learner = state.learner
    trained = learner.version
    outcome, batch = learner.ready(ready), learner.batch
    if outcome != "warmup" and ready.policy_version < trained:
        state.note("learner", f"version {trained} is lost: it was trained and not yet durable")
    if outcome == "warmup" and learner.warmup_blocks is not None:
        state.emit(start_warmup(learner.warmup_blocks, state.require_described().seating))
    elif outcome == "same" and learner.train is not None:
        state.emit(SendToLearner(learner.train))
        report_waiting(state, state.require_described())
    elif outcome in ("finished", "lost") and batch is not None:
        state.free(learner.end())
        if outcome == "lost":
            state.note("learner", f"batch {batch.batch_id} is lost: the learner is at another version")
    if outcome != "warmup":
        _announced(state, ready.policy_version)
    if outcome != "warmup" and state.described is not None:
        _drop_warmup(state, now)
        fresh = state.fresh(state.described)
        stale = state.described.acceptance.pool.drop_unusable(fresh.lowest, fresh.highest)
        state.free_blocks(stale)
        for lease in list(state.book):
            if lease.purpose == "train" and lease.version not in fresh:
                state.lapse(lease, "the learner is at another version", now)


def _announced(state: CollectionState, version: int) -> None:
    """A version may become an opponent."""
    if state.described is None:
        return
    opponents = state.described.opponents
    if opponents.announced(version, state.learner.counters.agent_steps):
        # What an open lease names may have to be sent again.
        named = {version for lease in state.book for _, version in lease.opponents if version < lease.version}
        state.emit(PoolChanged(tuple(sorted({*opponents.versions, *named}))))


def lost(state: CollectionState, now: float) -> None:
    """The learner died and another is started; what was not durable is collected again.

    Workers keep sockets and leases, its batch waits for the next learner.
    """
    state.learner.phase = "absent"


def published(state: CollectionState, now: float, published: Published) -> None:
    """Announce a durable version: the first after the warm-up, or that of an update."""
    learner = state.learner
    if published.batch_id is None:
        _drop_warmup(state, now)
        learner.version, learner.phase = published.policy_version, "idle"
    else:
        end_update(state, now, published)
    learner.public = min(published.policy_version, learner.version)
    _announced(state, learner.public)


def dropped(state: CollectionState, now: float, dropped: Dropped) -> None:
    """Free the rows of an update that was undone."""
    batch = state.learner.batch
    if batch is not None and batch.batch_id == dropped.batch_id:
        state.free(state.learner.end())
    state.note("dropped", f"P8: batch {dropped.batch_id} was dropped: {dropped.reason}")


def end_update(state: CollectionState, now: float, outcome: Trained | Published) -> None:
    """Count a batch once, whichever message reports it first, and judge its workers (rule C7)."""
    learner = state.learner
    batch = learner.batch
    if batch is None or batch.batch_id != outcome.batch_id:
        return
    learner.commit(batch, outcome)
    for row in outcome.rejected:
        state.note(
            "verification",
            f"C7: results of worker {batch.worker_of(row.row)} were discarded: "
            f"they differ from the learner's by {row.largest_difference:.3g}",
        )
    judge_update(state, batch, outcome.rejected, now)
    state.free(learner.end())


def _drop_warmup(state: CollectionState, now: float) -> None:
    """Random play has done its part, or is not wanted: its rows are free, its open leases void."""
    blocks, state.learner.warmup_blocks = state.learner.warmup_blocks or [], None
    if state.described is not None:
        for lease in list(state.book):
            if lease.purpose == "warmup":
                state.lapse(lease, "the statistics are set", now)
        blocks += state.described.acceptance.warmup.take()
    state.free_blocks(blocks)
