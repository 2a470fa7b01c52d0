"""State of the collection core, and its smallest steps: leases, policies, notes."""

import math
from collections import deque
from collections.abc import Iterable

from attract.collection.acceptance import Acceptance, Fresh
from attract.collection.batches import AcceptedBlock, ClosedBatch
from attract.collection.config import CollectionConfig, FittedConfig
from attract.collection.effects import (
    Effect,
    EpisodesCounted,
    Note,
    Report,
    Send,
    SendPolicy,
)
from attract.collection.evaluation import Evaluation
from attract.collection.fleet import Fleet, Worker
from attract.collection.learning import LearnerState
from attract.collection.leases import Lease, LeaseBook, Lesson, Recordings
from attract.collection.opponents import Opponents
from attract.collection.pipelining import CollectionStatus, resolve_schedule
from attract.collection.seating import GameSeats
from attract.collection.start_barrier import StartBarrier
from attract.collection.trust.admit import Bounds
from attract.collection.trust.sample import Audit
from attract.collection.trust.verdict import Conduct, FailureCount
from attract.collection.worker_messages import lease_message, welcome_message
from attract.schema.api import BeginningStage, GameReport
from attract.schema.episodes import Episodes
from attract.schema.messages import LeaseVoid, Purpose, Recording, ReplayOrder, Seat, ToBrowser
from attract.schema.philox import derive_seed


class Described:
    """What exists once the game is known: rows, pools and the schedule."""

    def __init__(self, config: FittedConfig, book: LeaseBook) -> None:
        self.config = config
        self.description = description = config.description
        self.target = config.batch_target()
        """Rule S1's, for the fleet that is here."""
        self.seating = config.seating
        self.bounds = Bounds(description)
        self.acceptance = Acceptance(book, self.seating, config.store_capacity, self.bounds)
        self.audit = Audit(description.num_agents, config.secret)
        if config.num_groups:
            self.audit.off = "the server decides for its games"
        self.opponents = Opponents(
            config.run.self_play,
            derive_seed(config.run.seed, "opponents"),
            config.save_steps,
            num_games=config.num_instances,
        )
        self.counts_at_arrival = config.settings.schedule != "sync"
        """Whether episodes are numbered as they come (C6), or in order when the batch closes (C8)."""
        self.schedule = resolve_schedule(config, config.learning_slots)


