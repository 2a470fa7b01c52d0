"""Decides the next steps from the state: admissions, warm-up, updates, policies, evaluations, leases."""

from attract.collection.batches import (
    AcceptedBlock,
    close_batch,
    episodes_in_order,
    rows_of_policies,
    sorted_rows,
)
from attract.collection.beginning import note_stage
from attract.collection.config import MAX_WARMUP_SECONDS
from attract.collection.effects import SendToLearner, WakeAfter
from attract.collection.fleet import Worker
from attract.collection.seating import Seating
from attract.collection.state import CollectionState, Described
from attract.collection.trust_handlers import report_what_is_off, settle, trained_on
from attract.schema.learner import Awaited, Warmup

MAX_VERSIONS_HELD = 2
"""Policy versions a worker keeps sessions of."""
SESSION_SECONDS = 0.05
"""At most so long do a host's workers wait for each other's sessions: eight on two cores take half of it."""


def plan(state: CollectionState, now: float) -> None:
    """Decide everything that can be done now; called after every event."""
    if state.described is not None and not state.stopped:
        _plan(state, state.described, now)
    note_stage(state, now)


def _plan(state: CollectionState, described: Described, now: float) -> None:
    _admit_workers(state, described, now)
    described.target = described.config.batch_target(len(state.fleet.awaited()))
    _warm_up(state, described, now)
    if state.learner.has_version:
        _start_update(state, described, now)
        _seal_batch(state, described, now)
        _publish(state, described, now)
        _evaluate(state, described, now)
        _order_replays(state, described, now)
        _issue_leases(state, described, now)


def _admit_workers(state: CollectionState, described: Described, now: float) -> None:
    if not state.start_barrier.try_open(state.fleet, now):
        return
    for worker in state.fleet.waiting_for_admission():
        state.fleet.admit(worker)
        state.touch(worker)
        state.welcome(described, worker)


def _warm_up(state: CollectionState, described: Described, now: float) -> None:
    """One uncounted random rollout of everybody, of a bounded time, sets the first statistics (rule P7).

    Not before the learner asks for it: nothing is played, and no run's clock runs, while a process loads.
    """
    learner, acceptance = state.learner, described.acceptance
    if learner.phase != "warmup" or learner.warmup_blocks is not None:
        return
    if not state.start_barrier.is_open or state.paused:
        return
    num_segments = described.config.warmup_segments
    deadline = warmup_deadline(state)
    is_over = deadline is not None and now >= deadline
    if num_segments and state.warmup_since is None:
        # Statistics that a guest made up would stay in every version: what sets them is not audited.
        workers = state.fleet.present()
        for worker in [worker for worker in workers if worker.tier == "local"] or workers:
            needed = num_segments * _num_slots(described, worker)
            if not worker.leases and acceptance.rows.available >= needed:
                state.issue(described, worker, "warmup", now, num_segments=num_segments)
                state.warmup_since = now
    if is_over:
        for lease in [lease for lease in state.book if lease.purpose == "warmup"]:
            state.cut_short(lease, "the warm-up has lasted long enough", now)
    if any(lease.purpose == "warmup" for lease in state.book):
        return
    if num_segments and not acceptance.warmup.num_segments and not is_over:
        # All of it lapsed: it is ordered again, now or as soon as a worker is there.
        if state.warmup_since is not None:
            state.warmup_since = None
            _warm_up(state, described, now)
        return
    learner.warmup_blocks = acceptance.warmup.take()
    state.emit(start_warmup(learner.warmup_blocks, described.seating))


def warmup_deadline(state: CollectionState) -> float | None:
    """When the warm-up ends with whatever was played; None where none is under way.

    Not in `sync`, which repeats exactly whatever the speed of the machine, unless visitors alone play.
    """
    learner = state.learner
    is_played = learner.phase == "warmup" and learner.warmup_blocks is None
    is_exact = state.config.settings.schedule == "sync" and state.fleet.has_own_workers
    if state.warmup_since is None or not is_played or is_exact:
        return None
    return state.warmup_since + MAX_WARMUP_SECONDS


