"""The audit part of the collection core: blocks that wait, workers that play again, effects of a verdict."""

from collections.abc import Sequence
from typing import Final

from attract.collection.acceptance import Acceptance
from attract.collection.audit_segments import Caught
from attract.collection.batches import AcceptedBlock
from attract.collection.effects import ForgerCaught, Verdict
from attract.collection.fleet import Worker
from attract.collection.judging import leave_out
from attract.collection.leases import Lease
from attract.collection.state import CollectionState, Described
from attract.schema.api import CheckFinding
from attract.schema.messages import Block

NOT_REPRODUCIBLE: Final = frozenset(
    {
        "not-reproducible",
        "needs-turns",
        "state-survives-start",
        "random",
        "clock",
        "timer",
        "network",
        "storage",
    }
)
"""Findings of `attract check` after which a replay proves nothing."""
OUT_OF_BOUNDS: Final = "out-of-bounds"
MAX_GUESTS: Final = 4096
"""Guests whose first trained version is remembered."""


def must_wait(described: Described, worker: Worker, block: Block) -> bool:
    """Whether a block may not train before it was audited: those of guests that are not proven yet."""
    if worker.tier == "local" or described.acceptance.is_record(block.lease_id):
        return False
    return described.audit.must_wait(worker.identity)


def follow(
    state: CollectionState,
    described: Described,
    worker: Worker,
    block: Block,
    waiting: AcceptedBlock | None,
) -> None:
    """Let the audit see an accepted block of a training lease; `waiting`: it waits for its verdict."""
    audit, lease = described.audit, state.book.get(block.lease_id)
    if lease is None or lease.purpose != "train" or audit.off is not None:
        return
    if worker.tier != "local":
        audit.take(worker.identity, worker.worker_id, block, waiting, lease.lesson)
    elif audit.wants_control and state.fleet.has_guests:
        only = worker.instance_ids.start
        audit.take(worker.identity, worker.worker_id, block, None, lease.lesson, only=only)


def closed(state: CollectionState, worker: Worker, lease: Lease) -> None:
    """A guest says that all of a training lease was sent: what is missing was withheld.

    Blocks come in order and are sent again after a broken socket: of an honest guest only refused ones are
    missing. A guest that withholds segments biases training, though each segment may be true.
    """
    if worker.tier == "local" or lease.purpose != "train" or not lease.remaining or lease.had_refusals:
        return
    described = state.require_described()
    described.audit.withheld(worker.identity, worker.worker_id)


def outside(state: CollectionState, described: Described, worker: Worker, verdict: Verdict) -> None:
    """A guest's block was refused for numbers outside of the game's boxes.

    That is no proof, since a game may break its own boxes where it was not noticed yet: what the guest plays
    waits for its verdicts again, which tell the two cases apart.
    """
    described.audit.distrust(worker.identity)
    if worker.identity not in described.bounds.refused:
        described.bounds.refused.add(worker.identity)
        text = f"results of the visitor {worker.identity} were refused: {verdict.reason}"
        state.note("bounds", f"{text}; if the game itself does that, `attract check` says where")


def believe_check(
    state: CollectionState, described: Described, findings: Sequence[CheckFinding], now: float
) -> None:
    """Switch the audit or the boxes off before training, where a finding of `attract check` says so."""
    for finding in findings:
        if finding.id in NOT_REPRODUCIBLE:
            described.audit.switch_off(
                f"`attract check` found that the game cannot be replayed: {finding.text}"
            )
        elif finding.id == OUT_OF_BOUNDS and described.bounds.off is None:
            described.bounds.off = f"`attract check` found that {finding.text}"
    settle(state, described, now)


def _report_what_is_off(state: CollectionState, described: Described) -> None:
    audit, bounds = described.audit, described.bounds
    if audit.off is not None and not audit.is_off_reported:
        audit.is_off_reported = True
        state.note("audit", f"what visitors play is not verified: {audit.off}")
    if bounds.off is not None and not bounds.is_off_reported:
        bounds.is_off_reported = True
        state.note("bounds", f"visitors' observations are not held to their bounds: {bounds.off}")


def order_replays(state: CollectionState, described: Described, now: float) -> None:
    """What waits is played again by workers of the admin's own; without one nothing is audited."""
    audit = described.audit
    if state.fleet.has_guests:
        _report_what_is_off(state, described)
    if audit.off is not None or not state.fleet.has_guests:
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


def settle(state: CollectionState, described: Described, now: float) -> None:
    """Do what the audit's verdicts since the last call mean."""
    audit = described.audit
    if not (audit.passed or audit.lost or audit.caught or audit.notes):
        return
    passed, audit.passed = audit.passed, []
    lost, audit.lost = audit.lost, []
    caught, audit.caught = audit.caught, []
    notes, audit.notes = audit.notes, []
    described.acceptance.num_refused += len(lost)
    for block in lost:
        described.acceptance.refuse(block)
    for block in passed:
        _admit(state, described, described.acceptance, block)
    for forger in caught:
        why = state.conduct.leave_out(forger.identity, f"C10: {forger.what}", now, is_final=True)
        leave_out(state, forger.identity, why, now)
        first = state.first_versions.get(forger.identity)
        state.emit(ForgerCaught(forger.identity, forger.worker_id, forger.what, first))
        state.note(
            "audit", _exclusion_text(state, forger, first), None if first is None else max(0, first - 1)
        )
    for text in notes:
        state.note("audit", text)


def trained_on(state: CollectionState, blocks: list[AcceptedBlock]) -> None:
    """These blocks are the next update's: remember from which version on a guest's share is in the policy."""
    known = state.first_versions
    for block in blocks:
        if not block.local and len(known) < MAX_GUESTS:
            known.setdefault(state.fleet.by_id(block.worker_id).identity, state.learner.version + 1)


def _exclusion_text(state: CollectionState, caught: Caught, first_version: int | None) -> str:
    text = f"C10: the visitor {caught.identity} (worker {caught.worker_id}) is banned: {caught.what}"
    if first_version is None:
        return f"{text}; none of its results were used"
    before, run_id = max(0, first_version - 1), state.config.run_id
    return (
        f"{text}; its results were used from version {first_version} on: stop the run, and "
        f"`attract rollback {run_id} --to-version {before}` returns to the version before"
    )


def _admit(
    state: CollectionState, described: Described, acceptance: Acceptance, block: AcceptedBlock
) -> None:
    if not acceptance.admit(block, state.fresh(described)):
        acceptance.num_refused += 1
        return
    if described.counts_at_arrival:
        state.count_episodes([block], block.episodes)
    # Its lease may be over: then this is the boundary that it would have been.
    if state.book.get(block.lease_id) is None and state.is_full(described):
        state.boundary = True
