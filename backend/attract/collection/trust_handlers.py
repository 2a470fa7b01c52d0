"""Handlers of the collection core for what its trust finds: a block trains, a browser is banned (C7, C10)."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from attract.collection.batches import AcceptedBlock, ClosedBatch, counted
from attract.collection.effects import ForgerCaught, Unconfirmed, Verdict
from attract.collection.fleet import Worker
from attract.collection.leases import Lease
from attract.collection.state import CollectionState, Described
from attract.schema.api import CheckFinding
from attract.schema.learner import RejectedRow
from attract.schema.messages import Block

MAX_NAMED: Final = 4
"""A note names at most so many workers of a banned browser; of more it gives the number."""
MAX_UNCONFIRMED_UPDATES: Final = 3
"""After so many updates in a row in which every segment looked at was refused the run pauses."""
NOT_REPRODUCIBLE: Final = frozenset(
    {"not-reproducible", "needs-turns", "state-survives-start"}
    | {"random", "clock", "timer", "network", "storage"}
)
"""Findings of `attract check` after which a replay proves nothing."""
OUT_OF_BOUNDS: Final = "out-of-bounds"
MAX_GUESTS: Final = 4096
"""Guests whose first trained version is remembered."""


def follow(
    state: CollectionState, described: Described, worker: Worker, block: Block, waiting: AcceptedBlock | None
) -> None:
    """Let the audit see an accepted block of a training lease; `waiting`: it waits for its verdict."""
    audit, lease = described.audit, state.book.get(block.lease_id)
    if lease is None or lease.purpose != "train":
        return
    if worker.tier != "local":
        audit.take(worker.identity, worker.worker_id, block, waiting, lease.lesson)
    elif audit.wants_control and state.fleet.has_guests:
        only = worker.instance_ids.start
        audit.take(worker.identity, worker.worker_id, block, None, lease.lesson, only=only)


def settle(state: CollectionState, described: Described, now: float) -> None:
    """Apply the audit's verdicts since the last call."""
    audit, acceptance = described.audit, described.acceptance
    if not (audit.passed or audit.lost or audit.caught or audit.notes):
        return
    passed, lost, caught, notes = audit.passed, audit.lost, audit.caught, audit.notes
    audit.passed, audit.lost, audit.caught, audit.notes = [], [], [], []
    acceptance.num_refused += len(lost)
    state.free_blocks(lost)
    for block in passed:
        _pool(state, described, block)
    for forger in caught:
        _exclude(state, forger, now)
    for text in notes:
        state.note("audit", text)


def _pool(state: CollectionState, described: Described, block: AcceptedBlock) -> None:
    """A block that waited for its verdict may train."""
    if not described.acceptance.admit(block, state.fresh(described)):
        described.acceptance.num_refused += 1
        return
    if described.counts_at_arrival:
        state.count_episodes([block], counted(block, described.config.num_learning))
    # Its lease may be over: then this is the boundary that it would have been.
    if state.book.get(block.lease_id) is None and state.is_full(described):
        state.boundary = True


def _exclude(state: CollectionState, caught: ForgerCaught, now: float) -> None:
    why = state.conduct.leave_out(caught.identity, f"C10: {caught.what}", now, is_final=True)
    leave_out(state, caught.identity, why, now)
    first = state.first_versions.get(caught.identity)
    played = (
        worker.episodes for worker in state.fleet.workers.values() if worker.identity == caught.identity
    )
    state.emit(replace(caught, has_counted=first is not None or any(played)))
    text = f"C10: the visitor {caught.identity} (worker {caught.worker_id}) is banned: {caught.what}"
    if first is None:
        state.note("audit", f"{text}; none of its results were used")
        return
    before = max(0, first - 1)
    state.note(
        "audit",
        f"{text}; its results were used from version {first} on: stop the run, and "
        f"`attract rollback {state.config.run_id} --to-version {before}` returns to the version before",
        before,
    )