def start_warmup(blocks: list[AcceptedBlock], seating: Seating) -> SendToLearner:
    """What tells the learner of this random play."""
    rows = sorted_rows(blocks).tolist() if blocks else []
    shares = rows_of_policies(blocks, seating) if len(seating.policy_ids) > 1 else {}
    by_policy = {policy_id: list(share) for policy_id, share in shares.items()}
    return SendToLearner(Warmup(rows=rows, rows_by_policy=by_policy))


def _start_update(state: CollectionState, described: Described, now: float) -> None:
    learner, schedule = state.learner, described.schedule
    if learner.phase != "idle" or state.paused or state.evaluation is not None:
        return
    if not schedule.may_start(state.progress(described)):
        return
    pool = described.acceptance.pool
    # A sealed batch goes first; whether a lease ended with the next one full is still to be remembered.
    state.boundary = state.boundary and pool.num_sealed > 0
    blocks = pool.take()
    trained_on(state, blocks)
    batch = close_batch(
        blocks,
        batch_id=state.next_batch,
        version=learner.version,
        secret=state.config.secret,
        seating=described.seating,
    )
    state.next_batch += 1
    if not described.counts_at_arrival:
        state.count_episodes(blocks, episodes_in_order(blocks, described.config.num_learning))
    state.emit(SendToLearner(learner.begin(batch)))
    schedule.batch_closed()
    _lapse_too_old(state, described, now)


def _seal_batch(state: CollectionState, described: Described, now: float) -> None:
    """`async`: a full pool waits as a batch of its own, and what comes fills the next."""
    if described.schedule.may_seal(state.progress(described)):
        described.acceptance.pool.seal()
        state.boundary = False
        report_waiting(state, described)
        _lapse_too_old(state, described, now)


def report_waiting(state: CollectionState, described: Described) -> None:
    """Tell the learner that a full batch waits for the end of its update."""
    batch = state.learner.batch
    if state.learner.phase == "busy" and batch is not None and described.acceptance.pool.num_sealed > 0:
        state.emit(SendToLearner(Awaited(batch_id=batch.batch_id)))


def _lapse_too_old(state: CollectionState, described: Described, now: float) -> None:
    # Leases too old for the batch now filling would only be refused: begin again at once.
    fresh = state.fresh(described)
    for lease in list(state.book):
        # The first block of a worker that has never played shows that it can, however old it is.
        if lease.purpose == "train" and lease.is_awaited and lease.remaining and lease.version not in fresh:
            reason = f"too old: version {lease.version}, the next update uses {fresh.lowest} up"
            state.lapse(lease, reason, now)


def _publish(state: CollectionState, described: Described, now: float) -> None:
    """Everybody gets the newest version, or the one evaluated; one unacknowledged at a time, latest wins."""
    version = state.learner.public if state.evaluation is None else state.evaluation.version
    if version != state.announced:
        state.announced = version
        if described.schedule.waits_for_sessions and state.fleet.hosts_of_several():
            state.sessions_due = now + SESSION_SECONDS
            state.emit(WakeAfter(SESSION_SECONDS))
        state.to_publish.update(worker.worker_id for worker in state.fleet.connected())
    touched = [state.fleet.by_id(worker_id) for worker_id in sorted(state.to_publish)]
    state.to_publish.clear()
    for worker in touched:
        if worker.sent_version == version or not (worker.is_connected and worker.acknowledged):
            continue
        plays = [lease for lease in worker.leases if lease.purpose not in ("warmup", "replay")]
        held = {lease.version for lease in plays} - {version}
        if len(held) < MAX_VERSIONS_HELD:
            state.send_policy(worker, version, now)


