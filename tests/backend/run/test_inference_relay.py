"""The relay between fake workers and a fake inference process, over real rings and a real socket."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from attract.collection import trust_handlers
from attract.collection.effects import SendPolicy
from attract.errors import ProtocolError
from attract.experience.ring import FrameRing, RingPlace
from attract.processes.children import INFERENCE, InferenceLink
from attract.processes.link import open_link
from attract.run import ending
from attract.run.effect_runner import EffectRunner
from attract.run.inference_relay import CentralRelay
from attract.run.policy_cache import PolicyCache
from attract.schema import close_codes
from attract.schema.base import WireModel
from attract.schema.frames import decode_from_browser, decode_to_inference, encode
from attract.schema.inference import (
    BeginInference,
    CancelLease,
    ForwardedFrame,
    Frame,
    InferPolicy,
    Observed,
    ObserveRefused,
    PolicyInferred,
    ServeLeases,
    ToInference,
    WorkerGone,
)
from attract.schema.messages import (
    Act,
    BlockAck,
    FromBrowser,
    LeaseVoid,
    Observe,
    PolicyAck,
    RolloutClose,
    WelcomeWorker,
)
from attract.schema.tensor import from_numpy
from blocks import SEED, played_block, train_lease
from fake_worker import counting_description, counting_game

LENGTH = struct.Struct("<I")


class FakeHub:
    def __init__(self) -> None:
        self.sent: list[tuple[int, WireModel]] = []
        self.frames: list[tuple[int, bytes]] = []
        self.policies: list[tuple[int, int]] = []
        self.refused: list[tuple[int, ProtocolError]] = []

    def send(self, connection_id: int, message: WireModel) -> None:
        self.sent.append((connection_id, message))

    def send_frame(self, connection_id: int, frame: bytes) -> None:
        self.frames.append((connection_id, frame))

    def send_policy(self, connection_id: int, frame: bytes, policy_id: str, version: int) -> None:
        self.policies.append((connection_id, version))

    def refuse(self, connection_id: int, error: ProtocolError) -> None:
        self.refused.append((connection_id, error))


class World:
    """A relay, what its owner heard, and the inference process's end of everything."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.hub = FakeHub()
        self.policies = PolicyCache("run-1")
        self.policies.keep(0, b"zero")
        self.heard: list[tuple[int, FromBrowser]] = []
        self.failed: list[str] = []
        self.acts_of: list[int] = []
        self.wrongs: list[Any] = []
        self.collection = self
        self.happened = asyncio.Event()

    async def start(self) -> None:
        ours, theirs = socket.socketpair()
        self.reader, self.writer = await asyncio.open_connection(sock=theirs)

        async def start() -> InferenceLink:
            return await open_link(INFERENCE, ours)

        self.relay = CentralRelay(
            "run-1",
            start,
            cast("EffectRunner", self),
            self.handle_message,
            self.hub,
            self.policies,
            self.folder,
        )
        await self.relay.start()
        self.relay.begin(self._begin)
        begin = await self.next_message()
        assert isinstance(begin, BeginInference)
        self.inbound = FrameRing.open(Path(begin.inbound_path))
        self.outbound = FrameRing.open(Path(begin.outbound_path))

    def handle_message(self, connection_id: int, message: FromBrowser) -> None:
        self.heard.append((connection_id, message))
        self.happened.set()

    # --- the runner and its collection core ---

    def clock(self) -> float:
        return 0.0

    def asked(self, connection_id: int, now: float) -> None:
        self.acts_of.append(connection_id)

    def collect(self, *event: Any) -> None:
        self.wrongs.append(event)
        self.happened.set()

    def do(self, take: Any, error: str) -> None:
        assert take is ending.fail
        self.failed.append(error)
        self.happened.set()

    async def next_message(self) -> ToInference:
        (length,) = LENGTH.unpack(await self.reader.readexactly(LENGTH.size))
        return decode_to_inference(await self.reader.readexactly(length))

    def say(self, message: WireModel) -> None:
        data = encode(message)
        self.writer.write(LENGTH.pack(len(data)) + data)

    def say_for(self, worker: int, message: WireModel, *, to_worker: bool, inline: bool = False) -> None:
        data = encode(message)
        place = None if inline else self.outbound.put(data)
        frame = Frame(data=data) if place is None else Frame(start=place.start, length=place.length)
        self.say(ForwardedFrame(worker_id=worker, to_worker=to_worker, frame=frame))

    async def until(self, count: int) -> None:
        """Until the owner has heard so much in all."""
        while len(self.heard) + len(self.failed) + len(self.wrongs) < count:
            self.happened.clear()
            await asyncio.wait_for(self.happened.wait(), 10)

    def welcome(self, connection_id: int, worker_id: int) -> None:
        message = WelcomeWorker(
            run_id="run-1",
            worker_id=worker_id,
            game=counting_game(),
            description=counting_description(),
            instance_ids=[2 * worker_id, 2 * worker_id + 1],
            seed=SEED,
            horizon=4,
            max_frame_bytes=1 << 18,
        )
        assert self.relay.is_for_worker(connection_id, message)

    def _begin(self, inbound: str, outbound: str) -> BeginInference:
        return BeginInference(
            run_id="run-1",
            description=counting_description(),
            seed=SEED,
            horizon=4,
            num_groups=2,
            state_size=0,
            max_columns=8,
            device="cpu",
            num_threads=0,
            inbound_path=inbound,
            outbound_path=outbound,
        )


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    one = World(tmp_path)
    await one.start()
    yield one
    one.writer.close()
    await one.relay.close()