def trained_on(state: CollectionState, blocks: list[AcceptedBlock]) -> None:
    """The next update trains these blocks: remember the first version with a share of each guest."""
    known = state.first_versions
    for block in blocks:
        if not block.local and len(known) < MAX_GUESTS:
            known.setdefault(state.fleet.by_id(block.worker_id).identity, state.learner.version + 1)


def closed(state: CollectionState, worker: Worker, lease: Lease) -> None:
    """A guest says that all of a training lease was sent: what is missing was withheld.

    Blocks come in order and are sent again after a broken socket: of an honest guest only refused ones are
    missing. A guest that withholds segments biases training, though each segment may be true.
    """
    if worker.tier == "local" or lease.purpose != "train" or not lease.remaining or lease.had_refusals:
        return
    state.require_described().audit.withheld(worker.identity, worker.worker_id)


def outside(state: CollectionState, described: Described, verdict: Verdict) -> None:
    """A guest's block was refused for numbers outside of the game's boxes.

    That is no proof, since a game may break its own boxes where it was not noticed yet: what the guest plays
    waits for its verdicts again, which tell the two cases apart.
    """
    identity = state.fleet.by_id(verdict.worker_id).identity
    described.audit.distrust(identity)
    if identity not in described.bounds.refused:
        described.bounds.refused.add(identity)
        text = f"results of the visitor {identity} were refused: {verdict.reason}"
        state.note("bounds", f"{text}; if the game itself does that, `attract check` says where")


def game_checked(state: CollectionState, now: float, findings: Sequence[CheckFinding]) -> None:
    """A browser of the admin's own has checked the game.

    Some findings switch off the audit or the boxes, before an honest guest can suffer from them.
    """
    described = state.described
    if described is None:
        return
    for finding in findings:
        if finding.id in NOT_REPRODUCIBLE:
            described.audit.switch_off(
                f"`attract check` found that the game cannot be replayed: {finding.text}"
            )
        elif finding.id == OUT_OF_BOUNDS and described.bounds.off is None:
            described.bounds.off = f"`attract check` found that {finding.text}"
    settle(state, described, now)


def report_what_is_off(state: CollectionState, described: Described) -> None:
    """Note once which checks of guests do not take place."""
    for kind, check, what in (
        ("audit", described.audit, "what visitors play is not verified"),
        ("bounds", described.bounds, "visitors' observations are not held to their bounds"),
    ):
        if check.off is not None and not check.is_off_reported:
            check.is_off_reported = True
            state.note(kind, f"{what}: {check.off}")


def judge_update(state: CollectionState, batch: ClosedBatch, rejected: list[RejectedRow], now: float) -> None:
    """An update is done: who was wrong in it.

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


def leave_out(state: CollectionState, identity: str, reason: str | None, now: float) -> None:
    """An identity gets no leases from now on: those it has lapse, what no update has yet is dropped.

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


def message_wrong(state: CollectionState, now: float, connection_id: int, what: str) -> None:
    """A worker sent something impossible, so its socket is closed: this counts against its identity.

    Its earlier replays are no longer trusted.
    """
    worker = state.fleet.of(connection_id)
    if isinstance(worker, Worker):
        if state.described is not None:
            state.described.audit.distrust(worker.identity)
        leave_out(state, worker.identity, state.conduct.wrong_message(worker.identity, now, what), now)


def frame_unreadable(state: CollectionState, now: float, connection_id: int, what: str) -> None:
    """A host or a worker sent an unreadable frame: this counts against its identity."""
    who = state.fleet.of(connection_id)
    if who is not None:
        leave_out(state, who.identity, state.conduct.unreadable_message(who.identity, now, what), now)


def let_in(state: CollectionState, now: float, identity: str) -> None:
    """Lift a ban by hand. Raises: KeyError: there is none."""
    if state.conduct.reason(identity) is None:
        raise KeyError(identity)
    state.conduct.release(identity)
    state.fleet.look_at_conduct(state.conduct, now)
    state.note("conduct", f"the ban of the browser {identity} is lifted by an admin")
    if state.described is not None:
        state.described.audit.standings.pop(identity, None)
