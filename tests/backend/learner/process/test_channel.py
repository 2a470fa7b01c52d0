import socket
import struct
import threading

import pytest

from attract.errors import ProtocolError
from attract.learner.process.channel import Channel
from attract.schema.frames import decode_from_learner, encode
from attract.schema.learner import Awaited, Dropped, Exported, Shutdown, Warmup

LENGTH = struct.Struct("<I")


@pytest.fixture
def ends():
    gateway, learner = socket.socketpair()
    channel = Channel(learner)
    yield gateway, channel
    gateway.close()
    channel._reader.close()
    learner.close()


def framed(data: bytes) -> bytes:
    return LENGTH.pack(len(data)) + data


def test_messages_arrive_one_by_one_however_the_bytes_are_cut(ends):
    gateway, channel = ends
    data = framed(encode(Warmup(rows=[3, 1, 2]))) + framed(encode(Shutdown()))
    for byte in range(len(data)):
        gateway.send(data[byte : byte + 1])
    assert channel.receive() == Warmup(rows=[3, 1, 2])
    assert channel.receive() == Shutdown()


def test_which_update_is_awaited_is_noted_and_no_message_of_its_own(ends):
    gateway, channel = ends
    assert channel.awaited is None
    gateway.send(framed(encode(Awaited(batch_id=3))) + framed(encode(Awaited(batch_id=4))))
    gateway.send(framed(encode(Shutdown())))
    assert channel.receive() == Shutdown()
    assert channel.awaited == 4


@pytest.mark.parametrize("cut", [0, 2, 4, 9], ids=["nothing", "in length", "no data", "in data"])
def test_a_peer_that_goes_away_is_told_apart_from_one_that_talks_nonsense(ends, cut):
    gateway, channel = ends
    gateway.send(framed(encode(Warmup(rows=[1])))[:cut])
    gateway.close()
    assert channel.receive() is None


def test_speaking_to_a_peer_that_has_gone_is_no_error(ends):
    gateway, channel = ends
    gateway.close()
    for _ in range(3):
        channel.send(Dropped(batch_id=1, reason="x", consecutive=1))
    assert channel.receive() is None


@pytest.mark.parametrize(
    "data",
    [framed(b"\xc1"), framed(encode(Dropped(batch_id=1, reason="x", consecutive=1))), b"\xff\xff\xff\xff"],
)
def test_what_is_no_message_to_the_learner_is_refused(ends, data):
    gateway, channel = ends
    gateway.send(data)
    with pytest.raises(ProtocolError):
        channel.receive()


def test_messages_of_two_threads_never_mix(ends):
    gateway, channel = ends
    texts = ["a" * 15_000, "b" * 15_000]

    def talk(text: str) -> None:
        for version in range(50):
            channel.send(Exported(policy_version=version, out_dir=text))

    threads = [threading.Thread(target=talk, args=(text,)) for text in texts]
    for thread in threads:
        thread.start()
    heard = {text: [] for text in texts}
    with gateway.makefile("rb") as file:
        for _ in range(100):
            (length,) = LENGTH.unpack(file.read(4))
            message = decode_from_learner(file.read(length))
            heard[message.out_dir].append(message.policy_version)
    for thread in threads:
        thread.join()
    assert heard == {text: list(range(50)) for text in texts}
