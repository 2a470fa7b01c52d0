import asyncio
import contextlib
import struct
from collections.abc import AsyncIterator
from pathlib import Path
from socket import SO_LINGER, SOL_SOCKET
from typing import Any

import pytest
import websockets
from fastapi import FastAPI, WebSocket

from attract.errors import ProtocolError
from attract.schema import PROTOCOL_VERSION
from attract.schema.frames import decode_to_browser, encode
from attract.schema.messages import FromBrowser, Goodbye, Hello, HostStatus, Policy, Refused, RunEnded, Tensor
from attract.schema.step_numbers import PackedPictures
from attract.server.guard import Guard, token_key
from attract.server.sockets import HELLO_BYTES, Connection, SocketHub
from attract.settings.run import ServerSettings
from blocks import played_block
from gateway_world import running_server
from waiting import WAIT_SECONDS


@pytest.fixture(autouse=True)
def runs_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the audit trail is written: `./runs` by default."""
    monkeypatch.chdir(tmp_path)


class Handler:
    """Records what it is told; `refuse` makes it raise for a message."""

    def __init__(self) -> None:
        self.connections: dict[int, tuple[Hello, str]] = {}
        self.identities = list[str]()
        self.messages: asyncio.Queue[FromBrowser] = asyncio.Queue()
        self.known: asyncio.Queue[int] = asyncio.Queue()
        self.gone: asyncio.Queue[int] = asyncio.Queue()
        self.refuse = False
        self.refusals: list[str] = []

    def connected(self, connection_id: int, hello: Hello, tier: Any, identity: str) -> None:
        self.connections[connection_id] = (hello, tier)
        self.identities.append(identity)
        self.known.put_nowait(connection_id)

    def received(self, connection_id: int, message: FromBrowser) -> None:
        if self.refuse:
            raise ProtocolError("not now", close_code=4005, fix="later")
        self.messages.put_nowait(message)

    def refused(self, _: int, error: ProtocolError) -> None:
        self.refusals.append(error.reason)

    def disconnected(self, connection_id: int) -> None:
        self.gone.put_nowait(connection_id)


class World:
    def __init__(self, **settings: Any) -> None:
        self.settings = ServerSettings.from_mapping(settings)
        self.guard = Guard(self.settings, lambda: 0.0)
        self.handler = Handler()
        self.hub = SocketHub(self.settings, self.guard, self.handler, build="b1")
        self.app = FastAPI()
        self.port = 0

        @self.app.websocket("/ws")
        async def talk(websocket: WebSocket) -> None:
            await self.hub.serve(websocket)

    def hello(self, **fields: Any) -> Hello:
        return Hello.model_validate(
            {
                "protocol_version": PROTOCOL_VERSION,
                "build": "b1",
                "role": "host",
                "token": self.guard.issue("worker"),
                "host_id": "a" * 32,
                **fields,
            }
        )

    def connect(self) -> Any:
        return websockets.connect(f"ws://127.0.0.1:{self.port}/ws", compression=None, max_size=None)

    @contextlib.asynccontextmanager
    async def greeted(self, **fields: Any) -> AsyncIterator[tuple[Any, int]]:
        """A connection whose hello was accepted, and its id."""
        async with self.connect() as socket:
            await socket.send(encode(self.hello(**fields)))
            yield socket, await self.handler.known.get()


@contextlib.asynccontextmanager
async def served(**settings: Any) -> AsyncIterator[World]:
    world = World(**settings)
    async with running_server(world.app, world.settings) as port:
        world.port = port
        yield world


async def refusal(socket: Any) -> tuple[Refused, int]:
    """The last message and the close code."""
    refused = decode_to_browser(await socket.recv())
    assert isinstance(refused, Refused)
    with pytest.raises(websockets.ConnectionClosed):
        await socket.recv()
    return refused, socket.close_code


async def test_after_a_good_hello_messages_go_both_ways_and_the_end_is_told_once():
    async with served() as world:
        async with world.greeted() as (socket, connection_id):
            hello, tier = world.handler.connections[connection_id]
            assert (hello.host_id, tier) == ("a" * 32, "local")
            status = HostStatus(run_id=None, num_workers=2)
            await socket.send(encode(status))
            assert await world.handler.messages.get() == status
            world.hub.send(connection_id, RunEnded(run_id="r", reason="done"))
            assert decode_to_browser(await socket.recv()) == RunEnded(run_id="r", reason="done")
        assert await world.handler.gone.get() == connection_id
        assert world.handler.gone.empty()


async def test_without_a_hello_the_socket_is_closed():
    async with served(hello_seconds=0.05) as world, world.connect() as socket:
        async with asyncio.timeout(WAIT_SECONDS):
            refused, code = await refusal(socket)
        assert (refused.code, code) == ("timeout", 4008)
        assert not world.handler.connections


async def test_a_hello_as_large_as_a_block_is_not_looked_at():
    async with served() as world, world.connect() as socket:
        await socket.send(b"\xc1" * (HELLO_BYTES + 1))
        refused, code = await refusal(socket)
        assert (refused.code, code) == ("too_large", 1009)


BAD_HELLOS = [
    ({"protocol_version": 99}, "protocol_version", 4001),
    ({"build": "b0"}, "build", 4001),
    ({"token": None}, "token", 4002),
    ({"token": "guessed"}, "token", 4002),
]


@pytest.mark.parametrize(("fields", "code", "close_code"), BAD_HELLOS)
async def test_a_hello_that_does_not_fit_is_refused_with_what_mends_it(
    fields: dict[str, Any], code: str, close_code: int
):
    async with served() as world, world.connect() as socket:
        await socket.send(encode(world.hello(**fields)))
        refused, closed_with = await refusal(socket)
        assert (refused.code, refused.close_code, closed_with) == (code, close_code, close_code)
        assert refused.reason
        assert refused.fix
        assert not world.handler.connections


async def test_a_viewers_token_lets_no_host_in():
    async with served() as world, world.connect() as socket:
        await socket.send(encode(world.hello(token=world.guard.issue("viewer"))))
        refused, code = await refusal(socket)
        assert (refused.code, code) == ("role", 4003)


async def test_an_invited_host_is_told_apart_from_a_local_one():
    async with served() as world:
        token = world.guard.issue("worker", tier="invited")
        async with world.greeted(token=token) as (_, connection_id):
            assert world.handler.connections[connection_id][1] == "invited"
            assert world.handler.identities == [f"{token_key(token)}@127.0.0.1"]


FIRST_FRAMES = [encode(Goodbye()), b"", b"\xc1", b"\x80", "text", b"\x00" * 20_000]


@pytest.mark.parametrize("frame", FIRST_FRAMES, ids=["goodbye", "empty", "junk", "no type", "text", "huge"])
async def test_a_first_frame_that_is_no_hello_closes_the_socket(frame: Any):
    async with served() as world, world.connect() as socket:
        await socket.send(frame)
        refused, code = await refusal(socket)
        assert (refused.code, code) in (("malformed", 4005), ("too_large", 1009))
        assert not world.handler.connections


@pytest.mark.parametrize("frame", [b"", b"\xc1\xc1", b"\x81\xa4type\xa5block", "text"])
async def test_a_malformed_frame_closes_the_socket_with_a_reason(frame: Any):
    async with served() as world, world.greeted() as (socket, connection_id):
        await socket.send(frame)
        refused, code = await refusal(socket)
        assert (refused.code, code) == ("malformed", 4005)
        assert await world.handler.gone.get() == connection_id
        assert world.handler.refusals == [refused.reason]


async def test_what_the_run_refuses_closes_the_socket_with_its_reason():
    async with served() as world, world.greeted() as (socket, connection_id):
        world.handler.refuse = True
        await socket.send(encode(Goodbye()))
        refused, code = await refusal(socket)
        assert (refused.reason, refused.fix, code) == ("not now", "later", 4005)
        assert (await world.handler.gone.get(), world.handler.refusals) == (connection_id, ["not now"])


async def test_a_frame_over_the_runs_bound_is_refused_before_it_is_decoded():
    async with served() as world, world.greeted() as (socket, _):
        world.hub.max_frame_bytes = 10_000
        await socket.send(b"\xc1" * 10_001)
        refused, code = await refusal(socket)
        assert (refused.code, code) == ("too_large", 1009)


async def test_a_frame_over_the_servers_bound_never_reaches_us():
    async with served(max_frame_bytes=20_000) as world, world.greeted() as (socket, _):
        await socket.send(b"\xc1" * 20_001)
        with pytest.raises(websockets.ConnectionClosed):
            await socket.recv()
        assert socket.close_code == 1009


async def test_sockets_without_a_token_are_limited_by_address_and_free_again_when_closed():
    async with served(sockets_per_address=2) as world, world.connect(), world.connect() as second:
        async with world.connect() as third:
            refused, code = await refusal(third)
            assert (refused.code, code) == ("full", 1013)
            assert "127.0.0.1" in refused.reason
        await second.close()
        for _ in range(100_000):
            if world.hub.num_strangers("127.0.0.1") <= 1:
                break
            await asyncio.sleep(0)
        async with world.greeted(), world.greeted(), world.greeted():
            pass


async def test_scale_06_150_sockets_of_one_address_with_a_good_token_are_all_let_in():
    async with served() as world, contextlib.AsyncExitStack() as stack:
        token = world.guard.issue("worker", tier="invited")
        for _ in range(150):
            await stack.enter_async_context(world.greeted(token=token))
        assert len(world.handler.connections) == 150
        assert not world.hub.refused


async def test_hostile_12_sockets_are_limited_by_token_whatever_address_they_say(tmp_path: Path):
    async with served(sockets_per_token=2, runs_dir=tmp_path) as world:
        token = world.guard.access.invite("invited", 60.0, "")
        async with world.greeted(token=token), world.greeted(token=token), world.connect() as third:
            await third.send(encode(world.hello(token=token)))
            refused, code = await refusal(third)
            assert (refused.code, code) == ("full", 1013)
            async with world.greeted():
                pass


async def test_hostile_12_a_forwarded_address_that_nobody_allowed_is_not_believed():
    async with served(sockets_per_address=2) as world, contextlib.AsyncExitStack() as stack:
        for number in range(3):
            headers = {"x-forwarded-for": f"192.0.2.{number}"}
            url = f"ws://127.0.0.1:{world.port}/ws"
            socket = await stack.enter_async_context(websockets.connect(url, additional_headers=headers))
        assert (await refusal(socket))[0].code == "full"
    proxied = served(sockets_per_address=2, behind_proxy="127.0.0.1")
    async with proxied as world, contextlib.AsyncExitStack() as stack:
        for number in range(3):
            headers = {"x-forwarded-for": f"192.0.2.{number}"}
            url = f"ws://127.0.0.1:{world.port}/ws"
            socket = await stack.enter_async_context(websockets.connect(url, additional_headers=headers))
        await socket.send(encode(world.hello()))
        assert await world.handler.known.get()
        assert world.hub.num_strangers("192.0.2.0") == 1


async def test_what_came_by_an_invitation_is_counted_and_closed_when_it_is_revoked(tmp_path: Path):
    async with served(runs_dir=tmp_path) as world:
        token = world.guard.access.invite("invited", 60.0, "")
        (invitation,) = world.guard.access.invitations()
        async with world.greeted(token=token) as (socket, _), world.greeted():
            assert world.hub.sockets_of(invitation.id) == 1
            assert world.guard.end(invitation.id)
            refused, code = await refusal(socket)
            assert (refused.code, code) == ("token", 4002)
            await world.handler.gone.get()
            assert world.hub.sockets_of(invitation.id) == 0
            assert len(world.handler.connections) == 2
            assert world.handler.gone.empty()


async def test_hostile_06_what_a_stranger_calls_itself_reaches_the_log_in_one_plain_line_and_not_for_ever(
    caplog: pytest.LogCaptureFixture,
):
    build = "x\n2026-01-01T00:00:00Z INFO attract: run ends: finished\x1b[2J\x1b]0;pwn"
    async with served() as world:
        for _ in range(30):
            async with world.connect() as socket:
                await socket.send(encode(world.hello(build=build)))
                with contextlib.suppress(websockets.ConnectionClosed):
                    await refusal(socket)
        assert world.hub.refused == {"build": 30}
    lines = [record.getMessage() for record in caplog.records if "socket of" in record.getMessage()]
    assert len(lines) == 10
    assert not any(character in line for line in lines for character in "\n\x1b\x07")
    assert "\\n2026-01-01T00:00:00Z INFO" in lines[0]


STATUS_FRAME = encode(HostStatus(run_id=None, num_workers=2))
FLOODS = [("messages_per_second", 1), ("bytes_per_second", len(STATUS_FRAME))]


@pytest.mark.parametrize(("setting", "unit"), FLOODS, ids=["messages", "bytes"])
async def test_0048_a_socket_that_floods_is_closed_with_a_reason_and_counted(setting: str, unit: int):
    async with served(**{setting: 20 * unit}) as world, world.greeted() as (socket, connection_id):
        # Five seconds' worth is let through at once; then it is too much.
        with contextlib.suppress(websockets.ConnectionClosed):
            for _ in range(1000):
                await socket.send(STATUS_FRAME)
        async with asyncio.timeout(WAIT_SECONDS):
            refused, code = await refusal(socket)
        assert (refused.code, code) == ("full", 1013)
        assert f"{20 * unit} {setting.split('_')[0]} a second" in refused.reason
        assert await world.handler.gone.get() == connection_id
        assert world.handler.messages.qsize() >= (100 if unit == 1 else 95)
        assert world.hub.refused == {"full": 1}


async def test_packed_blocks_count_as_what_they_are_unpacked_to():
    block = played_block()
    pictures = Tensor(dtype="uint8", shape=[4, 3, 84, 84, 1], data=b"little")
    packed = block.model_copy(
        update={"observation": {"obs": pictures}, "packed": {"obs": PackedPictures(deflated=True)}}
    )
    frame = encode(packed)
    assert len(frame) < 2000
    # Five seconds' worth are a tenth of the 84,672 bytes that its pictures have.
    async with served(bytes_per_second=84_672 // 50) as world, world.greeted() as (socket, _):
        await socket.send(encode(block))
        assert await world.handler.messages.get() == block
        with contextlib.suppress(websockets.ConnectionClosed):
            await socket.send(frame)
        async with asyncio.timeout(WAIT_SECONDS):
            refused, code = await refusal(socket)
        assert (refused.code, code) == ("full", 1013)
        assert world.handler.messages.empty()


@pytest.mark.parametrize("how", ["reset", "closed"])
async def test_a_connection_that_ends_in_the_middle_of_a_frame_ends_alone(how: str):
    """Wherever in its header, mask or data: what came of it is dropped, and whoever else is there stays."""
    frame = websockets.frames.Frame(websockets.frames.Opcode.BINARY, STATUS_FRAME).serialize(mask=True)
    async with served() as world, world.greeted() as (socket, _):
        for cut in (1, 2, 4, 6, 7, len(frame) // 2, len(frame) - 1):
            async with world.greeted() as (other, connection_id):
                other.transport.write(frame + frame[:cut])
                assert await world.handler.messages.get() == HostStatus(run_id=None, num_workers=2)
                if how == "reset":
                    line = other.transport.get_extra_info("socket")
                    line.setsockopt(SOL_SOCKET, SO_LINGER, struct.pack("ii", 1, 0))
                other.transport.abort()
                async with asyncio.timeout(WAIT_SECONDS):
                    assert await world.handler.gone.get() == connection_id
        await socket.send(STATUS_FRAME)
        assert await world.handler.messages.get() == HostStatus(run_id=None, num_workers=2)
        assert world.handler.gone.empty()
        assert world.handler.messages.empty()
        assert not world.hub.refused


class Flood:
    """A websocket whose next frame is always there already: whoever reads it never has to wait."""

    def __init__(self, first: bytes, frame: bytes, number: int) -> None:
        self.scope = {"type": "websocket", "headers": [], "client": ("127.0.0.1", 1)}
        self.client = None
        self.frames = iter([first, *[frame] * number])

    async def accept(self) -> None: ...

    async def receive(self) -> dict[str, Any]:
        data = next(self.frames, None)
        return {"type": "websocket.disconnect" if data is None else "websocket.receive", "bytes": data}

    async def send_bytes(self, data: bytes) -> None: ...

    async def close(self, code: int, reason: str) -> None: ...


async def test_while_one_socket_has_hundreds_of_frames_waiting_the_others_have_their_turn():
    world, turns = World(), 0

    async def another() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    other = asyncio.create_task(another())
    flood = Flood(encode(world.hello()), STATUS_FRAME, 1600)
    await world.hub.serve(flood)  # type: ignore[arg-type]
    other.cancel()
    assert world.handler.messages.qsize() == 1600
    assert turns >= 100


class Pipe:
    """A websocket as far as `Connection` sees it, whose sends finish when it is told."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.closed: list[tuple[int, str]] = []
        self.open = asyncio.Event()
        self.open.set()

    async def send_bytes(self, data: bytes) -> None:
        await self.open.wait()
        self.sent.append(data)

    async def close(self, code: int, reason: str) -> None:
        self.closed.append((code, reason))