class CollectionState:
    """Everything one run's collection core remembers. Used by the core and its planning alone."""

    def __init__(self, config: CollectionConfig) -> None:
        self.config = config
        self.fleet = Fleet()
        self.book = LeaseBook(config.first_lease_id)
        self.learner = LearnerState()
        self.conduct = Conduct()
        self.start_barrier = StartBarrier(config)
        self.described: Described | None = None
        self.describing: int | None = None
        """Connection of the host that was asked to describe the game."""
        self.strangers_since: float | None = None
        """Since when there are hosts, and none of the admin's own, and the game is not known."""
        self.failed_to_describe: set[str] = set()
        """Identities of strangers that reported that they could not load it."""
        self.paused = False
        self.stopped = False
        self.lesson = Lesson()
        """Carried by every lease for training that is issued from now on."""
        self.evaluation_lesson = Lesson()
        """Carried by every lease for evaluation."""
        self.boundary = False
        """A lease ended with a full batch in the pool (rule S1)."""
        self.warmup_since: float | None = None
        """When the first lease of the warm-up was issued."""
        self.stage: BeginningStage | None = None
        """What is done before the first update of this session."""
        self.stage_since = 0.0
        self.first_versions: dict[str, int] = {}
        """By guest, the first version that was trained on a segment of it (rule C10)."""
        self.next_batch = 1
        self.evaluation: Evaluation | None = None
        """The one under way; the run core has the others wait."""
        self.announced = -1
        """The version that everybody was looked at for."""
        self.sessions_due = 0.0
        """Until then the workers of a host wait for each other's sessions of that version."""
        self.to_publish: set[int] = set()
        """Workers that may want it: something was heard of them, or changed about them, since."""
        self.takers: set[int] = set()
        """Workers that have room for one lease more, present or not."""
        self.recordings = Recordings()
        self.unconfirmed_updates = 0
        """In a row, in which every segment that was looked at was refused."""
        self._failures = FailureCount(config.num_workers)
        self._effects: list[Effect] = []

    # --- effects ---

    def emit(self, effect: Effect) -> None:
        """Want something done."""
        self._effects.append(effect)

    def send(self, connection_id: int | None, message: ToBrowser) -> None:
        """Want a message sent, if there is a connection."""
        if connection_id is not None:
            self._effects.append(Send(connection_id, message))

    def note(self, kind: str, text: str, rollback_to: int | None = None) -> None:
        """Want a person to see something."""
        self._effects.append(Note(kind, text, rollback_to))

    def take_effects(self) -> list[Effect]:
        """All that was wanted since the last call."""
        effects, self._effects = self._effects, []
        return effects

    # --- where things stand ---

    def require_described(self) -> Described:
        """What exists once the game is known. Raises: RuntimeError: before."""
        if self.described is None:
            raise RuntimeError("expected a described game, none is known yet")
        return self.described

    def progress(self, described: Described) -> CollectionStatus:
        """Where collection and learning stand."""
        return CollectionStatus(
            version=self.learner.version,
            busy=self.learner.batch is not None,
            pooled=described.acceptance.pool.num_segments,
            promised=self.book.promised,
            target=described.target,
            boundary=self.boundary,
            sealed=described.acceptance.pool.num_sealed,
            held=described.audit.num_held,
        )

    def fresh(self, described: Described) -> Fresh:
        """Versions that the batch now filling may use: accepted segments are always trained."""
        batches_before = int(self.learner.batch is not None) + described.acceptance.pool.num_sealed
        next_start = self.learner.version + batches_before
        return Fresh(next_start - described.schedule.max_policy_lag, self.learner.version)

    # --- leases ---

    def issue(
        self,
        described: Described,
        worker: Worker,
        purpose: Purpose,
        now: float,
        *,
        num_segments: int = 0,
        evaluation: Evaluation | None = None,
        episodes: tuple[int, ...] = (),
        replays: tuple[ReplayOrder, ...] = (),
    ) -> Lease:
        """Give a worker a lease, with a row kept for each of its segments; a replay writes none."""
        agents = described.description.num_agents
        slots = len(worker.instance_ids) * agents
        longest = described.config.longest_episode
        seats, before = self._seats(described, worker, num_segments) if purpose == "train" else ((), 0)
        if evaluation is not None:
            seats = evaluation.seats
        players = GameSeats(seats, agents, worker.instance_ids.start) if seats else None
        new = Lease(
            worker_id=worker.worker_id,
            purpose=purpose,
            version=worker.sent_version or 0,
            first_slot=worker.instance_ids.start * agents,
            num_slots=0 if replays else slots,
            num_segments=num_segments,
            local=worker.tier == "local",
            most_steps=1 << 53 if replays else num_segments * self.config.horizon or len(episodes) * longest,
            sends_blocks=not episodes and not replays and not (self.config.num_groups and purpose == "train"),
            may_load=not worker.has_played and not self.conduct.of(worker.identity).stalls,
            is_awaited=purpose != "train" or self.fleet.is_awaited(worker),
            own_seconds=slots * self.config.horizon / (worker.steps_per_second or math.inf),
            episodes=episodes,
            lesson=self._lesson_of(purpose, evaluation),
            replays=replays,
            record=self._recording(worker, purpose, evaluation),
            seats=players,
            before=before,
        )
        lease = self.book.issue(new, now)
        described.acceptance.reserve(lease)
        if purpose == "train":
            # The clock of its speed begins with what it is asked to play, not with the first block of that.
            worker.rate.add(0, now)
        if evaluation is not None:
            evaluation.lease(lease.lease_id, list(episodes))
        worker.leases.append(lease)
        self.touch(worker)
        worker.leases[0].bring_to_front(now)
        self.send_lease(described, worker, lease)
        return lease

    def _seats(self, described: Described, worker: Worker, num_segments: int) -> tuple[tuple[Seat, ...], int]:
        """Who plays a training lease, and the steps that the worker's games took before it with them.

        A guest plays the newest version against itself: what it says can be played again as a whole.
        """
        if worker.tier != "local":
            return (), 0
        steps = self.learner.counters.agent_steps
        seats, is_new = described.opponents.seats(worker.sent_version or 0, worker.worker_id, steps)
        before = 0 if is_new else worker.steps_with_seats
        worker.steps_with_seats = before + num_segments * self.config.horizon
        return seats, before

    def _lesson_of(self, purpose: Purpose, evaluation: Evaluation | None) -> Lesson:
        if evaluation is not None and evaluation.lesson is not None:
            return evaluation.lesson
        return self.lesson if purpose in ("train", "warmup") else self.evaluation_lesson

    def _recording(self, worker: Worker, purpose: Purpose, evaluation: Evaluation | None) -> Recording:
        """Which episodes of a lease that is issued now are kept; of a guest's none."""
        if worker.tier != "local":
            return "none"
        if evaluation is not None:
            return evaluation.record
        version = worker.sent_version or 0
        every = self.config.recorded_every if purpose == "train" else 0
        return "extremes" if every and self.recordings.ask(version, every) else "none"

    def send_lease(self, described: Described, worker: Worker, lease: Lease) -> None:
        """Tell a worker of its lease; it plays none twice, so repeating is harmless."""
        evaluation = self.evaluation_of(lease)
        published = {(policy_id, lease.version) for policy_id in described.seating.policy_ids}
        opponents = lease.opponents - published
        for policy_id, version in sorted(opponents - worker.opponents_sent):
            if worker.connection_id is not None:
                self.emit(SendPolicy(worker.connection_id, policy_id, version, is_opponent=True))
        worker.opponents_sent = opponents
        message = lease_message(described.config, lease, evaluation)
        self.send(worker.connection_id, message)

    def evaluation_of(self, lease: Lease) -> Evaluation | None:
        """The evaluation that an `evaluate` lease is part of."""
        current = self.evaluation
        return current if current is not None and current.has_leased(lease.lease_id) else None

    def lease_of(self, worker: Worker, lease_id: int) -> Lease | None:
        """The worker's open lease of that id."""
        lease = self.book.get(lease_id)
        return lease if lease is not None and lease.worker_id == worker.worker_id else None

    def is_central(self, lease: Lease) -> bool:
        """Whether the server steps its games (rule I1)."""
        return self.config.num_groups > 0 and lease.purpose == "train"

    def deadline(self, worker: Worker) -> float | None:
        """When the lease that a worker plays lapses; None without one, or while it is not its turn."""
        if not worker.leases or worker.leases[0].asked_at is not None:
            return None
        if self.is_central(worker.leases[0]) and not worker.owed:
            return None
        return self.book.deadline(worker.leases[0])

    def end_lease(self, lease: Lease, now: float) -> None:
        """Spend a lease: no more of it counts, its unused rows are free, its worker's next one begins."""
        if self.described is not None:
            self.described.acceptance.release(lease)
            if lease.purpose == "train" and self.is_full(self.described):
                self.boundary = True
            if lease.purpose == "replay":
                self.described.audit.answered(lease.lease_id)
            else:
                self.described.audit.lease_over(lease.lease_id)
        self.book.spend(lease)
        worker = self.fleet.by_id(lease.worker_id)
        worker.leases.remove(lease)
        self.touch(worker)
        if worker.leases:
            worker.leases[0].bring_to_front(now)

    def lapse(self, lease: Lease, reason: str, now: float) -> None:
        """Spend a lease that nothing more is expected of; what it owed is ordered again."""
        evaluation = self.evaluation_of(lease)
        if evaluation is not None:
            evaluation.lapse(lease.lease_id)
        self.book.num_lapsed += 1
        self.cut_short(lease, reason, now)

    def cut_short(self, lease: Lease, reason: str, now: float) -> None:
        """Spend a lease whose blocks so far are enough."""
        worker = self.fleet.by_id(lease.worker_id)
        worker.steps_with_seats, worker.opponents_sent = 0, frozenset()
        worker.voided.append(lease.lease_id)
        self.send_void(worker, lease.lease_id, reason)
        worker.owed = 0
        self.end_lease(lease, now)

    def send_void(self, worker: Worker, lease_id: int, reason: str) -> None:
        """Tell a worker to drop a lease, if it still plays it."""
        message = LeaseVoid(run_id=self.config.run_id, lease_id=lease_id, reason=reason)
        self.send(worker.connection_id, message)

    def lapse_all(self, worker: Worker, reason: str, now: float) -> None:
        """All leases of a worker lapse."""
        for lease in list(worker.leases):
            self.lapse(lease, reason, now)

    def break_worker(self, worker: Worker, report: GameReport, now: float) -> None:
        """A worker can no longer be used; its host will end it.

        Too many workers of the admin's own that the game ended end the run. Those of a guest count for its
        identity alone; they are believed only where the game failed for several and no lease was played.
        """
        if worker.broken:
            return
        self.fleet.set_broken(worker)
        if worker.admitted:
            self.lapse_all(worker, "the worker ends", now)
        if worker.tier == "local":
            self.count_failure(report)
            return
        reason = self.conduct.game_failed(worker.identity, self.learner.counters.agent_steps, now)
        if reason is not None:
            self.fleet.look_at_conduct(self.conduct, now)
            self.note("quarantine", f"the browser {worker.identity} is banned: {reason}")
            if self.conduct.game_fails_for_all:
                self.emit(Report(report, fatal=True))

    def count_failure(self, report: GameReport) -> None:
        """The game ended one more worker of the admin's own; too many of them end the run."""
        if self._failures.add(self.learner.counters.agent_steps):
            self.emit(Report(report, fatal=True))

    def is_full(self, described: Described) -> bool:
        """Whether the pool is a batch."""
        return described.acceptance.pool.num_segments >= described.target

    # --- workers and policies ---

    def touch(self, worker: Worker) -> None:
        """Something was heard of a worker, or its leases changed: see what it may have now."""
        if not worker.admitted:
            return
        self.to_publish.add(worker.worker_id)
        if len(worker.leases) <= self.config.settings.prefetch:
            self.takers.add(worker.worker_id)
        else:
            self.takers.discard(worker.worker_id)

    def welcome(self, described: Described, worker: Worker) -> None:
        """Tell a worker that it is admitted."""
        self.send(worker.connection_id, welcome_message(described.config, worker))

    def send_policy(self, worker: Worker, version: int, now: float) -> None:
        """Publish a version to one worker: each of its policies, one at a time."""
        if worker.connection_id is None:
            return
        worker.sending_version, worker.acknowledged = version, False
        worker.unsent = deque(self.require_described().seating.policy_ids)
        self.send_next_policy(worker, now)

    def send_next_policy(self, worker: Worker, now: float) -> None:
        """Send the next policy of the version that is being published; after the last, leases may name it."""
        if worker.connection_id is None or worker.sending_version is None:
            return
        worker.policy_sent_at = now
        self.emit(SendPolicy(worker.connection_id, worker.unsent.popleft(), worker.sending_version))
        if not worker.unsent:
            worker.sent_version = worker.sending_version

    # --- what counts ---

    def count_episodes(self, blocks: Iterable[AcceptedBlock], episodes: Episodes) -> None:
        """Number these blocks' finished episodes (rule C6); cut ones are counted and nothing else (rule E1).

        `episodes`: those of all the blocks, in the order in which they count.
        """
        counters = self.learner.counters
        counters.episodes += len(episodes)
        blocks = list(blocks)
        for block in blocks:
            self.fleet.by_id(block.worker_id).episodes += len(block.episodes)
        self._rate(blocks)
        finished = episodes.finished()
        if finished:
            self.emit(EpisodesCounted(counters.global_episode_index, finished))
            counters.global_episode_index += len(finished)

    def _rate(self, blocks: list[AcceptedBlock]) -> None:
        """Count who won the episodes that the same players played from start to end, never by arrival."""
        if not self.config.run.self_play.is_on:
            return
        for block in sorted(blocks, key=lambda block: (int(block.slot_id[0]), int(block.first_step[0]))):
            seats = block.seats
            if seats is None:
                continue
            for episode in block.episodes:
                is_whole = episode.length_steps <= block.steps_before + episode.step + 1
                if is_whole and episode.end_reason != "cut":
                    players = seats.of(episode.instance_id)
                    self.require_described().opponents.count(players, episode.returns)

    def free(self, batch: ClosedBatch | None) -> None:
        """Free the rows of a finished batch."""
        if batch is not None and self.described is not None:
            self.described.acceptance.rows.give_back(batch.rows)

    def free_blocks(self, blocks: list[AcceptedBlock]) -> None:
        """Free the rows of blocks that no update will use."""
        if self.described is not None:
            for block in blocks:
                self.described.acceptance.rows.give_back(block.rows)
