"""The collection core: hears of sockets, messages and the learner, answers with effects; no I/O, no clock."""

from collections.abc import Mapping, Sequence

from attract.collection.acceptance import num_valid
from attract.collection.audit_standing import AuditStanding
from attract.collection.auditing import believe_check, follow, must_wait, outside, settle
from attract.collection.beginning import beginning_of
from attract.collection.config import CollectionConfig
from attract.collection.effects import (
    CloseConnection,
    Effect,
    Verdict,
)
from attract.collection.evaluation import Evaluation
from attract.collection.fleet import Host, Worker
from attract.collection.judging import leave_out, let_in
from attract.collection.learner_handlers import end_update, handle_dropped, handle_published, handle_ready
from attract.collection.leases import GRACE_SECONDS, SILENCE_SECONDS, Lesson
from attract.collection.message_handlers import (
    assign,
    choose_describer,
    describe_deadline,
    handle_host_message,
    handle_worker_message,
    learn_game,
    send_again,
    silence,
    stall,
    touch_last_seen,
)
from attract.collection.planning import plan, warmup_deadline
from attract.collection.standing import Standing, standing_of
from attract.collection.state import CollectionState
from attract.errors import ProtocolError
from attract.schema import close_codes, messages
from attract.schema.api import BeginningView, CheckFinding, FleetView
from attract.schema.episodes import check_names
from attract.schema.frames import malformed
from attract.schema.game import GameDescription
from attract.schema.learner import Counters, Dropped, Published, Ready, Trained
from attract.schema.messages import Block, BlockAck, FromBrowser, Hello, Observe, ParameterDistribution, Seed
from attract.schema.tiers import Tier