def connection(send_seconds: float = 10.0) -> tuple[Connection, Pipe]:
    pipe = Pipe()
    return Connection(pipe, send_seconds), pipe  # type: ignore[arg-type]


async def test_an_unsent_policy_gives_way_to_a_newer_one_in_its_place():
    out, pipe = connection()
    out.send(b"p1", policy=("main", 1))
    out.send(b"ack")
    out.send(b"p2", policy=("main", 2))
    out.send(b"lease 2", needs=2)
    out.close(1000, "")
    await out.write()
    assert pipe.sent == [b"p2", b"ack", b"lease 2"]


async def test_a_policy_that_a_queued_lease_needs_is_sent_before_it():
    out, pipe = connection()
    out.send(b"p1", policy=("main", 1))
    out.send(b"lease 1", needs=1)
    out.send(b"p2", policy=("main", 2))
    out.close(1000, "")
    await out.write()
    assert pipe.sent == [b"p1", b"lease 1", b"p2"]


async def test_policies_of_different_ids_do_not_replace_each_other():
    out, pipe = connection()
    out.send(b"a", policy=("a", 1))
    out.send(b"b", policy=("b", 1))
    out.close(1000, "")
    await out.write()
    assert pipe.sent == [b"a", b"b"]


async def test_a_peer_that_does_not_read_is_closed_after_the_send_timeout():
    out, pipe = connection(send_seconds=0.01)
    pipe.open.clear()
    out.send(b"x")
    await out.write()
    assert (pipe.sent, [code for code, _ in pipe.closed]) == ([], [1013])


async def test_a_peer_with_a_thousand_unsent_frames_is_closed():
    out, pipe = connection()
    for _ in range(1025):
        out.send(b"x")
    await out.write()
    assert (pipe.sent, [code for code, _ in pipe.closed]) == ([], [1013])


async def test_nothing_is_sent_after_a_close():
    out, pipe = connection()
    out.close(4001, "é" * 100)
    out.send(b"late")
    await out.write()
    assert pipe.sent == []
    assert len(pipe.closed[0][1].encode()) <= 123


async def test_the_same_policy_bytes_go_to_every_worker_without_encoding_twice():
    async with served() as world:
        frame = encode(Policy(run_id="r", policy_version=1, onnx=b"onnx" * 1000))
        async with world.greeted() as (one, first), world.greeted() as (two, second):
            for connection_id in (first, second):
                world.hub.send_policy(connection_id, frame, "main", 1)
            assert await one.recv() == await two.recv() == frame