def _evaluate(state: CollectionState, described: Described, now: float) -> None:
    """The evaluation's waiting episodes go to workers of the admin's own.

    Only where there is none at all do strangers play them, and then nothing is confirmed by it.
    """
    evaluation = state.evaluation
    if evaluation is None or not state.start_barrier.is_open:
        return
    workers = state.fleet.present()
    if state.fleet.has_own_workers:
        workers = [worker for worker in workers if worker.tier == "local"]
    able = [worker for worker in workers if worker.sent_version == evaluation.version]
    for worker in able:
        if not evaluation.waiting:
            return
        if len(worker.leases) < 2 and not any(lease.purpose == "evaluate" for lease in worker.leases):
            episodes = tuple(evaluation.next_share(len(workers)))
            evaluation.confirmed = evaluation.confirmed and worker.tier == "local"
            state.issue(described, worker, "evaluate", now, evaluation=evaluation, episodes=episodes)


def _order_replays(state: CollectionState, described: Described, now: float) -> None:
    """What waits is played again by workers of the admin's own; without one nothing is audited."""
    audit = described.audit
    if not state.fleet.has_guests:
        return
    report_what_is_off(state, described)
    if audit.off is not None:
        return
    able = [worker for worker in state.fleet.connected() if worker.tier == "local"]
    if not able and (audit.is_able or (audit.standings and not audit.is_missed)):
        state.note("audit", "what visitors play is not verified while no browser of your own is connected")
        audit.is_missed = True
        audit.give_up()
    audit.is_able = bool(able)
    settle(state, described, now)
    for worker in sorted(able, key=lambda candidate: (len(candidate.leases), candidate.worker_id)):
        if not audit.waiting:
            return
        if not worker.present or any(lease.purpose == "replay" for lease in worker.leases):
            continue
        items = audit.next_orders()
        if items:
            replays = tuple(item.order for item in items)
            lease = state.issue(described, worker, "replay", now, num_segments=len(items), replays=replays)
            audit.leased(lease.lease_id, items)
    settle(state, described, now)


def _issue_leases(state: CollectionState, described: Described, now: float) -> None:
    if state.paused or state.evaluation is not None or state.learner.phase == "absent":
        return
    if not state.takers:
        return
    if described.schedule.waits_for_returning and state.fleet.is_somebody_returning(now):
        return
    progress = state.progress(described)

    def takers() -> list[Worker]:
        found = [worker for worker in _takers(state) if state.fleet.is_awaited(worker)]
        if now < state.sessions_due:
            # They share their cores: who played now would keep the others from their sessions.
            making = {
                worker.host.host_id for worker in found if not worker.acknowledged and not worker.leases
            }
            making &= state.fleet.hosts_of_several()
            found = [worker for worker in found if worker.host.host_id not in making]
        return found

    for order in described.schedule.orders(progress, state.fleet.awaited(), takers):
        slots = _num_learning(described, order.worker)
        room = described.acceptance.rows.available // slots
        if room < 1:
            return
        num_segments = min(order.num_segments, room)
        state.issue(described, order.worker, "train", now, num_segments=num_segments)
        progress.promise(num_segments * slots)
    _issue_first_leases(state, described, now)


def _issue_first_leases(state: CollectionState, described: Described, now: float) -> None:
    """One lease for each worker that batches do not wait for yet: its first block changes that (rule C3)."""
    fresh = state.fresh(described)
    for worker in _takers(state):
        if state.fleet.is_awaited(worker) or worker.leases or worker.sent_version not in fresh:
            continue
        room = described.acceptance.rows.available // _num_learning(described, worker)
        if room >= 1:
            num_segments = min(state.config.rollout_segments, room)
            state.issue(described, worker, "train", now, num_segments=num_segments)


def _takers(state: CollectionState) -> list[Worker]:
    return [worker for taker in sorted(state.takers) if (worker := state.fleet.by_id(taker)).present]


def _num_slots(described: Described, worker: Worker) -> int:
    return len(worker.instance_ids) * described.description.num_agents


def _num_learning(described: Described, worker: Worker) -> int:
    """Slots of a training lease whose segments come: a guest learns for all seats."""
    slots = _num_slots(described, worker)
    return slots if worker.tier != "local" else len(worker.instance_ids) * described.config.num_learning
