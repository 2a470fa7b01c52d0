import asyncio
import dataclasses
import signal
import socket
import struct
import sys
from typing import Any

import pytest

from attract.errors import InferenceError, LearnerError
from attract.processes.children import INFERENCE, LEARNER
from attract.processes.link import Peer, ProcessLink, open_link, spawn
from attract.schema.frames import decode_to_learner, encode
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
