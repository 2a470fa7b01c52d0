"""Processes: the gateway's links to its children, Ctrl-C once and twice, and the table of exit codes."""

import asyncio
import dataclasses
import os
import re
import signal
import socket
import struct
import sys
from pathlib import Path
from typing import Any

import pytest

from attract.errors import InferenceError, LearnerError, ProtocolError
from attract.processes import exit_codes
from attract.processes.children import INFERENCE, LEARNER
from attract.processes.interrupt import Interruption, Interrupts, Terminated
from attract.processes.link import Peer, ProcessLink, open_link, spawn
from attract.schema.base import WireModel
from attract.schema.frames import decode_to_learner, encode
from attract.schema.inference import EndInference, ObserveRefused
from attract.schema.learner import Dropped, Exported, Shutdown, Warmup


async def pair(
    peer: Peer[Any] = LEARNER,
) -> tuple[ProcessLink[Any], asyncio.StreamReader, asyncio.StreamWriter]:
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    reader, writer = await asyncio.open_connection(sock=theirs)
    return await open_link(peer, ours), reader, writer


async def test_messages_travel_both_ways_behind_their_length():
    link, reader, writer = await pair()
    link.send(Warmup(rows=[3, 1, 2]))
    (length,) = struct.unpack("<I", await reader.readexactly(4))
    assert decode_to_learner(await reader.readexactly(length)) == Warmup(rows=[3, 1, 2])
    for number in (1, 2):
        data = encode(Dropped(batch_id=number, reason="nan", consecutive=number))
        writer.write(struct.pack("<I", len(data)) + data)
    assert [await link.receive(), await link.receive()] == [
        Dropped(batch_id=1, reason="nan", consecutive=1),
        Dropped(batch_id=2, reason="nan", consecutive=2),
    ]
    writer.close()
    await link.kill()


async def test_a_learner_that_goes_within_a_message_is_gone_and_no_error():
    link, _, writer = await pair()
    data = encode(Exported(policy_version=1, out_dir="x"))
    writer.write(struct.pack("<I", len(data)) + data[:-1])
    writer.close()
    assert await link.receive() is None
    link.send(Shutdown())
    await link.kill()


@pytest.mark.parametrize(("peer", "error"), [(LEARNER, LearnerError), (INFERENCE, InferenceError)])
async def test_what_is_no_message_is_that_processs_error(peer, error):
    link, _, writer = await pair(peer)
    writer.write(struct.pack("<I", 1) + b"\xc0")
    with pytest.raises(error, match=f"^{peer.name} sent an invalid message"):
        await link.receive()
    writer.write(struct.pack("<I", 2**31))
    with pytest.raises(error, match="2147483648 bytes"):
        await link.receive()
    writer.close()
    await link.kill()


async def test_a_process_is_asked_to_end_in_its_own_words():
    link, reader, writer = await pair()
    assert await link.close() is None
    (length,) = struct.unpack("<I", await reader.readexactly(4))
    assert decode_to_learner(await reader.readexactly(length)) == Shutdown()
    writer.close()


async def test_a_process_that_does_not_end_when_asked_is_killed():
    stubborn = dataclasses.replace(LEARNER, shutdown_seconds=0.1)
    link = await spawn(stubborn, command=(sys.executable, "-c", "import time; time.sleep(600)"))
    assert await link.close() == -signal.SIGKILL


SAID: dict[str, tuple[Peer[Any], WireModel, WireModel, type[Exception]]] = {
    "learner": (LEARNER, Dropped(batch_id=1, reason="nan", consecutive=1), Shutdown(), LearnerError),
    "inference": (
        INFERENCE,
        ObserveRefused(worker_id=0, reason="r", fix="f"),
        EndInference(),
        InferenceError,
    ),
}


@pytest.mark.parametrize("name", SAID)
def test_its_words_are_read_and_those_to_it_are_not_its_own(name: str):
    peer, said, end, error = SAID[name]
    assert peer.decode(encode(said)) == said
    with pytest.raises(ProtocolError):
        peer.decode(encode(end))
    assert peer.shutdown_message == end
    assert peer.error is error


