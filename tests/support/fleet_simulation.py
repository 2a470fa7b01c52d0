"""A whole fleet, its network and a learner in one thread, from one seed; time is a number."""

import heapq
import random
from collections.abc import Callable
from dataclasses import dataclass, field

from attract.collection import effects, inputs, learner_handlers, message_handlers, trust_handlers
from attract.collection.config import CollectionConfig
from attract.collection.core import CollectionCore, Input, P
from attract.errors import ProtocolError
from attract.schema.episodes import Episode
from attract.schema.game import GameDescription
from attract.schema.learner import Train, Trained, Warmup
from attract.schema.messages import (
    Assignment,
    Block,
    FromBrowser,
    GameDescribed,
    Lease,
    LeaseVoid,
    Policy,
    Progress,
    ToBrowser,
)
from driven_core import published, ready_learner, small_config
from fake_worker import SHA256, FakeWorker, Faults, Key, Lie, Peer, counting_description, host_hello

__all__ = ["Simulation", "small_config"]


@dataclass
class Simulation:
    """Runs a core against fake workers and a fake learner until a time; checks what must always hold."""

    config: CollectionConfig
    seed: int = 0
    description: GameDescription = field(default_factory=counting_description)
    faults: Faults = field(default_factory=Faults)
    latency: tuple[float, float] = (0.001, 0.02)
    update_seconds: tuple[float, float] = (0.01, 0.2)
    ends_early: bool = False
    """Whether the learner ends an update at once when the next batch waits for it."""
    durable_seconds: tuple[float, float] = (0.001, 0.1)
    """From the end of an update until its version is durable; the next may be under way."""
    segment_seconds: tuple[float, ...] = (0.1,)
    local: bool = True
    speaks: bool = False
    """Whether workers tell of their steps while they play a segment, as browsers do."""
    silences: list[int] = field(default_factory=list[int])
    """Leases that lapsed since nothing renewed them."""
    draws_returns: bool = False
    """Whether episodes' returns come from their random streams (rule C5)."""
    now: float = 0.0
    updates: list[Train] = field(default_factory=list[Train])
    update_keys: list[list[Key]] = field(default_factory=list[list[Key]])
    """Keys trained by each committed or pending update."""
    lags: list[int] = field(default_factory=list[int])
    accepted_keys: list[Key] = field(default_factory=list[Key])
    episodes: list[tuple[int, Episode]] = field(default_factory=list[tuple[int, Episode]])
    """Finished ones with their `global_episode_index`."""
    evaluations: list[effects.EvaluationDone] = field(default_factory=list[effects.EvaluationDone])
    notes: list[effects.Note] = field(default_factory=list[effects.Note])
    caught: list[effects.ForgerCaught] = field(default_factory=list[effects.ForgerCaught])
    warmups: list[tuple[int, ...]] = field(default_factory=list[tuple[int, ...]])
    leases: list[tuple[int, Lease]] = field(default_factory=list[tuple[int, Lease]])
    """(worker's index in `peers`, lease), as sent."""

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.core = CollectionCore(self.config)
        self.peers: list[Peer] = []
        self.version = -1
        self.durable = -1
        self.session = 0
        self.in_flight: Train | None = None
        self.learner_alive = True
        self.had_learner_faults = False
        self.row_key: dict[int, list[tuple[Key, int, int]]] = {}
        """Row to (key, version, first step) of the segments in it; more than one is a fault."""
        self.guest_rows: set[int] = set()
        self._queue: list[tuple[float, int, Callable[[], None]]] = []
        self._order = 0
        self._next_connection = 1
        self._last_arrival: dict[tuple[int, bool], float] = {}

    # --- running ---

    def start(self, num_workers: int | None = None) -> None:
        """Connect a host and its workers; the host describes the game; the learner comes up."""
        count = self.config.num_workers if num_workers is None else num_workers
        self.host_connection = self._new_connection()
        self.give(
            message_handlers.connected, self.host_connection, host_hello(max_workers=count), self._tier()
        )
        for index in range(count):
            self.add_worker(index)
        self.after(0.05, self.learner_up)

    def add_worker(self, index: int) -> Peer:
        """A worker with a new key comes."""
        key = f"{len(self.peers):032x}"
        worker = FakeWorker(self.config.run_id, worker_index=index, worker_key=key, slots_per_block=2)
        worker.draws_returns = self.draws_returns
        seconds = self.segment_seconds[index % len(self.segment_seconds)]
        peer = Peer(worker, seconds, identity=f"{len(self.peers):08x}@192.0.2.{len(self.peers) % 250}")
        self.peers.append(peer)
        self.after(self.random.uniform(*self.latency), lambda: self.connect(peer))
        return peer

    def add_guest(self, identity: str, lie: Lie | None = None) -> Peer:
        """A worker of a guest comes, on a host of its own."""
        peer = self.add_worker(0)
        peer.worker.host_id = f"{len(self.peers):032x}"
        peer.identity, peer.lie, peer.is_guest = identity, lie, True
        return peer

    def connect(self, peer: Peer) -> None:
        """The worker opens a socket."""
        if peer.dead:
            return
        peer.connection_id = self._new_connection()
        tier = "invited" if peer.is_guest else self._tier()
        hello = peer.worker.hello()
        self.give(message_handlers.connected, peer.connection_id, hello, tier, peer.identity)

    def left_out(self) -> set[str]:
        """Identities that the fleet's table says get no leases, because of what they said."""
        hosts = self.core.fleet_view(self.now).hosts
        return {worker.identity for host in hosts for worker in host.workers if worker.left_out is not None}

    def disconnect(self, peer: Peer) -> None:
        """Its socket breaks: what is under way on it is lost."""
        if peer.connection_id is not None:
            connection_id, peer.connection_id = peer.connection_id, None
            self.give(message_handlers.disconnected, connection_id)

    def learner_up(self) -> None:
        """A learner process is ready: at version 0, or without one yet."""
        self.learner_alive = True
        self.version = self.durable
        fresh = self.version < 0
        ready = ready_learner(max(0, self.durable), needs_warmup=fresh)
        ready = ready if fresh else ready.model_copy(update={"counters": self.core.counters})
        self.give(learner_handlers.ready, ready)

    def learner_down(self) -> None:
        """The learner dies, and comes back a little later."""
        if self.learner_alive:
            self.had_learner_faults = True
            self.learner_alive = False
            self.session += 1
            if self.in_flight is not None and self.version > self.durable:
                # It was to go on from a version that is lost: its rows are free.
                for row in self.in_flight.rows:
                    del self.row_key[row]
            self.in_flight = None
            self.give(learner_handlers.lost)
            self.after(0.5, self.learner_up)

    def run(self, seconds: float, until: Callable[[], bool] = lambda: False) -> None:
        """Let time pass until the queue is empty, `seconds` are over or `until` holds."""
        end = self.now + seconds
        while not until():
            deadline = self.core.next_deadline()
            head = self._queue[0][0] if self._queue else None
            if deadline is not None and deadline <= end and (head is None or deadline < head):
                self.now = max(self.now, deadline)
                self.give(inputs.tick)
                assert self.core.next_deadline() is None or self.core.next_deadline() > self.now - 1e-9
                if self.core.next_deadline() == deadline:
                    raise AssertionError(f"tick at {deadline} left its own deadline")
                continue
            if head is None or head > end:
                self.now = end
                return
            self.now, _, action = heapq.heappop(self._queue)
            action()

    def after(self, seconds: float, action: Callable[[], None]) -> None:
        """Do something later."""
        self._order += 1
        heapq.heappush(self._queue, (self.now + seconds, self._order, action))

    # --- carrying out effects ---

    def give(self, handler: Input[P], *args: P.args, **kwargs: P.kwargs) -> None:
        """The core gets an input, and its effects are carried out."""
        self.do(self.core.handle(handler, self.now, *args, **kwargs))

    def do(self, wanted: list[effects.Effect]) -> None:
        """Carry out effects in order."""
        for effect in wanted:
            match effect:
                case effects.Send():
                    self._to_browser(effect.connection_id, effect.message)
                case effects.SendPolicy():
                    assert effect.policy_version <= self.durable, "rule D1"
                    policy = Policy(
                        run_id=self.config.run_id,
                        policy_id=effect.policy_id,
                        policy_version=effect.policy_version,
                        onnx=b"",
                    )
                    self._to_browser(effect.connection_id, policy)
                case effects.SendToLearner(message=Warmup()):
                    self.warmups.append(tuple(effect.message.rows))
                    self.after(0.05, self._version_zero)
                case effects.SendToLearner(message=Train()):
                    self._start_update(effect.message)
                case effects.SendToLearner():
                    train = self.in_flight
                    assert train is not None and train.batch_id == effect.message.batch_id
                    if self.ends_early:
                        self.after(0.003, lambda train=train: self._trained(train))
                case effects.EpisodesCounted():
                    self.episodes += enumerate(effect.results, effect.first_index)
                case effects.WakeAfter():
                    self.after(effect.seconds, lambda: self.give(inputs.tick))
                case effects.EvaluationDone():
                    self.evaluations.append(effect)
                case effects.Note():
                    self.notes.append(effect)
                case effects.ForgerCaught():
                    self.caught.append(effect)
                    for peer in self.peers:
                        if peer.identity == effect.identity:
                            peer.left_out_after = peer.num_sent
                case _:
                    pass

    def _start_update(self, train: Train) -> None:
        assert self.learner_alive
        assert self.in_flight is None, "two updates at once"
        again = bool(self.updates) and self.updates[-1].batch_id == train.batch_id
        keys: list[Key] = []
        order: list[tuple[int, int]] = []
        for row in train.rows:
            (found,) = self.row_key[row]  # exactly one segment in each row
            key, version, first_step = found
            keys.append(key)
            order.append((key[1], first_step))
            self.lags.append(self.version - version)
        assert order == sorted(order), "rule C8: rows by (slot, first step)"
        assert set(train.verify_rows) <= set(train.rows)
        self.in_flight = train
        if not again:
            self.updates.append(train)
            self.update_keys.append(keys)
        if self.random.random() < self.faults.learner_dies:
            self.after(self.random.uniform(*self.update_seconds), self.learner_down)
        else:
            self.after(self.random.uniform(*self.update_seconds), lambda: self._trained(train))

    def _trained(self, train: Train) -> None:
        if self.in_flight is not train:
            return
        self.in_flight = None
        self.version += 1
        for row in train.rows:
            del self.row_key[row]
        version, session = self.version, self.session
        self.after(self.random.uniform(*self.durable_seconds), lambda: self._publish(train, version, session))
        trained = Trained(batch_id=train.batch_id, policy_version=version, metrics={})
        self.give(learner_handlers.end_update, trained)

    def _publish(self, train: Train, version: int, session: int) -> None:
        if session != self.session:
            return
        if version != self.durable + 1:
            # The one before it is still being written.
            self.after(0.001, lambda: self._publish(train, version, session))
            return
        self.durable = version
        self.give(learner_handlers.published, published(version, train.batch_id))

    def _version_zero(self) -> None:
        if self.version >= 0 or not self.learner_alive:
            return
        self.version = self.durable = 0
        for rows in self.warmups:
            for row in rows:
                self.row_key.pop(row, None)
        self.give(learner_handlers.published, published(0, None))

    def _to_browser(self, connection_id: int, message: ToBrowser) -> None:
        if connection_id == self.host_connection:
            if isinstance(message, Assignment) and message.describe:
                described = GameDescribed(
                    run_id=self.config.run_id, sha256=SHA256, description=self.description
                )
                self.after(
                    0.1,
                    lambda: self.give(message_handlers.message_received, connection_id, described),
                )
            return
        peer = next((peer for peer in self.peers if peer.connection_id == connection_id), None)
        if peer is None:
            return
        if isinstance(message, Lease):
            self.leases.append((self.peers.index(peer), message))
        if isinstance(message, LeaseVoid) and message.reason == "no progress was heard":
            self.silences.append(message.lease_id)

        def arrive() -> None:
            if peer.connection_id == connection_id and not peer.dead:
                self._answer(peer, peer.worker.deliver(message))
                self._play(peer)

        self._in_order(connection_id, False, arrive)

    def _play(self, peer: Peer) -> None:
        if not peer.worker.leases or peer.playing:
            return
        peer.playing = True
        if peer.lies in ("progress", "steps"):
            self.after(2.0, lambda: self._only_say(peer))
            return
        is_replay = peer.worker.leases[0].purpose == "replay"
        seconds = peer.segment_seconds * self.random.uniform(0.9, 1.1) * (0.1 if is_replay else 1.0)

        if self.speaks:
            self._report_steps(peer, seconds)

        def finish() -> None:
            peer.playing = False
            peer.played_seconds += seconds
            if peer.dead:
                return
            if peer.frozen:
                return
            if self.random.random() < self.faults.die:
                self.kill(peer)
                return
            said = peer.worker.play()
            self._answer(peer, said if peer.lie is None else self._lied(peer, said, peer.lie))
            self._play(peer)
            if self.random.random() < self.faults.disconnect:
                self.disconnect(peer)
                self.after(self.random.choice((0.5, 1.9, 5.0)), lambda: self.connect(peer))
            if self.random.random() < self.faults.freeze:
                self.freeze(peer, 25.0)

        self.after(seconds, finish)

    def _report_steps(self, peer: Peer, seconds: float) -> None:
        """While it plays a segment, a worker says every 10 s how many of its steps it has played."""
        lease_id, horizon = peer.worker.leases[0].lease_id, self.config.horizon
        if peer.claimed_lease != lease_id:
            peer.claimed_lease, peer.claimed_steps = lease_id, 0
        before, peer.claimed_steps = peer.claimed_steps, peer.claimed_steps + horizon
        for tenths in range(1, int(seconds / 10) + 1):
            steps = before + int(horizon * 10 * tenths / seconds)
            said = Progress(run_id=self.config.run_id, lease_id=lease_id, steps=steps)
            self.after(10.0 * tenths, lambda said=said: self._answer(peer, [said]))

    def _lied(self, peer: Peer, said: list[FromBrowser], lie: Lie) -> list[FromBrowser]:
        """What a liar says instead; the blocks that are not true are remembered."""
        claimed = lie(peer, said)
        truth = [message for message in said if isinstance(message, Block)]
        for block in claimed:
            if isinstance(block, Block) and block not in truth:
                peer.forged.append(block)
        return claimed

    def _only_say(self, peer: Peer) -> None:
        peer.playing = False
        if peer.dead or not peer.worker.leases:
            return
        lease_id = peer.worker.leases[0].lease_id
        if peer.claimed_lease != lease_id:
            peer.claimed_lease, peer.claimed_steps = lease_id, 0
        peer.claimed_steps += peer.lies == "steps"
        self._answer(peer, [Progress(run_id=self.config.run_id, lease_id=lease_id, steps=peer.claimed_steps)])
        self._play(peer)

    def freeze(self, peer: Peer, seconds: float) -> None:
        """It does nothing for a while; its socket stays open."""
        peer.frozen = True

        def thaw() -> None:
            peer.frozen = False
            self._answer(peer, peer.worker.progress())
            self._play(peer)

        self.after(seconds, thaw)

    def kill(self, peer: Peer) -> None:
        """It is gone for good; its host starts another."""
        peer.dead = True
        self.disconnect(peer)
        self.after(0.5, lambda: self.add_worker(peer.worker.worker_index) and None)

    def _answer(self, peer: Peer, messages: list[FromBrowser]) -> None:
        for message in messages:
            self._to_server(peer, message)

    def _to_server(self, peer: Peer, message: FromBrowser) -> None:
        connection_id = peer.connection_id
        if connection_id is None:
            return
        copies = 2 if self.random.random() < self.faults.duplicate else 1
        if isinstance(message, Block) and self.random.random() < self.faults.lose:
            return
        for _ in range(copies):

            def arrive() -> None:
                if peer.connection_id != connection_id:
                    return
                if isinstance(message, Block):
                    self._offer(peer, connection_id, message)
                else:
                    self.give(message_handlers.message_received, connection_id, message)

            self._in_order(connection_id, True, arrive)

    def _offer(self, peer: Peer, connection_id: int, block: Block) -> None:
        try:
            self.block(connection_id, block)
        except ProtocolError as error:
            # As the gateway does: it counts against the identity, and the socket is closed.
            assert peer.lie is not None, f"an honest worker was refused: {error}"
            self.give(trust_handlers.message_wrong, connection_id, error.reason)
            self.disconnect(peer)
            self.after(0.5, lambda: self.connect(peer))

    def block(self, connection_id: int, block: Block) -> effects.Verdict:
        """Offer and commit a block as the gateway does."""
        peer = next((peer for peer in self.peers if peer.connection_id == connection_id), None)
        if peer is not None:
            peer.num_sent += block.slot_id.shape[0]
        verdict = self.core.offer_block(connection_id, block, self.now)
        wanted = self.core.decide_block(connection_id, block, verdict, self.now)
        accepted = [
            effect.message.accepted  # type: ignore[union-attr]
            for effect in wanted
            if isinstance(effect, effects.Send) and effect.message.type == "block_ack"
        ]
        if verdict.rows is not None and accepted == [True]:
            slots = [int(slot) for slot in _int32(block.slot_id.data)]
            steps = [int(step) for step in _int32(block.first_step.data)]
            for row, slot, step in zip(verdict.rows.tolist(), slots, steps, strict=True):
                free = row not in self.row_key or row in self.guest_rows
                taken = self.in_flight is not None and row in self.in_flight.rows
                assert free and not taken, f"row {row} was given away twice"
                if peer is not None and (peer.is_guest or not self.local):
                    # What a guest sent may be thrown away unseen (rule C10).
                    self.guest_rows.add(row)
                else:
                    self.guest_rows.discard(row)
                key = (block.lease_id, slot, block.segment_index)
                self.row_key[row] = [(key, block.policy_version, step)]
                if peer is not None and any(forged is block for forged in peer.forged):
                    peer.untrue.add(key)
                record = any(
                    lease.lease_id == block.lease_id and lease.purpose != "train" for _, lease in self.leases
                )
                if not record:
                    self.accepted_keys.append(key)
        self.do(wanted)
        return verdict

    def _in_order(self, connection_id: int, upwards: bool, arrive: Callable[[], None]) -> None:
        """One socket keeps the order of its messages."""
        at = self.now + self.random.uniform(*self.latency)
        at = max(at, self._last_arrival.get((connection_id, upwards), 0.0))
        self._last_arrival[connection_id, upwards] = at
        self.after(at - self.now, arrive)

    def _new_connection(self) -> int:
        self._next_connection += 1
        return self._next_connection

    def _tier(self) -> str:
        return "local" if self.local else "invited"


def _int32(data: bytes) -> memoryview:
    return memoryview(data).cast("i")
