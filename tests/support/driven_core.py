"""A collection core with fake workers joined to it without any delay; tests decide who plays when."""

from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from attract.collection import effects, inputs, learner_handlers, message_handlers
from attract.collection.config import CollectionConfig
from attract.collection.core import CollectionCore, Input, P
from attract.collection.message_handlers import STAND_IN_SECONDS
from attract.schema.game import GameDescription
from attract.schema.learner import (
    Counters,
    Dropped,
    Published,
    Ready,
    RejectedRow,
    Train,
    Trained,
    Warmup,
)
from attract.schema.messages import Block, BlockAck, FromBrowser, GameDescribed, GameFailed, Lease, Seed
from attract.settings.collection import CollectionSettings
from attract.settings.run import PolicySettings, RunSettings
from attract.settings.self_play import SelfPlaySettings
from fake_worker import SHA256, FakeWorker, counting_description, counting_game, host_hello

Kind = TypeVar("Kind")
HOST = 1


def small_config(**changes: Any) -> CollectionConfig:
    """Two workers of three instances, horizon 4, no warm-up, no desync."""
    config = CollectionConfig(
        run_id="run-1",
        game=counting_game(),
        stream_seed=Seed(low=1, high=2),
        run=RunSettings.from_mapping(
            {
                "ppo": {"horizon": 4},
                "collection": {
                    "num_workers": 2,
                    "instances_per_worker": 3,
                    "warmup_steps": 0,
                    "desync_episodes": False,
                },
            }
        ),
    )
    return changed(config, **changes)


def changed(config: CollectionConfig, **changes: Any) -> CollectionConfig:
    """The same with other settings, and other fields of its own."""
    if "num_groups" in changes:
        num_groups = changes.pop("num_groups")
        changes |= {"inference": "server" if num_groups else "worker", "async_factor": max(1, num_groups)}
    collection = {name: changes.pop(name) for name in CollectionSettings.model_fields & changes.keys()}
    run = config.with_settings(**collection).run
    horizon = changes.pop("horizon", config.horizon)
    segments = changes.pop("rollout_segments", config.rollout_segments)
    ppo = {
        "horizon": horizon,
        "rollout_steps": segments * horizon,
        "batch_segments": changes.pop("batch_segments", config.batch_segments),
    }
    own: dict[str, Any] = {"ppo": run.ppo.model_copy(update=ppo)}
    if state_size := changes.pop("state_size", 0):
        own["policy"] = PolicySettings(recurrent="gru", recurrent_size=state_size)
    if self_play := changes.pop("self_play", None):
        own["self_play"] = SelfPlaySettings.from_mapping(self_play)
    own["total_steps"] = changes.pop("total_steps", config.total_steps)
    return replace(config, run=run.model_copy(update=own), **changes)


def ready_learner(policy_version: int = 0, *, needs_warmup: bool = False, **counters: int) -> Ready:
    """A learner that is up."""
    return Ready(
        policy_version=policy_version,
        needs_warmup=needs_warmup,
        onnx={"main": b""},
        weights_sha256="",
        num_parameters=1,
        device="cpu",
        counters=Counters(**counters),
    )


def published(policy_version: int, batch_id: int | None, **more: Any) -> Published:
    """A version is durable; None: it is version 0."""
    empty = {"onnx": {"main": b""}, "checkpoint": "", "weights_sha256": "", "metrics": {}}
    return Published(batch_id=batch_id, policy_version=policy_version, **(empty | more))


def game_failure(kind: str, worker_index: int | None = None) -> GameFailed:
    """A game failed: what its host or worker says."""
    return GameFailed.model_validate(
        {
            "run_id": "run-1",
            "kind": kind,
            "name": "TypeError",
            "text": "x is undefined",
            "stack": None if kind == "hang" else "at tick",
            "worker_index": worker_index,
            "seed": {"low": 1, "high": 2},
        }
    )


