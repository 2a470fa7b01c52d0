"""The real inference process over its socket and rings, with a fake worker behind it."""

import json
import os
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from attract.experience.ring import FrameRing, RingPlace
from attract.policy.export import OnnxPatcher
from attract.policy.network import build_policy
from attract.schema.base import WireModel
from attract.schema.frames import decode_from_browser, decode_from_inference, decode_to_browser, encode
from attract.schema.inference import (
    BeginInference,
    EndInference,
    ForwardedFrame,
    Frame,
    FromInference,
    InferenceFailed,
    InferPolicy,
    Observed,
    ObserveRefused,
    PolicyInferred,
    ServedLease,
    ServeLeases,
)
from attract.schema.messages import Act, Block, Lease, RolloutClose, Seat, Seed
from attract.schema.tensor import to_numpy
from attract.settings.run import PolicySettings
from fake_worker import counting_description
from step_server import FakeStepServer

LENGTH = struct.Struct("<I")
SEED = Seed(low=5, high=6)
DESCRIPTION = counting_description(observation_size=4, max_steps=None)
RING_BYTES = 1 << 16


class Process:
    """The process and our end of what it is spoken to by."""

    def __init__(self, folder: Path) -> None:
        self.inbound = FrameRing.create(folder / "in.bin", RING_BYTES)
        self.outbound = FrameRing.create(folder / "out.bin", RING_BYTES)
        self.trace = folder / "timeline.json"
        ours, theirs = socket.socketpair()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "attract.vector.serving", "--fd", str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
        )
        theirs.close()
        ours.settimeout(60)
        self.socket = ours

    def begin(self) -> None:
        self.send(
            BeginInference(
                run_id="run-1",
                description=DESCRIPTION,
                seed=SEED,
                horizon=4,
                num_groups=2,
                state_size=0,
                max_columns=2,
                device="cpu",
                num_threads=0,
                inbound_path=str(self.inbound.path),
                outbound_path=str(self.outbound.path),
                trace_path=str(self.trace),
            )
        )

    def send(self, message: WireModel) -> None:
        data = encode(message)
        self.socket.sendall(LENGTH.pack(len(data)) + data)

    def receive(self) -> FromInference:
        (length,) = LENGTH.unpack(self._read(LENGTH.size))
        return decode_from_inference(self._read(length))

    def _read(self, length: int) -> bytes:
        data = b""
        while len(data) < length:
            part = self.socket.recv(length - len(data))
            assert part, "the process is gone"
            data += part
        return data

    def payload(self, said: ForwardedFrame) -> bytes:
        if said.frame.data is not None:
            return said.frame.data
        return self.outbound.take(RingPlace(said.frame.start, said.frame.length))

    def observe(self, worker: FakeStepServer, act: Act, *, inline: bool) -> None:
        action = None if act.action is None else to_numpy(act.action, "action", "int32", (2,))
        ids = np.arange(2 * act.group, 2 * act.group + 2)
        data = encode(worker.answer(ids, act.group, action, lease_id=act.lease_id))
        place = None if inline else self.inbound.put(data)
        frame = Frame(data=data) if place is None else Frame(start=place.start, length=place.length)
        self.send(Observed(worker_id=0, frame=frame))


@pytest.fixture
def process(tmp_path: Path) -> Iterator[Process]:
    one = Process(tmp_path)
    yield one
    one.socket.close()
    one.process.wait(30)
    for ring in (one.inbound, one.outbound):
        ring.close(unlink=True)


def lease(lease_id: int = 3, *, num_segments: int = 2) -> ServedLease:
    message = Lease(
        run_id="run-1",
        lease_id=lease_id,
        purpose="train",
        seats=[Seat(policy_version=1)],
        game_sha256="ab" * 32,
        seed=SEED,
        num_segments=num_segments,
        group_sizes=[2, 2],
    )
    return ServedLease(worker_id=0, instance_ids=[0, 1, 2, 3], lease=message)


def onnx() -> bytes:
    policy = build_policy(PolicySettings(hidden_sizes=(8,)), DESCRIPTION, seed=1)
    return OnnxPatcher(policy).patched(policy.state_dict())


def test_a_lease_is_played_through_rings_and_socket_and_what_cannot_be_is_refused(process: Process):
    process.begin()
    process.send(InferPolicy(policy_version=1, onnx=onnx()))
    ready = process.receive()
    assert isinstance(ready, PolicyInferred)
    assert ready.policy_version == 1
    process.send(ServeLeases(leases=[lease()]))
    worker, blocks, closes, acts = FakeStepServer(1), [], [], 0
    while not closes:
        said = process.receive()
        assert isinstance(said, ForwardedFrame)
        data = process.payload(said)
        if said.to_worker:
            act = decode_to_browser(data)
            assert isinstance(act, Act)
            acts += 1
            process.observe(worker, act, inline=acts % 3 == 0)
            continue
        message = decode_from_browser(data)
        if isinstance(message, Block):
            blocks.append(message)
        else:
            assert isinstance(message, RolloutClose)
            closes.append(message)
    assert [(block.segment_index, block.block_index) for block in blocks] == [(0, 0), (0, 1), (1, 2), (1, 3)]
    # Two looks, then 4 steps of 2 segments of 2 groups.
    assert acts == 2 + 16
    # In the next lease the first act is answered by an observe only: that is refused, and makes no block.
    process.send(ServeLeases(leases=[lease(4)]))
    said = process.receive()
    assert isinstance(said, ForwardedFrame)
    act = decode_to_browser(process.payload(said))
    assert isinstance(act, Act)
    assert act.action is not None
    wrong = worker.answer(np.arange(2 * act.group, 2 * act.group + 2), act.group, None, lease_id=4)
    process.send(Observed(worker_id=0, frame=Frame(data=encode(wrong))))
    while not isinstance(said := process.receive(), ObserveRefused):
        assert isinstance(said, ForwardedFrame)
        assert said.to_worker, "no block of what was refused"
    assert said.worker_id == 0
    assert said.reason == "observe.outcome: missing"
    process.send(EndInference())
    assert process.process.wait(30) == 0
    tracks = {
        event["args"]["name"]
        for event in json.loads(process.trace.read_text())["traceEvents"]
        if event["ph"] == "M"
    }
    assert tracks == {"policy", "games of group 0", "games of group 1"}


def test_what_it_cannot_survive_is_told_before_it_ends(process: Process):
    process.send(InferPolicy(policy_version=1, onnx=b""))
    failed = process.receive()
    assert isinstance(failed, InferenceFailed)
    assert "begin_inference first" in failed.text
    assert process.process.wait(30) == 1


def test_a_policy_that_is_none_is_told_before_it_ends(process: Process):
    process.begin()
    process.send(InferPolicy(policy_version=1, onnx=b"nothing"))
    failed = process.receive()
    assert isinstance(failed, InferenceFailed)
    assert "version 1 cannot be run" in failed.text
    assert process.process.wait(30) == 1


def test_it_ignores_ctrl_c_and_ends_with_its_gateway(process: Process):
    process.begin()
    for version in (1, 2):
        process.send(InferPolicy(policy_version=version, onnx=onnx()))
        assert isinstance(process.receive(), PolicyInferred)
        os.kill(process.process.pid, signal.SIGINT)
    process.socket.close()
    assert process.process.wait(30) == 0
