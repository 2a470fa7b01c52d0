"""The collection core: takes inputs of sockets, learner and run, and returns effects; no I/O, no clock."""

from collections.abc import Callable
from typing import Concatenate, ParamSpec

from attract.collection import trust_handlers
from attract.collection.acceptance import num_valid
from attract.collection.beginning import beginning_of
from attract.collection.config import CollectionConfig
from attract.collection.effects import Effect, Verdict
from attract.collection.fleet import Host, Worker
from attract.collection.leases import GRACE_SECONDS, SILENCE_SECONDS
from attract.collection.message_handlers import check_run, describe_deadline, touch_last_seen
from attract.collection.planning import plan, warmup_deadline
from attract.collection.standing import Standing, standing_of
from attract.collection.state import CollectionState
from attract.schema.api import BeginningView, FleetView
from attract.schema.episodes import check_names
from attract.schema.frames import malformed
from attract.schema.game import GameDescription
from attract.schema.learner import Counters
from attract.schema.messages import Block, BlockAck, Observe

P = ParamSpec("P")
Input = Callable[Concatenate[CollectionState, float, P], None]
"""Of the state, the time and what came: a function of `inputs`, `message_handlers`, `learner_handlers` or
`trust_handlers`.
"""


class CollectionCore:
    """Decides who plays what, which segments count and when an update begins; one per run.

    Owned by the gateway's run service and called from its event loop alone. `now` is monotonic seconds that
    never go back. Blocks come in two steps: `offer_block`, then `decide_block` once their rows are written or
    if refused, or `withdraw_block`.
    """

    def __init__(self, config: CollectionConfig) -> None:
        self._state = CollectionState(config)

    # --- views ---

    @property
    def config(self) -> CollectionConfig:
        """What decides how the run collects; fitted to the game once that is known."""
        return self._state.config

    @property
    def description(self) -> GameDescription | None:
        """The game's description, once a host loaded it."""
        return None if self._state.described is None else self._state.described.description

    @property
    def counters(self) -> Counters:
        """Rule T4's counters now."""
        return self._state.learner.counters.snapshot()

    @property
    def policy_version(self) -> int:
        """The newest version announced; -1 before the first."""
        return self._state.learner.public

    @property
    def updating(self) -> bool:
        """Whether the learner has a batch whose outcome is not known."""
        return self._state.learner.batch is not None

    @property
    def paused(self) -> bool:
        """Whether the run is paused, by `pause` or by rule C7."""
        return self._state.paused

    @property
    def first_versions(self) -> dict[str, int]:
        """By guest, the first version that was trained on a segment of it; checkpoints keep it (rule C10)."""
        return self._state.first_versions

    def fleet_view(self, now: float) -> FleetView:
        """The fleet as the dashboard shows it."""
        state = self._state
        refused = state.described.acceptance.num_refused if state.described else 0
        return state.fleet.view(
            now,
            leases_open=len(state.book),
            leases_lapsed=state.book.num_lapsed,
            blocks_refused=refused,
            conduct=state.conduct,
        )

    def beginning(self, now: float) -> BeginningView | None:
        """What is done before the first update of this session; None from then on."""
        return beginning_of(self._state, now)

    @property
    def evaluated(self) -> tuple[int, int] | None:
        """Finished and all episodes of the current evaluation; None while there is none."""
        evaluations = self._state.evaluations
        return (evaluations[0].num_done, evaluations[0].num_episodes) if evaluations else None

    def standing(self) -> Standing:
        """Workers, leases, blocks, rows and versions in numbers."""
        return standing_of(self._state)

    def next_deadline(self) -> float | None:
        """When the next `Tick` is due at the latest, in seconds; None: never."""
        state = self._state
        if state.stopped:
            return None
        # No worker is admitted before the game is known.
        barrier = None if state.described is None else state.start_barrier.deadline(state.fleet)
        times = [barrier, describe_deadline(state), warmup_deadline(state)]
        for worker in state.fleet.workers.values():
            if worker.disconnected_at is not None and not worker.away:
                times.append(worker.disconnected_at + GRACE_SECONDS)
            if worker.present and not worker.acknowledged:
                times.append(worker.policy_sent_at + SILENCE_SECONDS)
            times.append(state.deadline(worker))
        times.append(state.conduct.next_return())
        return min((time for time in times if time is not None), default=None)

    def is_describing(self, connection_id: int) -> bool:
        """Whether this host of the admin's own was asked to describe the game and has not answered yet."""
        state = self._state
        host = state.fleet.of(connection_id)
        return state.describing == connection_id and isinstance(host, Host) and host.tier == "local"

    def handle(self, take: Input[P], now: float, *args: P.args, **kwargs: P.kwargs) -> list[Effect]:
        """What is to be done after an input, in order. Raises: as the input says."""
        take(self._state, now, *args, **kwargs)
        plan(self._state, now)
        return self._state.take_effects()

    # --- what is heard without any effect ---

    def asked(self, connection_id: int, now: float) -> None:
        """Central inference: a worker was sent an act, and it is its turn (rule C3)."""
        worker = self._state.fleet.of(connection_id)
        if isinstance(worker, Worker):
            worker.owed += 1
            if worker.owed == 1 and worker.leases:
                worker.leases[0].last_seen_at = now

    def answered(self, connection_id: int, observe: Observe, now: float) -> None:
        """Central inference: a worker answered an act; it may be the server's turn now.

        Raises: ProtocolError: when its episodes tell of what the game does not declare.
        """
        if observe.outcome is not None and observe.outcome.episodes:
            description = self._state.require_described().description
            for episode in observe.outcome.episodes:
                check_names(episode, description)
        worker = self._state.fleet.of(connection_id)
        if isinstance(worker, Worker):
            worker.owed = max(0, worker.owed - 1)
            worker.last_seen = now
            if worker.leases:
                worker.leases[0].last_seen_at = now

    def offer_block(
        self, connection_id: int, block: Block, now: float, *, was_deflated: bool = False
    ) -> Verdict:
        """Whether a block that `check_block` passed counts, and which rows it gets.

        `was_deflated`: whether its pictures came so, which the fleet shows.

        Raises: ProtocolError: when its slots, segment or version are not those of its open lease, or it comes
            from no worker of this run.
        """
        worker, described = self._state.fleet.of(connection_id), self._state.described
        if not isinstance(worker, Worker) or not worker.admitted or described is None:
            raise malformed("block: not from a worker that was admitted", fix="say hello as a worker first")
        check_run(self._state, block.run_id)
        touch_last_seen(self._state, worker, now)
        worker.deflates = was_deflated
        lease = self._state.lease_of(worker, block.lease_id)
        if lease is not None and lease.purpose == "replay":
            self._state.book.block_came(lease, now)
            return Verdict(False, None, worker.worker_id)
        acceptance = described.acceptance
        check_names(block.episodes, described.description)
        verdict = acceptance.offer(worker, block, self._state.fresh(described))
        if verdict.reason != "duplicate" and not acceptance.is_record(block.lease_id):
            steps, counters = num_valid(block), self._state.learner.counters
            counters.collected_steps += steps
            counters.ticks += acceptance.num_ticks(block)
            worker.collected_steps += steps
            worker.rate.add(steps, now)
        lease = self._state.lease_of(worker, block.lease_id)
        if lease is not None and verdict.accepted:
            self._state.book.block_came(lease, now)
            self._state.fleet.set_played(worker)
            self._state.conduct.played(worker.identity, now)
        return verdict

    def withdraw_block(self, block: Block, verdict: Verdict) -> None:
        """Undo an offer that will not be committed: the rows could not be written."""
        self._state.require_described().acceptance.withdraw(block, verdict)

    def decide_block(self, connection_id: int, block: Block, verdict: Verdict, now: float) -> list[Effect]:
        """Count a block whose rows are written, and acknowledge it, or its refusal; what is to be done."""
        state = self._state
        described = state.require_described()
        acceptance, reason = described.acceptance, verdict.reason
        if verdict.accepted:
            worker = state.fleet.by_id(verdict.worker_id)
            is_counted = not acceptance.is_record(block.lease_id)
            waits = worker.tier != "local" and is_counted and described.audit.must_wait(worker.identity)
            local = worker.tier == "local"
            fresh = state.fresh(described)
            accepted = acceptance.commit(block, verdict, fresh, local=local, waits=waits)
            if accepted is None:
                reason = "too old: an update began while it was written"
            elif described.counts_at_arrival and not waits and is_counted:
                state.count_episodes([accepted], accepted.episodes)
            trust_handlers.follow(state, described, worker, block, accepted if waits else None)
        elif verdict.reason is None:
            described.audit.answer(block)
        trust_handlers.settle(state, described, now)
        if verdict.is_outside:
            trust_handlers.outside(state, described, verdict)
        if reason is not None:
            acceptance.num_refused += 1
            lease = state.book.get(block.lease_id)
            if lease is not None:
                lease.had_refusals = True
                is_own = lease.worker_id == verdict.worker_id and not verdict.is_outside
                if is_own and not lease.is_awaited:
                    # Too old: updates did not wait for it. It shows that its worker plays.
                    state.fleet.set_played(state.fleet.by_id(lease.worker_id))
                    state.lapse(lease, reason, now)
        ack = BlockAck(
            run_id=state.config.run_id,
            lease_id=block.lease_id,
            block_index=block.block_index,
            accepted=reason is None,
            reason=reason,
        )
        state.send(connection_id, ack)
        if verdict.rows is None and reason is None:
            plan(state, now)
        return state.take_effects()
