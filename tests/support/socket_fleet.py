"""A browser host and its workers without a browser: real websockets, the real protocol, a counting game.

The observation at step t of slot s is 1000 * s + t. Every episode has 10 steps and returns 10 by default.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import websockets

from attract.schema import PROTOCOL_VERSION
from attract.schema.episodes import columns_of
from attract.schema.frames import decode_to_browser, encode
from attract.schema.game import GameDescription
from attract.schema.game_messages import CheckedPlay
from attract.schema.messages import (
    Assignment,
    Block,
    BlockAck,
    CheckGame,
    EpisodeRecorded,
    EpisodeResult,
    EvaluationResult,
    GameChecked,
    GameDescribed,
    GameFailed,
    Hello,
    HostStatus,
    Lease,
    LeaseVoid,
    Policy,
    PolicyAck,
    Refused,
    RolloutClose,
    RunEnded,
    ToBrowser,
    WelcomeHost,
    WelcomeWorker,
)
from attract.schema.tensor import from_numpy
from recorded_episodes import recorded

EPISODE_STEPS = 10

DESCRIPTION = GameDescription.model_validate(
    {
        "id": "Counting-v1",
        "tick_seconds": 0.1,
        "seconds_per_step": 0.1,
        "ticks_per_step": 1,
        "max_seconds": None,
        "max_steps": None,
        "observation": {"kind": "box", "shape": [1]},
        "action": {"kind": "discrete", "n": 2},
        "parameters": {"size": {"default": 10, "low": 6, "high": 20}},
    }
)


def nothing_found(order: CheckGame, play: CheckedPlay | None = None) -> GameChecked:
    """The answer of a check of a sound game, whose random play came to this."""
    return GameChecked(
        check_id=order.check_id, findings=[], description=None, play=play, unplayable=False, seconds=0.0
    )


def random_play(return_mean: float, return_std: float = 0.0, episodes: int = 100) -> CheckedPlay:
    """What a browser says of random play."""
    return CheckedPlay(
        steps=10 * episodes,
        episodes=episodes,
        return_mean=return_mean,
        return_std=return_std,
        length_mean=10.0,
        microseconds_per_tick=1.0,
        create_milliseconds=1.0,
    )


AWAY = (OSError, websockets.ConnectionClosed, websockets.InvalidMessage)
"""What a socket meets whose server is killed, while it connects or later."""


@dataclass
class SocketFleet:
    """What the fleet plays and what it saw; change the numbers while it runs."""

    url: str
    token: str
    origin: str | None = None
    build: str = "test"
    max_workers: int = 2
    host_id: str = "b" * 32
    episode_return: float = 10.0
    evaluation_return: float = 10.0
    recorded: list[float] = field(default_factory=list[float])
    """Returns of the episodes that each worker sends where a lease asks for some."""
    random_play: CheckedPlay | None = None
    """What the host says of random play; None: the game failed in it."""
    checks: list[CheckGame] = field(default_factory=list[CheckGame])
    """Every check that the host was asked for."""
    broken: GameFailed | None = None
    """Sent by the host in the place of the description."""
    failure: GameFailed | None = None
    """Sent by each worker before its first lease for training."""
    block_error: bytes | None = None
    """Sent once in the place of the next block."""
    plays: bool = False
    """Its log-probabilities and values are the policy's own, as the real learner checks (rule C7)."""
    stale: list[bytes] = field(default_factory=list[bytes])
    """Blocks of an earlier life of the server: each worker sends them again as soon as it is admitted."""
    refused_blocks: list[BlockAck] = field(default_factory=list[BlockAck])
    newest_block: bytes | None = None
    never_ready: int | None = None
    """Index of a worker that acknowledges no policy."""
    accepted: list[tuple[int, int, int]] = field(default_factory=list)
    """Keys (lease, segment index, first slot) of acknowledged and accepted blocks."""
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)
    """Notified after each acknowledged block, and when a worker was told that the run is over."""
    policies: list[int] = field(default_factory=list)
    leases: list[Lease] = field(default_factory=list)
    """Every lease that a worker got."""
    evaluated: list[int] = field(default_factory=list)
    """Policy versions of evaluation leases."""
    refused: list[Refused] = field(default_factory=list)
    num_described: int = 0
    """How often it was asked what the game is."""
    runs_ended: list[str] = field(default_factory=list)
    workers_ended: list[int] = field(default_factory=list)
    """Indices of workers that were told that the run is over."""
    idle: asyncio.Event = field(default_factory=asyncio.Event)
    """Set while the host has been told that there is no run."""
    _workers: list[asyncio.Task[None]] = field(default_factory=list)

    @contextlib.asynccontextmanager
    async def joined(self) -> AsyncIterator["SocketFleet"]:
        """The host is connected, and plays what it is given, until the block ends."""
        task = asyncio.create_task(self._host())
        try:
            yield self
        finally:
            for running in (task, *self._workers):
                running.cancel()
                with contextlib.suppress(asyncio.CancelledError, *AWAY):
                    await running

    def _connect(self) -> Any:
        return websockets.connect(self.url, compression=None, max_size=None, origin=self.origin)  # type: ignore[arg-type]

    def _hello(self, **fields: Any) -> bytes:
        return encode(
            Hello.model_validate(
                {
                    "protocol_version": PROTOCOL_VERSION,
                    "build": self.build,
                    "token": self.token,
                    "host_id": self.host_id,
                    **fields,
                }
            )
        )

    async def _host(self) -> None:
        async with self._connect() as socket:
            await socket.send(self._hello(role="host", max_workers=self.max_workers))
            async for data in socket:
                match decode_to_browser(data):
                    case Refused() as refused:
                        self.refused.append(refused)
                    case Assignment(run_id=None):
                        self.idle.set()
                    case Assignment() as assignment:
                        self.idle.clear()
                        await self._assigned(socket, assignment)
                    case RunEnded() as ended:
                        self.runs_ended.append(ended.run_id)
                        self.idle.set()
                    case CheckGame() as order:
                        self.checks.append(order)
                        await socket.send(encode(nothing_found(order, self.random_play)))
                    case WelcomeHost():
                        pass
                    case other:
                        raise AssertionError(f"a host was sent {other.type}")

    async def _assigned(self, socket: Any, assignment: Assignment) -> None:
        assert assignment.run_id is not None
        assert assignment.game is not None
        if assignment.describe:
            self.num_described += 1
            if self.broken is not None:
                broken = self.broken.model_copy(update={"run_id": assignment.run_id})
                await socket.send(encode(broken))
                return
            described = GameDescribed(
                run_id=assignment.run_id, sha256=assignment.game.sha256, description=DESCRIPTION
            )
            await socket.send(encode(described))
        count = min(assignment.num_workers, self.max_workers)
        running = {task.get_name() for task in self._workers if not task.done()}
        for index in range(count):
            name = f"{assignment.run_id} {index}"
            if name not in running:
                work = self._worker(assignment.run_id, index)
                self._workers.append(asyncio.create_task(work, name=name))
        await socket.send(encode(HostStatus(run_id=assignment.run_id, num_workers=count)))

    async def _worker(self, run_id: str, index: int) -> None:
        async with self._connect() as socket:
            key = f"{self.host_id[:24]}{index:08x}"
            await socket.send(self._hello(role="worker", run_id=run_id, worker_index=index, worker_key=key))
            worker = _Worker(self, socket, index)
            async for data in socket:
                if not await worker.handle(decode_to_browser(data)):
                    return


