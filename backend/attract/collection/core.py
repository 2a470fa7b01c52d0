"""The collection core: takes inputs of sockets, learner and run, and returns effects; no I/O, no clock."""

from collections.abc import Callable
from typing import Concatenate, ParamSpec

from attract.collection import trust_handlers
from attract.collection.acceptance import num_valid
from attract.collection.batches import counted
from attract.collection.effects import Effect, Verdict
from attract.collection.fleet import Host, Worker
from attract.collection.leases import GRACE_SECONDS, SILENCE_SECONDS
from attract.collection.message_handlers import check_run, describe_deadline, touch_last_seen
from attract.collection.opponents import Opponents
from attract.collection.planning import plan, warmup_deadline
from attract.collection.state import CollectionState
from attract.schema.api import FleetView
from attract.schema.episodes import check_names
from attract.schema.frames import malformed
from attract.schema.learner import Counters
from attract.schema.messages import Ask, Block, BlockAck, Observe

P = ParamSpec("P")
Input = Callable[Concatenate[CollectionState, float, P], None]
"""Of the state, the time and what came: a function of `inputs`, `message_handlers`, `learner_handlers` or
`trust_handlers`.
"""


class CollectionCore(CollectionState):
    """Decides who plays what, which segments count and when an update begins; one per run.

    Owned by the run core, on the gateway's event loop; its state is changed by this package alone. `now` is
    monotonic seconds that never go back. Blocks come in two steps: `offer_block`, then `decide_block` once
    their rows are written or if refused, or `withdraw_block`.
    """

    # --- views ---

    @property
    def counters(self) -> Counters:
        """Rule T4's counters now."""
        return self.learner.counters.snapshot()

    @property
    def opponents(self) -> Opponents | None:
        """Who plays against the policy; None before the game is known."""
        return None if self.described is None else self.described.opponents

    def fleet_view(self, now: float) -> FleetView:
        """The fleet as the dashboard shows it."""
        refused = self.described.acceptance.num_refused if self.described else 0
        return self.fleet.view(
            now,
            leases_open=len(self.book),
            leases_lapsed=self.book.num_lapsed,
            blocks_refused=refused,
            conduct=self.conduct,
        )

    @property
    def evaluated(self) -> tuple[int, int] | None:
        """Finished and all episodes of the current evaluation; None while there is none."""
        current = self.evaluation
        return None if current is None else (current.num_done, current.num_episodes)

    def next_deadline(self) -> float | None:
        """When the next `Tick` is due at the latest, in seconds; None: never."""
        if self.stopped:
            return None
        # No worker is admitted before the game is known.
        barrier = None if self.described is None else self.start_barrier.deadline(self.fleet)
        times = [barrier, describe_deadline(self), warmup_deadline(self)]
        for worker in self.fleet.workers.values():
            if worker.disconnected_at is not None and not worker.away:
                times.append(worker.disconnected_at + GRACE_SECONDS)
            if worker.present and not worker.acknowledged:
                times.append(worker.policy_sent_at + SILENCE_SECONDS)
            times.append(self.deadline(worker))
        times.append(self.conduct.next_return())
        return min((time for time in times if time is not None), default=None)

    def is_describing(self, connection_id: int) -> bool:
        """Whether this host of the admin's own was asked to describe the game and has not answered yet."""
        host = self.fleet.of(connection_id)
        return self.describing == connection_id and isinstance(host, Host) and host.tier == "local"

    def handle(self, handler: Input[P], now: float, *args: P.args, **kwargs: P.kwargs) -> list[Effect]:
        """What is to be done after an input, in order. Raises: as the input says."""
        handler(self, now, *args, **kwargs)
        plan(self, now)
        return self.take_effects()

    # --- what is heard without any effect ---

    def asked(self, connection_id: int, now: float) -> None:
        """Central inference: a worker was sent an act, and it is its turn (rule C3)."""
        worker = self.fleet.of(connection_id)
        if isinstance(worker, Worker):
            worker.owed += 1
            if worker.owed == 1 and worker.leases:
                worker.leases[0].last_seen_at = now

    def answered(self, connection_id: int, observe: Observe, now: float) -> None:
        """Central inference: a worker answered an act; it may be the server's turn now.

        Raises: ProtocolError: when its episodes tell of what the game does not declare.
        """
        if observe.outcome is not None and observe.outcome.episodes:
            description = self.require_described().description
            for episode in observe.outcome.episodes:
                check_names(episode, description)
        worker = self.fleet.of(connection_id)
        if isinstance(worker, Worker):
            worker.owed = max(0, worker.owed - 1)
            worker.last_seen = now
            if worker.leases:
                worker.leases[0].last_seen_at = now

    def asked_outside(self, connection_id: int, ask: Ask, now: float) -> bool:
        """A worker asks what a program outside does; False: its lease is over.

        While that program thinks, the lease stands still (rule C3).

        Raises: ProtocolError: a worker may not ask that.
        """
        worker = self.fleet.of(connection_id)
        if not isinstance(worker, Worker) or worker.tier != "local":
            raise malformed("ask: not from a worker of this machine's own", fix="play what is in the lease")
        lease = self.lease_of(worker, ask.order_id)
        if lease is None:
            return False
        seats = () if lease.seats is None else lease.seats.seats
        if not any(seat.script == "outside" and seat.policy_id == ask.policy_id for seat in seats):
            raise malformed(f"ask.policy_id: {ask.policy_id!r}", fix="ask who plays a seat of the lease")
        if lease.asked_at is not None:
            raise malformed("ask: another is open", fix="wait for its answer")
        # An evaluation has games of its own, one for each episode at most.
        slots = max(lease.num_slots, len(lease.episodes) * self.require_described().description.num_agents)
        if len(ask.agent) > slots:
            raise malformed(f"ask.agent: {len(ask.agent)}", fix=f"the lease has {slots} slots")
        lease.asked_at = now
        return True

    def answered_outside(self, connection_id: int, ask: Ask, now: float) -> None:
        """What a worker asked is answered: its lease goes on, if it is still open."""
        worker = self.fleet.of(connection_id)
        lease = self.lease_of(worker, ask.order_id) if isinstance(worker, Worker) else None
        if lease is not None and lease.asked_at is not None:
            lease.last_seen_at = now
            lease.block_at += now - lease.asked_at
            lease.asked_at = None

    def offer_block(
        self, connection_id: int, block: Block, now: float, *, was_deflated: bool = False
    ) -> Verdict:
        """Whether a block that `check_block` passed counts, and which rows it gets.

        `was_deflated`: whether its pictures came so, which the fleet shows.

        Raises: ProtocolError: when its slots, segment or version are not those of its open lease, or it comes
            from no worker of this run.
        """
        worker, described = self.fleet.of(connection_id), self.described
        if not isinstance(worker, Worker) or not worker.admitted or described is None:
            raise malformed("block: not from a worker that was admitted", fix="say hello as a worker first")
        check_run(self, block.run_id)
        touch_last_seen(self, worker, now)
        worker.deflates = was_deflated
        lease = self.lease_of(worker, block.lease_id)
        if lease is not None and lease.purpose == "replay":
            self.book.block_came(lease, now)
            return Verdict(False, None, worker.worker_id)
        acceptance = described.acceptance
        check_names(block.episodes, described.description)
        verdict = acceptance.offer(worker, block, self.fresh(described))
        if verdict.reason != "duplicate" and not acceptance.is_record(block.lease_id):
            steps, counters = num_valid(block), self.learner.counters
            counters.collected_steps += steps
            counters.ticks += acceptance.num_ticks(block)
            worker.collected_steps += steps
            worker.rate.add(steps, now)
        lease = self.lease_of(worker, block.lease_id)
        if lease is not None and verdict.accepted:
            self.book.block_came(lease, now)
            self.fleet.set_played(worker)
            self.conduct.played(worker.identity, now)
        return verdict

    def withdraw_block(self, block: Block, verdict: Verdict) -> None:
        """Undo an offer that will not be committed: the rows could not be written."""
        self.require_described().acceptance.withdraw(block, verdict)

    def decide_block(self, connection_id: int, block: Block, verdict: Verdict, now: float) -> list[Effect]:
        """Count a block whose rows are written, and acknowledge it, or its refusal; what is to be done."""
        described = self.require_described()
        acceptance, reason = described.acceptance, verdict.reason
        if verdict.accepted:
            worker = self.fleet.by_id(verdict.worker_id)
            is_counted = not acceptance.is_record(block.lease_id)
            waits = worker.tier != "local" and is_counted and described.audit.must_wait(worker.identity)
            local = worker.tier == "local"
            fresh = self.fresh(described)
            accepted = acceptance.commit(block, verdict, fresh, local=local, waits=waits)
            if accepted is None:
                reason = "too old: an update began while it was written"
            elif described.counts_at_arrival and not waits and is_counted:
                self.count_episodes([accepted], counted(accepted, described.config.num_learning))
            trust_handlers.follow(self, described, worker, block, accepted if waits else None)
        elif verdict.reason is None:
            described.audit.answer(block)
        trust_handlers.settle(self, described, now)
        if verdict.is_outside:
            trust_handlers.outside(self, described, verdict)
        if reason is not None:
            acceptance.num_refused += 1
            lease = self.book.get(block.lease_id)
            if lease is not None:
                lease.had_refusals = True
                is_own = lease.worker_id == verdict.worker_id and not verdict.is_outside
                if is_own and not lease.is_awaited:
                    # Too old: updates did not wait for it. It shows that its worker plays.
                    self.fleet.set_played(self.fleet.by_id(lease.worker_id))
                    self.lapse(lease, reason, now)
        ack = BlockAck(
            run_id=self.config.run_id,
            lease_id=block.lease_id,
            block_index=block.block_index,
            accepted=reason is None,
            reason=reason,
        )
        self.send(connection_id, ack)
        if verdict.rows is None and reason is None:
            plan(self, now)
        return self.take_effects()