def served_lease(lease_id: int):
    return train_lease(lease_id).model_copy(update={"group_sizes": [1, 1]})


def observe(lease_id: int) -> Observe:
    return Observe(
        run_id="run-1",
        lease_id=lease_id,
        group=0,
        step=0,
        observation={"obs": from_numpy(np.zeros((1, 2), np.float32))},
        active=from_numpy(np.ones(1, np.uint8)),
        episode=from_numpy(np.zeros(1, np.int32)),
        episode_step=from_numpy(np.zeros(1, np.int32)),
    )


async def test_a_version_goes_to_the_process_once_and_is_acknowledged_for_every_worker(world: World):
    world.welcome(10, 0)
    world.welcome(11, 1)
    assert world.relay.policy(SendPolicy(10, "main", 0))
    assert world.relay.policy(SendPolicy(11, "main", 0))
    asked = await world.next_message()
    assert isinstance(asked, InferPolicy)
    assert (asked.policy_version, asked.onnx) == (0, b"zero")
    world.say(PolicyInferred(policy_version=0, create_ms=3.0))
    await world.until(2)
    acks = [(connection, message.policy_version) for connection, message in world.heard]
    assert acks == [(10, 0), (11, 0)]
    # One that is ready is acknowledged at once, and no worker was sent anything.
    assert world.relay.policy(SendPolicy(10, "main", 0))
    await world.until(3)
    assert isinstance(world.heard[2][1], PolicyAck)
    assert world.hub.policies == []


async def test_C8_leases_of_one_turn_are_handed_on_together(world: World):
    world.welcome(10, 0)
    world.welcome(11, 1)
    for connection, lease_id in ((10, 1), (11, 2)):
        # The worker hears of it too: it opens the lease and waits for acts.
        assert world.relay.is_for_worker(connection, served_lease(lease_id))
    message = await world.next_message()
    assert isinstance(message, ServeLeases)
    assert [(lease.worker_id, lease.instance_ids, lease.lease.lease_id) for lease in message.leases] == [
        (0, [0, 1], 1),
        (1, [2, 3], 2),
    ]


@pytest.mark.parametrize("inline", [False, True])
async def test_observations_go_through_the_ring_and_acts_come_back_as_they_are(world: World, inline: bool):
    world.welcome(10, 0)
    world.relay.observe(10, observe(1))
    message = await world.next_message()
    assert isinstance(message, Observed)
    assert message.frame.data is None
    data = world.inbound.take(RingPlace(message.frame.start, message.frame.length))
    assert decode_from_browser(data) == observe(1)
    act = Act(run_id="run-1", lease_id=1, group=0, action=None)
    world.say_for(0, act, to_worker=True, inline=inline)
    close = RolloutClose(
        run_id="run-1",
        lease_id=1,
        num_blocks=2,
        slot_id=from_numpy(np.zeros(1, np.int32)),
        bootstrap_value=from_numpy(np.zeros(1, np.float32)),
        play_seconds=1.0,
        inference_seconds=0.5,
        game_seconds=0.25,
        wait_seconds=0.0,
    )
    world.relay.is_for_worker(10, served_lease(1))
    world.say_for(0, close, to_worker=False, inline=inline)
    await world.until(1)
    assert world.hub.frames == [(10, encode(act))]
    # The core hears the close in the worker's name, and the worker that its lease is over.
    assert world.heard == [(10, close)]
    assert [(connection, message.lease_id) for connection, message in world.hub.sent] == [(10, 1)]
    assert isinstance(world.hub.sent[0][1], LeaseVoid)


