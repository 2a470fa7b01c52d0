"""A fleet without browsers: real websockets in a process of its own, which send as much as they are let.

`python -m attract_benchmarks.harness.socket_clients` reads its request as a line, says when every worker has
a lease, and then answers each further line, a `Burst`, with what became of it.
"""

import asyncio
import contextlib
import itertools
import time
from collections import deque
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
import websockets
from pydantic import BaseModel, ConfigDict

from attract.schema import PROTOCOL_VERSION
from attract.schema.frames import decode_to_browser, encode
from attract.schema.messages import (
    Assignment,
    BlockAck,
    GameDescribed,
    Goodbye,
    Hello,
    HostStatus,
    Lease,
    LeaseVoid,
    Policy,
    PolicyAck,
    Refused,
    RolloutClose,
    RunEnded,
    WelcomeWorker,
)
from attract.schema.tensor import from_numpy
from attract.server.app_server import run_async
from attract_benchmarks.harness.child import questions, say
from attract_benchmarks.harness.played_blocks import DESCRIPTIONS, PlayedBlocks

HOST_ID = "b" * 32
BLOCKS_PER_SOCKET = 4
"""Unacknowledged ones; the gateway closes a socket with more than twice as many."""


class Fleet(BaseModel):
    """Workers and their gateway; `bare_url`: of the server that only answers."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    url: str
    token: str
    build: str
    num_workers: int
    bare_url: str | None = None


class Burst(BaseModel):
    """Send blocks for a while, with at most so many unacknowledged in all."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    to: Literal["gateway", "bare"]
    seconds: float
    in_flight: int


class Joined(BaseModel):
    """All workers have something to send; a block frame is so large."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    frame_bytes: int


class Outcome(BaseModel):
    """Accepted blocks, from the first one sent to the last acknowledgement."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    num_bytes: int
    num_blocks: int
    seconds: float


class _Window:
    """Lets so many blocks be unacknowledged at once, in the order asked; closed, none is sent."""

    def __init__(self) -> None:
        self._limit = 0
        self._used = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._idle = asyncio.Event()
        self._idle.set()
        self._bytes = 0
        self._blocks = 0
        self._last = 0.0

    async def take(self) -> None:
        """Wait for room."""
        room: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(room)
        self._let()
        await room

    def acknowledged(self, num_bytes: int) -> None:
        """A block is dealt with; 0: it was refused."""
        self._bytes += num_bytes
        self._blocks += num_bytes > 0
        self._last = time.perf_counter()
        self.give_back()

    def give_back(self) -> None:
        """Leave room for another block."""
        self._used -= 1
        self._let()
        if self._used == 0:
            self._idle.set()

    async def burst(self, seconds: float, limit: int) -> Outcome:
        """Open for so long, then wait until all is acknowledged."""
        self._bytes = self._blocks = 0
        self._last = started = time.perf_counter()
        self._limit = limit
        self._let()
        await asyncio.sleep(seconds)
        self._limit = 0
        await self._idle.wait()
        return Outcome(num_bytes=self._bytes, num_blocks=self._blocks, seconds=self._last - started)

    def _let(self) -> None:
        while self._waiting and self._used < self._limit:
            self._used += 1
            self._idle.clear()
            self._waiting.popleft().set_result(None)


class _Worker:
    """One worker's socket."""

    def __init__(
        self, fleet: Fleet, run_id: str, index: int, window: _Window, leased: asyncio.Queue[bytes]
    ) -> None:
        self._fleet = fleet
        self._run_id = run_id
        self._index = index
        self._window = window
        self._leased = leased
        self._leases: asyncio.Queue[Lease] = asyncio.Queue()
        self._own = asyncio.Semaphore(BLOCKS_PER_SOCKET)
        self._sent: deque[int] = deque()
        self._welcome: WelcomeWorker | None = None
        self._blocks: PlayedBlocks | None = None
        self._is_known = False
        self._voided: set[int] = set()

    async def run(self) -> None:
        """Join, and play until the run ends."""
        fleet = self._fleet
        async with _connect(fleet.url) as socket:
            key = f"{self._index:032x}"
            hello = _hello(
                fleet, role="worker", run_id=self._run_id, worker_index=self._index, worker_key=key
            )
            await socket.send(hello)
            playing = asyncio.create_task(self._play(socket))
            try:
                async for data in socket:
                    if not await self._handle(socket, decode_to_browser(data)):
                        return
                    if playing.done():
                        playing.result()
            finally:
                playing.cancel()

    async def _handle(self, socket: Any, message: Any) -> bool:
        match message:
            case WelcomeWorker():
                self._welcome = message
                self._blocks = PlayedBlocks(message)
            case Policy():
                ack = PolicyAck(
                    run_id=message.run_id,
                    policy_id=message.policy_id,
                    policy_version=message.policy_version,
                    create_ms=0.0,
                )
                await socket.send(encode(ack))
            case Lease():
                self._leases.put_nowait(message)
                if self._blocks is not None and not self._is_known:
                    self._is_known = True
                    self._leased.put_nowait(self._blocks.sample)
            case BlockAck():
                size = self._sent.popleft()
                self._own.release()
                self._window.acknowledged(size if message.accepted else 0)
            case LeaseVoid():
                # The batch was filled without it: what is left of it is not wanted.
                self._voided.add(message.lease_id)
            case RunEnded():
                return False
            case Refused():
                raise RuntimeError(f"the gateway refused: {message.reason}")
            case _:
                pass
        return True

    async def _play(self, socket: Any) -> None:
        while True:
            lease = await self._leases.get()
            welcome, blocks = self._welcome, self._blocks
            if welcome is None or blocks is None:
                raise RuntimeError(f"expected a welcome before {lease!r}")
            for frame in blocks.frames(lease):
                await self._own.acquire()
                await self._window.take()
                if lease.lease_id in self._voided:
                    self._own.release()
                    self._window.give_back()
                    break
                self._sent.append(len(frame))
                await socket.send(frame)
            else:
                await socket.send(encode(_close(lease, welcome)))


