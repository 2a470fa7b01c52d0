import asyncio
import os
import signal
import socket
import struct

import pytest

from attract.errors import LearnerError
from attract.schema.frames import decode_to_learner, encode
from attract.schema.learner import Dropped, Exported, Shutdown, Warmup
from attract.server.learner_link import LearnerLink, spawn_learner


async def pair() -> tuple[LearnerLink, asyncio.StreamReader, asyncio.StreamWriter]:
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    reader, writer = await asyncio.open_connection(sock=theirs)
    return await LearnerLink.over(ours), reader, writer


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


async def test_what_is_no_message_is_an_error():
    link, _, writer = await pair()
    writer.write(struct.pack("<I", 1) + b"\xc0")
    with pytest.raises(LearnerError):
        await link.receive()
    writer.write(struct.pack("<I", 2**31))
    with pytest.raises(LearnerError, match="2147483648 bytes"):
        await link.receive()
    writer.close()
    await link.kill()


async def test_a_spawned_learner_is_out_of_reach_of_ctrl_c_and_its_end_is_heard_of():
    link = await spawn_learner()
    assert link.process is not None
    assert os.getpgid(link.process.pid) != os.getpgid(0)
    link.process.kill()
    assert await link.receive() is None
    assert await link.kill() == -signal.SIGKILL
