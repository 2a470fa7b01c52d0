"""What is noted of an app's websockets, seen from the app's own side."""

import time
from collections import deque
from collections.abc import Callable
from typing import Any

from attract.schema.frames import encode
from attract.schema.messages import BlockAck, LeaseVoid, Policy, PolicyAck
from attract_benchmarks.harness.stamps import StampedApp

BLOCK = b"b" * 5000
ACK = encode(BlockAck(run_id="r", lease_id=1, block_index=0, accepted=True))
VOID = encode(LeaseVoid(run_id="r", lease_id=1, reason="block_ack"))
POLICY = encode(Policy(run_id="r", policy_version=3, onnx=b"onnx"))
DEALING_SECONDS = 0.002
POLICY_ACK = encode(PolicyAck(run_id="r", policy_id="main", policy_version=3, create_ms=2.0))


class Script:
    """An app that receives `received` one by one and, before each further one, sends what is due."""

    def __init__(self, received: list[bytes], sent: list[list[bytes]]) -> None:
        self._received = deque(received)
        self._sent = sent
        self.heard: list[bytes] = []
        self.said: list[bytes] = []
        self.deal: Callable[[], None] = lambda: None
        """What the app does at once with what it received."""

    async def app(self, _scope: Any, receive: Any, send: Any) -> None:
        for answers in self._sent:
            self.heard.append((await receive())["bytes"])
            time.sleep(DEALING_SECONDS)  # noqa: ASYNC251 - as the gateway deals with a block
            self.deal()
            for answer in answers:
                await send({"type": "websocket.send", "bytes": answer})

    async def receive(self) -> Any:
        return {"type": "websocket.receive", "bytes": self._received.popleft()}

    async def send(self, message: Any) -> None:
        self.said.append(message["bytes"])


async def play(script: Script, stamped: StampedApp) -> None:
    await stamped({"type": "websocket"}, script.receive, script.send)


async def test_a_block_takes_until_its_row_is_committed():
    script = Script([BLOCK, BLOCK[:4500], b"small"], [[VOID], [ACK, VOID], [ACK, ACK]])
    stamped = StampedApp(script.app)
    script.deal = stamped.committed
    await play(script, stamped)
    passed = stamped.take()
    assert (script.heard, script.said) == ([BLOCK, BLOCK[:4500], b"small"], [VOID, ACK, VOID, ACK, ACK])
    assert [size for size, _ in passed.blocks] == [5000, 4500], "each once, and nothing that is no block"
    assert all(DEALING_SECONDS <= seconds < 1 for _, seconds in passed.blocks)
    assert passed.num_bytes == 9500


async def test_a_block_that_is_refused_is_none_that_was_committed():
    script = Script([BLOCK, BLOCK], [[ACK], [ACK]])
    stamped = StampedApp(script.app)
    await play(script, stamped)
    assert stamped.take().blocks == []


async def test_policies_and_their_acknowledgements_are_noted_for_each_socket():
    script = Script([POLICY_ACK] * 4, [[POLICY], []])
    stamped = StampedApp(script.app)
    await play(script, stamped)
    await play(script, stamped)
    passed = stamped.take()
    assert [(socket, frame) for socket, _, frame in passed.policies] == [(1, POLICY), (2, POLICY)]
    assert [socket for socket, _, _ in passed.acks] == [1, 1, 2, 2]
    assert {frame for _, _, frame in passed.acks} == {POLICY_ACK}


async def test_a_look_begins_anew():
    script = Script([BLOCK], [[ACK]])
    stamped = StampedApp(script.app)
    await play(script, stamped)
    assert stamped.take().num_bytes == 5000
    assert (stamped.take().num_bytes, stamped.take().blocks) == (0, [])