class CollectionCore:
    """Decides who plays what, which segments count and when an update begins; one per run.

    Owned by the gateway's run service and called from its event loop alone. Every method but the views takes
    `now`, monotonic seconds that never go back, and returns what is to be done, in order. Blocks come in two
    steps: `offer_block`, then `commit_block` once their rows are written or if refused, or `withdraw_block`.
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
        """What the game says of itself, once a host loaded it."""
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
    def evaluating(self) -> bool:
        """Whether an evaluation is under way."""
        return bool(self._state.evaluations)

    @property
    def paused(self) -> bool:
        """Whether the run is paused, by `pause` or by rule C7."""
        return self._state.paused

    @property
    def first_versions(self) -> dict[str, int]:
        """By guest, the first version that was trained on a segment of it; checkpoints keep it (rule C10)."""
        return self._state.first_versions

    def audit_standing(self, identity: str) -> AuditStanding:
        """What audits have shown of an identity so far (rule C10)."""
        described = self._state.described
        return (
            AuditStanding() if described is None else described.audit.standings.get(identity, AuditStanding())
        )

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

    def standing(self) -> Standing:
        """Workers, leases, blocks, rows and versions in numbers."""
        return standing_of(self._state)

    def next_deadline(self) -> float | None:
        """When `tick` must be called at the latest; None when nothing is waited for."""
        state = self._state
        if state.stopped:
            return None
        # Before the game is known nobody is admitted, however many are there.
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

    # --- the game ---

    def know(self, description: GameDescription, now: float) -> list[Effect]:
        """What a run that goes on knows of the module it plays: no host is asked (rule D2)."""
        if self._state.described is None and not self._state.stopped:
            learn_game(self._state, description)
        return self._done(now)

    def is_describing(self, connection_id: int) -> bool:
        """Whether this is the admin's own host that was asked what the game is, and has not said it yet."""
        state = self._state
        host = state.fleet.of(connection_id)
        return state.describing == connection_id and isinstance(host, Host) and host.tier == "local"

    # --- the fleet ---

    def connect_host(
        self, connection_id: int, hello: Hello, tier: Tier, now: float, identity: str = ""
    ) -> list[Effect]:
        """A host said hello: it is welcomed and gets its assignment.

        `identity`: credential and address of its socket in one word; none: its id stands in.
        """
        state = self._state
        host, replaced = state.fleet.connect_host(connection_id, hello, tier, identity)
        self._replace(replaced)
        state.send(connection_id, messages.WelcomeHost(host_id=host.host_id, tier=tier))
        if not state.stopped:
            state.start_barrier.changed(state.fleet, now)
            choose_describer(state, now)
            if state.describing != connection_id:
                assign(state, host)
        return self._done(now)

    def connect_worker(
        self, connection_id: int, hello: Hello, tier: Tier, now: float, identity: str = ""
    ) -> list[Effect]:
        """A worker said hello: it is welcomed once it is admitted, or at once when its key is known.

        `identity`: as in `connect_host`.

        Raises: ProtocolError: code `run`, when it was made for another run.
        """
        state = self._state
        if state.stopped or hello.worker_key is None:
            raise _wrong_run(hello.run_id)
        self._check_run(hello.run_id)
        worker, replaced = state.fleet.connect_worker(connection_id, hello, tier, now, identity)
        self._replace(replaced)
        state.fleet.look_at_conduct(state.conduct, now)
        state.start_barrier.changed(state.fleet, now)
        state.touch(worker)
        if worker.admitted and state.described is not None:
            state.welcome(state.described, worker)
            send_again(state, state.described, worker, now)
        return self._done(now)

    def disconnect(self, connection_id: int, now: float) -> list[Effect]:
        """A socket is gone. Its worker may come back within 2 s (rule C3)."""
        state = self._state
        who = state.fleet.disconnect(connection_id, now)
        if isinstance(who, Worker) and who.failures and who.last_report is not None:
            state.break_worker(who, who.last_report, now)
        if state.describing == connection_id:
            state.describing = None
            choose_describer(state, now)
        if who is not None:
            state.start_barrier.changed(state.fleet, now)
        return self._done(now)

    def receive(self, connection_id: int, message: FromBrowser, now: float) -> list[Effect]:
        """Any message but a block.

        Raises: ProtocolError: when the sender may not say that, or speaks of another run.
        """
        who = self._state.fleet.of(connection_id)
        run_id = getattr(message, "run_id", None)
        if isinstance(message, messages.HostStatus) or who is None:
            # A host may still speak of the run before.
            run_id = None
        self._check_run(run_id)
        if isinstance(who, Worker):
            touch_last_seen(self._state, who, now)
            handle_worker_message(self._state, who, message, now)
        elif isinstance(who, Host):
            handle_host_message(self._state, who, message, now)
        return self._done(now)

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

    # --- blocks ---

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
        self._check_run(block.run_id)
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
            worker.has_played = True
            self._state.conduct.played(worker.identity, now)
        return verdict

    def commit_block(self, connection_id: int, block: Block, verdict: Verdict, now: float) -> list[Effect]:
        """The block is dealt with: its rows are written, or it was refused. It is acknowledged either way."""
        state, described = self._state, self._state.require_described()
        acceptance, reason = described.acceptance, verdict.reason
        if verdict.accepted:
            worker = state.fleet.by_id(verdict.worker_id)
            waits = must_wait(described, worker, block)
            local = worker.tier == "local" and not state.conduct.is_on_probation(worker.identity)
            fresh = state.fresh(described)
            accepted = acceptance.commit(block, verdict, fresh, local=local, waits=waits)
            if accepted is None:
                reason = "too old: an update began while it was written"
            elif described.counts_at_arrival and not waits and not acceptance.is_record(block.lease_id):
                state.count_episodes([accepted], accepted.episodes)
            follow(state, described, worker, block, accepted if waits else None)
        elif verdict.reason is None:
            described.audit.answer(block)
        settle(state, described, now)
        if verdict.is_outside:
            outside(state, described, state.fleet.by_id(verdict.worker_id), verdict)
        if reason is not None:
            acceptance.num_refused += 1
            lease = state.book.get(block.lease_id)
            if lease is not None:
                lease.had_refusals = True
        state.send(
            connection_id,
            BlockAck(
                run_id=self.config.run_id,
                lease_id=block.lease_id,
                block_index=block.block_index,
                accepted=reason is None,
                reason=reason,
            ),
        )
        if verdict.rows is None and reason is None:
            plan(state, now)
        return state.take_effects()

    def withdraw_block(self, block: Block, verdict: Verdict) -> None:
        """Undo an offer that will not be committed: the rows could not be written."""
        self._state.require_described().acceptance.withdraw(block, verdict)

    # --- the learner ---

    def learner_ready(self, ready: Ready, now: float) -> list[Effect]:
        """A learner process is up: the first, or one in the place of one that died."""
        handle_ready(self._state, ready, now)
        return self._done(now)

    def learner_lost(self, now: float) -> list[Effect]:
        """The learner process died: workers keep sockets and leases, its batch waits for the next one."""
        self._state.learner.phase = "absent"
        return self._done(now)

    def trained(self, trained: Trained, now: float) -> list[Effect]:
        """An update is done: the next may begin. Its version is kept to ourselves until it is published."""
        end_update(self._state, trained, now)
        return self._done(now)

    def published(self, published: Published, now: float) -> list[Effect]:
        """A version is durable and may be announced; `trained` may have told of its update before."""
        handle_published(self._state, published, now)
        return self._done(now)

    def dropped(self, dropped: Dropped, now: float) -> list[Effect]:
        """An update was undone (rule P8); its rows are free, its steps do not count."""
        handle_dropped(self._state, dropped)
        return self._done(now)

    # --- the run ---

    def pause(self, now: float) -> list[Effect]:
        """No new leases for training and no new update; what is under way finishes."""
        self._state.paused = True
        return self._done(now)

    def resume(self, now: float) -> list[Effect]:
        """Go on after `pause`."""
        self._state.paused = False
        return self._done(now)

    def stop(self, now: float, reason: str = "the run is over") -> list[Effect]:
        """The run is over: workers end, hosts wait for the next run. Nothing is accepted any more."""
        state = self._state
        if state.stopped:
            return []
        state.stopped = True
        # Nothing that can fail: a run also ends because something here did.
        state.book.spend_all()
        for worker in state.fleet.workers.values():
            worker.leases.clear()
        ended = messages.RunEnded(run_id=self.config.run_id, reason=reason)
        for host in state.fleet.hosts.values():
            state.send(host.connection_id, ended)
        for worker in state.fleet.workers.values():
            state.send(worker.connection_id, ended)
            if worker.connection_id is not None:
                state.emit(CloseConnection(worker.connection_id, close_codes.RUN_ENDED, reason))
        return self._done(now)

    def release(self, identity: str, now: float) -> list[Effect]:
        """An identity that was left out is like any other again.

        Raises: KeyError: when it is not left out.
        """
        if self._state.conduct.reason(identity) is None:
            raise KeyError(identity)
        let_in(self._state, identity, now)
        if self._state.described is not None:
            self._state.described.audit.standings.pop(identity, None)
        return self._done(now)

    def game_checked(self, findings: Sequence[CheckFinding], now: float) -> list[Effect]:
        """A worker of the admin's own has looked for what would keep the game from being played again.

        What it found switches the audit off, and the boxes, before an honest guest can suffer from them.
        """
        described = self._state.described
        if described is not None:
            believe_check(self._state, described, findings, now)
        return self._done(now)

    def wrong_message(self, connection_id: int, what: str, now: float) -> list[Effect]:
        """A worker said what cannot be, and its socket is closed for it: that counts against its identity."""
        worker = self._state.fleet.of(connection_id)
        if isinstance(worker, Worker):
            if self._state.described is not None:
                self._state.described.audit.distrust(worker.identity)
            reason = self._state.conduct.wrong_message(worker.identity, now, what)
            leave_out(self._state, worker.identity, reason, now)
        return self._done(now)

    def unreadable_message(self, connection_id: int, what: str, now: float) -> list[Effect]:
        """A host or worker sent a frame that holds no message: as `wrong_message`."""
        who = self._state.fleet.of(connection_id)
        if who is not None:
            reason = self._state.conduct.unreadable_message(who.identity, now, what)
            leave_out(self._state, who.identity, reason, now)
        return self._done(now)

    def request_evaluation(self, episodes: int, deterministic: bool, seed: Seed, now: float) -> list[Effect]:
        """Play fixed episodes with the newest version; `EvaluationDone` follows. No update begins before it.

        Evaluations asked for meanwhile wait their turn, each of the version that was newest then.

        Raises: RuntimeError: before there is a version.
        """
        state = self._state
        if not state.learner.has_version:
            raise RuntimeError("expected a published version to evaluate, there is none yet")
        state.evaluations.append(Evaluation(episodes, deterministic, seed, state.learner.public))
        return self._done(now)

    def set_lesson(
        self, lesson_id: str | None, parameters: Mapping[str, ParameterDistribution], now: float
    ) -> list[Effect]:
        """Later leases for training carry this lesson: each game takes it over at its next `start()` (C6).

        Leases that are out already keep theirs.
        """
        self._state.lesson = Lesson(lesson_id, dict(parameters))
        return self._done(now)

    def set_evaluation_parameters(self, parameters: Mapping[str, ParameterDistribution]) -> None:
        """Later leases for evaluation start their games with these, whatever the lesson."""
        self._state.evaluation_lesson = Lesson(None, dict(parameters))

    def tick(self, now: float) -> list[Effect]:
        """Time has passed: leases may have lapsed (rule C3), deadlines gone by."""
        state = self._state
        state.fleet.look_at_conduct(state.conduct, now)
        choose_describer(state, now)
        for worker in list(state.fleet.workers.values()):
            gone = worker.disconnected_at
            if gone is not None and now >= gone + GRACE_SECONDS and not worker.away:
                state.fleet.leave(worker)
                if worker.admitted:
                    if state.described is not None:
                        state.described.audit.worker_gone(worker.instance_ids)
                    state.lapse_all(worker, "the worker's socket is closed", now)
            if worker.present and not worker.acknowledged and now >= worker.policy_sent_at + SILENCE_SECONDS:
                silence(state, worker, now)
            deadline = state.deadline(worker)
            if deadline is not None and now >= deadline:
                stall(state, worker, worker.leases[0], now)
        return self._done(now)

    def _replace(self, connection_id: int | None) -> None:
        if connection_id is not None:
            reason = "the same peer connected again"
            self._state.emit(CloseConnection(connection_id, close_codes.REPLACED, reason))

    def _check_run(self, run_id: str | None) -> None:
        if run_id is not None and run_id != self.config.run_id:
            raise _wrong_run(run_id)

    def _done(self, now: float) -> list[Effect]:
        plan(self._state, now)
        return self._state.take_effects()


def _wrong_run(run_id: str | None) -> ProtocolError:
    return ProtocolError(
        f"run {run_id} is not the active one", code="run", close_code=close_codes.RUN, fix="reload the page"
    )