class _Worker:
    def __init__(self, fleet: SocketFleet, socket: Any, index: int) -> None:
        self._fleet = fleet
        self._index = index
        self._socket = socket
        self._welcome: WelcomeWorker | None = None
        self._version = -1
        self._model: _Model | None = None
        self._steps = 0
        self._sent: dict[tuple[int, int], tuple[int, int, int]] = {}

    async def _send(self, data: bytes) -> None:
        # A server that closes has said why before it closed: that is still to be read.
        with contextlib.suppress(websockets.ConnectionClosed):
            await self._socket.send(data)

    async def handle(self, message: ToBrowser) -> bool:
        """Deal with a message; False when there is no more to come."""
        match message:
            case WelcomeWorker():
                self._welcome = message
                for data in self._fleet.stale:
                    await self._send(data)
            case Policy():
                if self._fleet.plays:
                    self._model = _Model(message.onnx)
                else:
                    assert message.onnx == b"onnx %d" % message.policy_version
                self._version = message.policy_version
                self._fleet.policies.append(message.policy_version)
                if self._index == self._fleet.never_ready:
                    return True
                ack = PolicyAck(
                    run_id=message.run_id,
                    policy_id="main",
                    policy_version=message.policy_version,
                    create_ms=1.0,
                )
                await self._send(encode(ack))
            case Lease():
                self._fleet.leases.append(message)
                if message.purpose == "evaluate":
                    await self._evaluate(message)
                else:
                    await self._play(message)
            case BlockAck():
                key = (message.lease_id, message.block_index)
                if message.accepted:
                    self._fleet.accepted.append(self._sent.pop(key))
                else:
                    # Blocks of an earlier life of the server were sent by no worker of this one.
                    self._sent.pop(key, None)
                    self._fleet.refused_blocks.append(message)
                async with self._fleet.changed:
                    self._fleet.changed.notify_all()
            case LeaseVoid():
                pass
            case Refused():
                self._fleet.refused.append(message)
            case RunEnded():
                async with self._fleet.changed:
                    self._fleet.workers_ended.append(self._index)
                    self._fleet.changed.notify_all()
                return False
            case other:
                raise AssertionError(f"a worker was sent {other.type}")
        return True

    async def _play(self, lease: Lease) -> None:
        welcome = self._welcome
        assert welcome is not None
        if lease.purpose == "train":
            assert lease.seats[0].policy_version == self._version, "the policy goes before the lease"
            if self._fleet.failure is not None and self._steps == 0:
                update = {"run_id": lease.run_id, "worker_index": self._index}
                await self._send(encode(self._fleet.failure.model_copy(update=update)))
        slots = np.array(welcome.instance_ids, np.int32)
        first = self._steps if lease.purpose == "train" else 0
        for segment in range(lease.num_segments):
            block = self._block(lease, segment, slots, first + segment * welcome.horizon, welcome.horizon)
            self._sent[lease.lease_id, segment] = (lease.lease_id, segment, int(slots[0]))
            if self._fleet.block_error is not None:
                data, self._fleet.block_error = self._fleet.block_error, None
                await self._send(data)
            data = self._fleet.newest_block = encode(block)
            await self._send(data)
        await self._send_episodes(lease)
        if lease.purpose == "train":
            self._steps = first + lease.num_segments * welcome.horizon
        close = RolloutClose(
            run_id=lease.run_id,
            lease_id=lease.lease_id,
            num_blocks=lease.num_segments,
            slot_id=from_numpy(slots),
            bootstrap_value=from_numpy(np.zeros(len(slots), np.float32)),
            play_seconds=0.1,
            inference_seconds=0.05,
            game_seconds=0.01,
            wait_seconds=0.01,
        )
        await self._send(encode(close))

    def _block(
        self, lease: Lease, segment: int, slots: np.ndarray[Any, Any], first: int, horizon: int
    ) -> Block:
        steps = first + np.arange(horizon)
        ends = (steps + 1) % EPISODE_STEPS == 0
        shape = (horizon, len(slots))
        observation = (1000.0 * slots[None, :] + steps[:, None]).astype(np.float32)[..., None]
        zeros = np.zeros(shape, np.float32)
        after = (1000.0 * slots + first + horizon).astype(np.float32)[:, None]
        log_prob, value, bootstrap = zeros - np.float32(np.log(2)), zeros, np.zeros(len(slots), np.float32)
        if self._model is not None and lease.purpose == "train":
            log_prob, value = self._model.judge(observation)
            # After an episode's last step nothing is worth anything (rule E4).
            bootstrap = np.where(ends[-1], np.float32(0), self._model.judge(after)[1])
        # The last reward makes an episode come to what it is to return.
        rewards = zeros + np.float32(1)
        rewards[ends] = self._fleet.episode_return - (EPISODE_STEPS - 1)
        flags = np.zeros(shape, np.uint8)
        episodes = [
            self._episode(int(slot), int(first + step) // EPISODE_STEPS, int(step))
            for step in np.nonzero(ends)[0]
            for slot in slots
        ]
        return Block(
            run_id=lease.run_id,
            lease_id=lease.lease_id,
            segment_index=segment,
            block_index=segment,
            policy_version=lease.seats[0].policy_version,
            slot_id=from_numpy(slots),
            first_step=from_numpy(np.full(len(slots), first, np.int32)),
            observation={"obs": from_numpy(observation)},
            action=from_numpy(np.zeros(shape, np.int32)),
            log_prob=from_numpy(log_prob),
            value=from_numpy(value),
            reward=from_numpy(rewards),
            terminated=from_numpy((flags + ends[:, None]).astype(np.uint8)),
            truncated=from_numpy(flags),
            valid=from_numpy(flags + np.uint8(1)),
            executed_ticks=from_numpy((flags + 1).astype(np.uint16)),
            bootstrap_observation={"obs": from_numpy(after)},
            bootstrap_value=from_numpy(bootstrap),
            episodes=columns_of(episodes if lease.purpose == "train" else []),
        )

    def _episode(self, instance: int, episode: int, step: int) -> EpisodeResult:
        return EpisodeResult(
            instance_id=instance,
            episode=episode,
            step=step,
            returns=[self._fleet.episode_return],
            length_steps=EPISODE_STEPS,
            length_ticks=EPISODE_STEPS,
            end_reason="terminated",
        )

    async def _send_episodes(self, lease: Lease) -> None:
        if lease.record == "none":
            return
        for value in self._fleet.recorded[: len(lease.episodes) or None]:
            episode = recorded(value, version=lease.seats[0].policy_version)
            message = EpisodeRecorded(run_id=lease.run_id, lease_id=lease.lease_id, episode=episode)
            await self._send(encode(message))

    async def _evaluate(self, lease: Lease) -> None:
        assert lease.seats[0].policy_version == self._version, "the policy goes before the lease"
        self._fleet.evaluated.append(lease.seats[0].policy_version)
        await self._send_episodes(lease)
        results = [
            self._episode(order.index, 0, 0).model_copy(update={"returns": [self._fleet.evaluation_return]})
            for order in lease.episodes
        ]
        result = EvaluationResult(
            run_id=lease.run_id,
            lease_id=lease.lease_id,
            policy_version=lease.seats[0].policy_version,
            episodes=results,
            play_seconds=0.1,
        )
        await self._send(encode(result))


class _Model:
    """A policy of two actions as the server sent it."""

    def __init__(self, onnx: bytes) -> None:
        # Imported here: most fleets play the fake learner's models.
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(onnx, options)

    def judge(self, observation: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Log-probability of action 0, and value, of observations [..., 1]; both [...] float32."""
        logits, value = self._session.run(["logits", "value"], {"obs": observation.reshape(-1, 1)})
        shape = observation.shape[:-1]
        log_prob = logits[:, 0] - np.logaddexp(logits[:, 0], logits[:, 1])
        return log_prob.reshape(shape).astype(np.float32), value.reshape(shape).astype(np.float32)