async def _host(fleet: Fleet, window: _Window, leased: asyncio.Queue[bytes]) -> None:
    """The connection of the page, and its workers."""
    async with contextlib.AsyncExitStack() as stack:
        workers = await stack.enter_async_context(asyncio.TaskGroup())
        socket = await stack.enter_async_context(_connect(fleet.url))
        await socket.send(_hello(fleet, role="host", max_workers=fleet.num_workers))
        numbers: Iterator[int] = itertools.count()
        started = 0
        async for data in socket:
            match decode_to_browser(data):
                case Assignment(run_id=str(run_id), game=game) as assignment if game is not None:
                    if assignment.describe:
                        described = GameDescribed(
                            run_id=run_id, sha256=game.sha256, description=DESCRIPTIONS[game.name]
                        )
                        await socket.send(encode(described))
                    while started < min(assignment.num_workers, fleet.num_workers):
                        worker = _Worker(fleet, run_id, next(numbers), window, leased)
                        workers.create_task(worker.run())
                        started += 1
                    await socket.send(encode(HostStatus(run_id=run_id, num_workers=started)))
                case RunEnded():
                    await socket.send(encode(Goodbye()))
                    return
                case Refused() as refused:
                    raise RuntimeError(f"the gateway refused: {refused.reason}")
                case _:
                    pass


async def _bare(url: str, frame: bytes, window: _Window) -> None:
    """One socket of the bare server."""
    async with _connect(url) as socket:
        own = asyncio.Semaphore(BLOCKS_PER_SOCKET)

        async def send() -> None:
            while True:
                await own.acquire()
                await window.take()
                await socket.send(frame)

        sending = asyncio.create_task(send())
        try:
            async for _answer in socket:
                own.release()
                window.acknowledged(len(frame))
        finally:
            sending.cancel()


def _connect(url: str) -> Any:
    return websockets.connect(url, compression=None, max_size=None, proxy=None)


def _hello(fleet: Fleet, **fields: Any) -> bytes:
    common = {"protocol_version": PROTOCOL_VERSION, "build": fleet.build, "token": fleet.token}
    return encode(Hello.model_validate({**common, "host_id": HOST_ID, **fields}))


def _close(lease: Lease, welcome: WelcomeWorker) -> RolloutClose:
    slots = np.array(welcome.instance_ids, np.int32)
    return RolloutClose(
        run_id=lease.run_id,
        lease_id=lease.lease_id,
        num_blocks=lease.num_segments,
        slot_id=from_numpy(slots),
        bootstrap_value=from_numpy(np.zeros(len(slots), np.float32)),
        play_seconds=0.1,
        inference_seconds=0.05,
        game_seconds=0.05,
        wait_seconds=0.0,
    )


async def _main() -> None:
    lines = questions()
    fleet = Fleet.model_validate_json(await anext(lines))
    gateway, bare = _Window(), _Window()
    leased: asyncio.Queue[bytes] = asyncio.Queue()
    async with asyncio.TaskGroup() as tasks:
        host = tasks.create_task(_host(fleet, gateway, leased))
        samples = [await leased.get() for _ in range(fleet.num_workers)]
        others: list[asyncio.Task[None]] = []
        if fleet.bare_url is not None:
            others = [tasks.create_task(_bare(fleet.bare_url, frame, bare)) for frame in samples]
        say(Joined(frame_bytes=len(samples[0])))
        async for line in lines:
            burst = Burst.model_validate_json(line)
            window = gateway if burst.to == "gateway" else bare
            say(await window.burst(burst.seconds, burst.in_flight))
        for task in (host, *others):
            task.cancel()


if __name__ == "__main__":
    run_async(_main())