async def test_who_observes_what_cannot_be_is_closed_and_nothing_more_of_it_is_taken(world: World):
    world.welcome(10, 0)
    world.welcome(11, 1)
    for connection, lease_id in ((10, 1), (11, 2)):
        world.relay.is_for_worker(connection, served_lease(lease_id))
    world.say(ObserveRefused(worker_id=0, reason="observe.reward: [2]", fix="expected [1]"))
    await world.until(1)
    [(refused, error)] = world.hub.refused
    assert (refused, error.code, error.close_code) == (10, "malformed", close_codes.MALFORMED)
    assert (error.reason, error.fix) == ("observe.reward: [2]", "expected [1]")
    assert world.wrongs == [(trust_handlers.message_wrong, 10, "observe.reward: [2]")]
    # What was under way in its name when it was refused is for nobody; the other worker's goes on.
    own, other = played_block(lease_id=1), played_block(lease_id=2)
    world.say_for(0, own, to_worker=False)
    world.say_for(0, Act(run_id="run-1", lease_id=1, group=0, action=None), to_worker=True)
    world.say(ObserveRefused(worker_id=0, reason="again", fix=""))
    world.say_for(1, other, to_worker=False)
    await world.until(2)
    assert world.heard == [(11, other)]
    assert (world.hub.frames, len(world.hub.refused), len(world.wrongs)) == ([], 1, 1)


async def test_a_worker_hears_no_acknowledgement_of_blocks_that_were_sent_in_its_name(world: World):
    world.welcome(10, 0)
    world.relay.is_for_worker(10, served_lease(1))
    ack = BlockAck(run_id="run-1", lease_id=1, block_index=0, accepted=True)
    assert not world.relay.is_for_worker(10, ack)
    assert world.relay.is_for_worker(10, ack.model_copy(update={"lease_id": 2}))


async def test_a_lease_that_lapses_is_void_for_both(world: World):
    world.welcome(10, 0)
    world.relay.is_for_worker(10, served_lease(1))
    await world.next_message()
    assert world.relay.is_for_worker(10, LeaseVoid(run_id="run-1", lease_id=1, reason="silent"))
    assert await world.next_message() == CancelLease(lease_id=1)


async def test_an_evaluation_is_the_workers_own_and_brings_it_the_policy(world: World):
    world.welcome(10, 0)
    lease = train_lease(1).model_copy(update={"purpose": "evaluate"})
    assert world.relay.is_for_worker(10, lease)
    assert world.hub.policies == [(10, 0)]
    record = train_lease(2).model_copy(update={"purpose": "warmup"})
    assert world.relay.is_for_worker(10, record)
    assert world.hub.policies == [(10, 0)]


async def test_a_worker_that_goes_or_comes_back_on_another_socket_is_told_of(world: World):
    world.welcome(10, 0)
    world.relay.gone(10)
    assert await world.next_message() == WorkerGone(worker_id=0)
    world.welcome(11, 0)
    world.welcome(12, 0)
    assert await world.next_message() == WorkerGone(worker_id=0)
    # The old socket's end comes late and means nothing.
    world.relay.gone(11)
    world.relay.observe(12, observe(1))
    assert isinstance(await world.next_message(), Observed)


async def test_a_process_that_ends_ends_the_run(world: World):
    world.writer.close()
    await world.until(1)
    assert world.failed == ["the inference process ended"]


async def test_its_rings_go_with_it(world: World):
    assert world.inbound.path.exists()
    world.writer.close()
    await world.relay.close()
    assert not world.inbound.path.exists()
    assert not world.outbound.path.exists()