@pytest.mark.parametrize("name", SAID)
async def test_a_spawned_process_is_out_of_reach_of_ctrl_c_and_its_end_is_heard_of(name: str):
    peer, *_ = SAID[name]
    link = await spawn(peer)
    assert link.process is not None
    assert list(link.process.args)[: len(peer.command)] == list(peer.command)  # type: ignore[arg-type]
    assert os.getpgid(link.process.pid) != os.getpgid(0)
    link.process.kill()
    assert await link.receive() is None
    assert await link.kill() == -signal.SIGKILL


PAGE = Path(__file__).resolve().parents[3] / "docs" / "commands.md"


def test_the_page_has_every_code_once() -> None:
    table = [int(code) for code in re.findall(r"^\| (\d+) \|", PAGE.read_text(), re.MULTILINE)]
    codes = {value for name, value in vars(exit_codes).items() if name.isupper() and isinstance(value, int)}
    assert sorted(table) == sorted(codes) == [0, 1, 2, 3, 4, 130, 141, 143]


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (signal.SIGINT, exit_codes.INTERRUPTED),
        (signal.SIGTERM, exit_codes.TERMINATED),
        (signal.SIGPIPE, exit_codes.OUTPUT_GONE),
    ],
)
def test_a_signal_s_code_is_the_shell_s(number: int, code: int) -> None:
    assert exit_codes.of_signal(number) == code


class Clock:
    """Seconds that pass between two looks at it: `step` each time."""

    def __init__(self, step: float = 2.0) -> None:
        self.step, self.now = step, 0.0

    def __call__(self) -> float:
        self.now += self.step
        return self.now


async def test_two_signals_that_arrive_together_are_one() -> None:
    # `timeout` signals its child and then the whole group; npm and uv pass on what the terminal sent already.
    asked: list[str] = []
    clock = Clock(0.1)
    interrupts = Interrupts(lambda: asked.append("end"), clock)
    for number in (signal.SIGTERM, signal.SIGTERM, signal.SIGINT):
        interrupts.count(number)
    assert (asked, interrupts.second.is_set(), interrupts.exit_code) == (["end"], False, 143)
    clock.step = 1.0
    interrupts.count(signal.SIGTERM)
    assert interrupts.second.is_set()


def test_a_signal_before_there_is_a_loop_ends_a_command_once() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with Interruption().noticed() as interruption:
        with pytest.raises(Terminated):
            os.kill(os.getpid(), signal.SIGTERM)
        assert interruption.has_come
        os.kill(os.getpid(), signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) is before


async def test_the_first_asks_and_the_second_insists() -> None:
    asked: list[str] = []
    with Interrupts(lambda: asked.append("end"), Clock()).listening() as interrupts:
        os.kill(os.getpid(), signal.SIGINT)
        await interrupts.first.wait()
        assert not interrupts.second.is_set()
        os.kill(os.getpid(), signal.SIGINT)
        await interrupts.second.wait()
    assert asked == ["end"]


async def test_the_handlers_are_gone_afterwards() -> None:
    before = signal.getsignal(signal.SIGINT)
    with Interrupts().listening():
        pass
    assert signal.getsignal(signal.SIGINT) in (before, signal.default_int_handler)


@pytest.mark.parametrize(
    ("numbers", "code"),
    [
        ([signal.SIGINT], 130),
        ([signal.SIGTERM], 143),
        ([signal.SIGTERM, signal.SIGINT], 143),
        ([signal.SIGINT, signal.SIGTERM], 130),
    ],
)
async def test_the_exit_code_is_that_of_the_first(numbers: list[int], code: int) -> None:
    with Interrupts(clock=Clock()).listening() as interrupts:
        assert interrupts.exit_code is None
        for number in numbers:
            os.kill(os.getpid(), number)
            await asyncio.wait_for(
                (interrupts.first if number == numbers[0] else interrupts.second).wait(), 5
            )
    assert interrupts.exit_code == code


async def test_what_counts_as_a_signal_asks_for_the_end_too() -> None:
    asked: list[str] = []
    interrupts = Interrupts(lambda: asked.append("end"))
    interrupts.count(signal.SIGPIPE)
    assert interrupts.first.is_set() and asked == ["end"]
    assert interrupts.exit_code == 141