@dataclass
class DrivenCore:
    """The core, its workers by connection, and everything it ever wanted."""

    config: CollectionConfig = field(default_factory=small_config)
    description: GameDescription = field(default_factory=counting_description)
    tier: Any = "local"
    slots_per_block: int = 1_000_000
    now: float = 0.0
    log: list[effects.Effect] = field(default_factory=list[effects.Effect])
    acks: list[BlockAck] = field(default_factory=list[BlockAck])

    def __post_init__(self) -> None:
        self.core = CollectionCore(self.config)
        self.workers: dict[int, FakeWorker] = {}
        self.version = 0
        self.hold_acks = False
        """Whether policy acknowledgements are kept back."""

    # --- setting up ---

    def host(self, connection_id: int = HOST, host_id: str = "0" * 32, max_workers: int = 2) -> None:
        """A host connects and, when asked, describes the game."""
        hello = host_hello(host_id, max_workers=max_workers)
        self.give(message_handlers.connected, connection_id, hello, self.tier)
        if self.tier != "local":
            self.wait(STAND_IN_SECONDS)
        described = GameDescribed(run_id="run-1", sha256=SHA256, description=self.description)
        self.give(message_handlers.message_received, connection_id, described)

    def join(
        self, connection_id: int, index: int = 0, *, key: str | None = None, host_id: str = "0" * 32
    ) -> FakeWorker:
        """A worker with a new key connects."""
        worker = FakeWorker(
            "run-1",
            host_id=host_id,
            worker_index=index,
            worker_key=key or f"{connection_id:032x}",
            slots_per_block=self.slots_per_block,
        )
        self.workers[connection_id] = worker
        self.give(message_handlers.connected, connection_id, worker.hello(), self.tier)
        return worker

    def rejoin(self, connection_id: int, worker: FakeWorker) -> None:
        """A worker that was here opens a new socket."""
        self.workers[connection_id] = worker
        self.give(message_handlers.connected, connection_id, worker.hello(), self.tier)

    def ready(
        self, version: int = 0, *, needs_warmup: bool = False, counters: Counters | None = None
    ) -> None:
        """A learner comes up."""
        self.version = version
        ready = ready_learner(version, needs_warmup=needs_warmup)
        ready = ready if counters is None else ready.model_copy(update={"counters": counters})
        self.give(learner_handlers.ready, ready)

    @classmethod
    def started(cls, **changes: Any) -> "DrivenCore":
        """Two workers on connections 10 and 11, a learner at version 0; leases are out."""
        driven = cls(small_config(**changes))
        driven.host(max_workers=driven.config.num_workers)
        for index in range(driven.config.num_workers):
            driven.join(10 + index, index)
        driven.ready()
        return driven

    # --- going on ---

    def play(self, connection_id: int, times: int = 1) -> None:
        """A worker plays that many segments and sends what they give."""
        for _ in range(times):
            for message in self.workers[connection_id].play():
                self.say(connection_id, message)

    def say(self, connection_id: int, message: FromBrowser) -> None:
        """A message arrives."""
        if isinstance(message, Block):
            self.block(connection_id, message)
        else:
            self.give(message_handlers.message_received, connection_id, message)

    def block(self, connection_id: int, block: Block) -> effects.Verdict:
        """A block arrives: offered and committed at once."""
        verdict = self.core.offer_block(connection_id, block, self.now)
        self.do(self.core.decide_block(connection_id, block, verdict, self.now))
        return verdict

    def close(self, connection_id: int) -> FakeWorker:
        """A worker's socket closes."""
        self.give(message_handlers.disconnected, connection_id)
        return self.workers.pop(connection_id)

    def wait(self, seconds: float) -> None:
        """Time passes; the core is ticked at each of its deadlines on the way, and at the end."""
        end = self.now + seconds
        while (deadline := self.core.next_deadline()) is not None and deadline <= end:
            self.now = max(self.now, deadline)
            self.give(inputs.tick)
        self.now = end
        self.give(inputs.tick)

    def train(self) -> None:
        """The learner finishes the update it has; `publish_trained` then says that its version is durable."""
        self.version += 1
        trained = Trained(batch_id=self.trains[-1].batch_id, policy_version=self.version, metrics={})
        self.give(learner_handlers.end_update, trained)

    def publish_trained(self, batch_id: int) -> None:
        """The version that batch gave, the newest, is durable."""
        self.give(learner_handlers.published, published(self.version, batch_id))

    def publish(self, rejected: list[RejectedRow] | None = None, valid_steps: int = 0) -> None:
        """The learner finishes the update it was given last, or the warm-up."""
        trains = self.trains
        batch_id = trains[-1].batch_id if trains and self.updating else None
        self.version = self.version + 1 if batch_id is not None else 0
        said = published(self.version, batch_id, rejected=rejected or [], valid_steps=valid_steps)
        self.give(learner_handlers.published, said)

    def drop(self, consecutive: int = 1) -> None:
        """The learner undoes the update it was given last."""
        dropped = Dropped(batch_id=self.trains[-1].batch_id, reason="loss", consecutive=consecutive)
        self.give(learner_handlers.dropped, dropped)

    def give(self, handler: Input[P], *args: P.args, **kwargs: P.kwargs) -> None:
        """The core gets an input, and its effects are carried out."""
        self.do(self.core.handle(handler, self.now, *args, **kwargs))

    def do(self, wanted: list[effects.Effect]) -> None:
        """Carry out effects: messages reach workers at once, and so do their answers."""
        for effect in wanted:
            self.log.append(effect)
            worker = self.workers.get(getattr(effect, "connection_id", -1))
            if isinstance(effect, effects.Send):
                if isinstance(effect.message, BlockAck):
                    self.acks.append(effect.message)
                if worker is not None:
                    for answer in worker.deliver(effect.message):
                        self.say(effect.connection_id, answer)
            elif isinstance(effect, effects.SendPolicy) and worker is not None:
                answers = worker.take_policy(effect.policy_version, effect.policy_id)
                if not self.hold_acks:
                    for answer in answers:
                        self.say(effect.connection_id, answer)

    # --- looking ---

    @property
    def updating(self) -> bool:
        """Whether the learner has a batch whose outcome is not known."""
        return self.core.learner.batch is not None

    @property
    def known_game(self) -> GameDescription | None:
        """The game's description, once a host loaded it."""
        return None if self.core.described is None else self.core.described.description

    def wanted(self, kind: type[Kind]) -> list[Kind]:
        """All effects of a kind so far."""
        return [effect for effect in self.log if isinstance(effect, kind)]

    def messages(self, kind: type[Kind], connection_id: int | None = None) -> list[Kind]:
        """All messages of a type sent so far, to that connection if given."""
        return [
            sent.message
            for sent in self.wanted(effects.Send)
            if isinstance(sent.message, kind) and connection_id in (None, sent.connection_id)
        ]

    def leases(self, connection_id: int | None = None) -> list[Lease]:
        """All leases sent so far."""
        return self.messages(Lease, connection_id)

    @property
    def trains(self) -> list[Train]:
        """All updates begun so far."""
        orders = [order.message for order in self.wanted(effects.SendToLearner)]
        return [message for message in orders if isinstance(message, Train)]

    @property
    def warmups(self) -> list[Warmup]:
        """All that the learner was given to set its statistics from."""
        orders = [order.message for order in self.wanted(effects.SendToLearner)]
        return [message for message in orders if isinstance(message, Warmup)]
