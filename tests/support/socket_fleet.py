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

from attract.schema.base import WireModel
from attract.schema.frames import decode_to_browser, encode
from attract.schema.game import GameDescription
from attract.schema.game_messages import CheckedPlay
from attract.schema.messages import (
    Assignment,
    Block,
    BlockAck,
    CheckGame,
    EpisodeRecorded,
    GameChecked,
    GameDescribed,
    GameFailed,
    HostStatus,
    Lease,
    LeaseVoid,
    Policy,
    Refused,
    RunEnded,
    ToBrowser,
    WelcomeHost,
    WelcomeWorker,
)
from fake_worker import FakeWorker, host_hello
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
    description: GameDescription = DESCRIPTION
    """What the game says of itself."""
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

    async def _host(self) -> None:
        async with self._connect() as socket:
            hello = host_hello(self.host_id, max_workers=self.max_workers, build=self.build, token=self.token)
            await socket.send(encode(hello))
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
                run_id=assignment.run_id, sha256=assignment.game.sha256, description=self.description
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
            fake = FakeWorker(
                run_id,
                host_id=self.host_id,
                worker_index=index,
                worker_key=f"{self.host_id[:24]}{index:08x}",
                token=self.token,
                build=self.build,
                episode_steps=EPISODE_STEPS,
            )
            await socket.send(encode(fake.hello()))
            worker = _Worker(self, socket, fake)
            async for data in socket:
                if not await worker.handle(decode_to_browser(data)):
                    return


class _Worker:
    """A fake worker at the end of a socket: it plays each lease to its end as soon as that comes."""

    def __init__(self, fleet: SocketFleet, socket: Any, worker: FakeWorker) -> None:
        self._fleet = fleet
        self._socket = socket
        self._worker = worker
        self._first_slot: dict[tuple[int, int], int] = {}
        """First slot of each block that is not acknowledged, by lease and index."""
        self._has_failed = False

    async def _send(self, *messages: WireModel | bytes) -> None:
        # A server that closes has said why before it closed: that is still to be read.
        with contextlib.suppress(websockets.ConnectionClosed):
            for message in messages:
                await self._socket.send(message if isinstance(message, bytes) else encode(message))

    async def handle(self, message: ToBrowser) -> bool:
        """Deal with a message; False when there is no more to come."""
        fleet, index = self._fleet, self._worker.worker_index
        answers = self._worker.deliver(message)
        match message:
            case WelcomeWorker():
                await self._send(*fleet.stale)
            case Policy():
                if fleet.plays:
                    self._worker.judge = _Model(message.onnx).judge
                else:
                    assert message.onnx == b"onnx %d" % message.policy_version
                fleet.policies.append(message.policy_version)
                if index != fleet.never_ready:
                    await self._send(*answers)
            case Lease():
                fleet.leases.append(message)
                await self._play(message)
            case BlockAck():
                key = (message.lease_id, message.block_index)
                if message.accepted:
                    fleet.accepted.append((*key, self._first_slot.pop(key)))
                else:
                    # Blocks of an earlier life of the server were sent by no worker of this one.
                    self._first_slot.pop(key, None)
                    fleet.refused_blocks.append(message)
                async with fleet.changed:
                    fleet.changed.notify_all()
            case LeaseVoid():
                pass
            case Refused():
                fleet.refused.append(message)
            case RunEnded():
                async with fleet.changed:
                    fleet.workers_ended.append(index)
                    fleet.changed.notify_all()
                return False
            case other:
                raise AssertionError(f"a worker was sent {other.type}")
        return True

    async def _play(self, lease: Lease) -> None:
        fleet, worker = self._fleet, self._worker
        worker.episode_return, worker.evaluation_return = fleet.episode_return, fleet.evaluation_return
        if lease.purpose == "evaluate":
            fleet.evaluated.append(lease.seats[0].policy_version)
        if lease.purpose == "train" and fleet.failure is not None and not self._has_failed:
            self._has_failed = True
            update = {"run_id": lease.run_id, "worker_index": worker.worker_index}
            await self._send(fleet.failure.model_copy(update=update))
        while worker.leases:
            for message in worker.play():
                if isinstance(message, Block):
                    await self._send_block(message)
                else:
                    await self._send(*self._recorded(lease), message)

    async def _send_block(self, block: Block) -> None:
        fleet = self._fleet
        first_slot = int(np.frombuffer(block.slot_id.data, "<i4")[0])
        self._first_slot[block.lease_id, block.block_index] = first_slot
        if fleet.block_error is not None:
            data, fleet.block_error = fleet.block_error, None
            await self._send(data)
        fleet.newest_block = encode(block)
        await self._send(fleet.newest_block)

    def _recorded(self, lease: Lease) -> list[EpisodeRecorded]:
        """The episodes that it sends with the end of a lease that asks for some."""
        returns = [] if lease.record == "none" else self._fleet.recorded[: len(lease.episodes) or None]
        version = lease.seats[0].policy_version
        return [
            EpisodeRecorded(
                run_id=lease.run_id, lease_id=lease.lease_id, episode=recorded(value, version=version)
            )
            for value in returns
        ]


class _Model:
    """A policy of two actions as the server sent it."""

    def __init__(self, onnx: bytes) -> None:
        # Imported here: most fleets play the fake learner's models.
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(onnx, options)

    def judge(self, observation: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Log-probabilities [..., A] and values [...] of observations [..., 1]; float32."""
        logits, value = self._session.run(["logits", "value"], {"obs": observation.reshape(-1, 1)})
        shape = observation.shape[:-1]
        log_probs = logits - np.logaddexp.reduce(logits, -1, keepdims=True)
        return log_probs.reshape(*shape, -1).astype(np.float32), value.reshape(shape).astype(np.float32)
