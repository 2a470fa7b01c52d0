import asyncio
import contextlib
from collections.abc import AsyncIterator

import httpx
import pytest
import websockets
from fastapi import FastAPI, Request, WebSocket

from attract.server.serving import uvicorn_options
from attract.settings.run import ServerSettings
from gateway_world import running_server
from waiting import WAIT_SECONDS

DEADLINE_SECONDS = 0.25
MANY_FRAMES = 200_000


@contextlib.asynccontextmanager
async def slow_app() -> AsyncIterator[tuple[int, asyncio.Event]]:
    """A server with a short deadline; `/slow` and the websocket answer once the event is set."""
    app, answer = FastAPI(), asyncio.Event()

    @app.get("/")
    async def at_once() -> str:
        return "now"

    @app.get("/slow")
    async def later() -> str:
        await answer.wait()
        return "later"

    @app.websocket("/ws")
    async def talk(websocket: WebSocket) -> None:
        await websocket.accept()
        await answer.wait()
        await websocket.send_text("later")

    async with running_server(app, ServerSettings(request_seconds=DEADLINE_SECONDS)) as port:
        yield port, answer


async def drip(writer: asyncio.StreamWriter, first: bytes) -> None:
    """A request whose headers never end, a line every 20 ms, until the server hangs up."""
    with contextlib.suppress(ConnectionError):
        writer.write(first)
        while not writer.is_closing():
            writer.write(b"x-more: 1\r\n")
            await writer.drain()
            await asyncio.sleep(0.02)


async def hung_up(reader: asyncio.StreamReader) -> bytes:
    """What still came before the server closed the connection."""
    async with asyncio.timeout(WAIT_SECONDS):
        with contextlib.suppress(ConnectionError):
            return await reader.read()
    return b""


@pytest.mark.parametrize("first", [b"", b"GET / HTTP/1.1\r\nhost: a\r\n"], ids=["silent", "slow-loris"])
async def test_a_connection_whose_headers_do_not_end_is_closed(first: bytes):
    async with slow_app() as (port, _):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        began = asyncio.get_running_loop().time()
        dripping = asyncio.create_task(drip(writer, first)) if first else None
        assert await hung_up(reader) == b""
        assert asyncio.get_running_loop().time() - began >= 0.9 * DEADLINE_SECONDS
        writer.close()
        if dripping is not None:
            await dripping


async def test_a_second_request_on_the_same_connection_has_the_deadline_too():
    async with slow_app() as (port, _):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n")
        assert (await reader.readline()).startswith(b"HTTP/1.1 200")
        dripping = asyncio.create_task(drip(writer, b"GET / HTTP/1.1\r\nhost: a\r\n"))
        assert (await hung_up(reader)).count(b"HTTP/1.1") == 0
        writer.close()
        await dripping


async def test_an_answer_and_a_websocket_may_take_longer_than_the_deadline():
    async with slow_app() as (port, answer):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /slow HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
        async with websockets.connect(f"ws://127.0.0.1:{port}/ws", compression=None) as socket:
            await asyncio.sleep(2 * DEADLINE_SECONDS)
            answer.set()
            assert await socket.recv() == "later"
            assert b'"later"' in await hung_up(reader)
        writer.close()


FLOODS = {
    "pings": b"\x89\xfd" + bytes(4) + bytes(125),
    "pongs": b"\x8a\xfd" + bytes(4) + bytes(125),
    "pieces-of-one-byte": b"\x00\x81" + bytes(4) + b"a",
    "empty-pieces": b"\x00\x80" + bytes(4),
}


@pytest.mark.parametrize("kind", FLOODS)
async def test_0048_frames_that_no_application_sees_are_bounded(kind: str) -> None:
    """A peer that sends them for ever, and never reads, is closed, and costs no memory meanwhile."""
    async with slow_app() as (port, answer):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(
            b"GET /ws HTTP/1.1\r\nhost: a\r\nupgrade: websocket\r\nconnection: upgrade\r\n"
            b"sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\nsec-websocket-version: 13\r\n\r\n"
        )
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"\x02\x81" + bytes(4) + b"a")
        sent = 0
        with contextlib.suppress(ConnectionError):
            while sent < MANY_FRAMES and not writer.is_closing():
                writer.write(FLOODS[kind] * 500)
                sent += 500
                await writer.drain()
                await asyncio.sleep(0)
        assert sent < MANY_FRAMES, "it was never closed"
        writer.close()
        # Else the server waits at its end for the handler, as long as it would for a real one.
        answer.set()


async def test_0048_a_large_message_may_come_in_many_pieces_and_a_small_one_in_a_few() -> None:
    app, sizes = FastAPI(), [1024 * 3000, *[3] * 100]

    @app.websocket("/ws")
    async def count(websocket: WebSocket) -> None:
        await websocket.accept()
        for size in sizes:
            assert len(await websocket.receive_bytes()) == size
        await websocket.send_text("all")

    async with running_server(app) as port:
        url = f"ws://127.0.0.1:{port}/ws"
        async with websockets.connect(url, compression=None) as socket:
            await socket.send(bytes(1024) for _ in range(3000))
            for _ in range(20):
                await (await socket.ping())
            for _ in range(100):
                await socket.send([b"a", b"b", b"c"])
            assert await socket.recv() == "all"


async def test_no_compression_is_agreed_to_and_dead_peers_are_asked() -> None:
    """612 KB of deflate took the server to 648 MiB; without it the same frame is refused."""
    async with (
        slow_app() as (port, answer),
        websockets.connect(f"ws://127.0.0.1:{port}/ws", compression="deflate") as socket,
    ):
        assert not socket.protocol.extensions
        answer.set()
    options = uvicorn_options(ServerSettings())
    assert (options["ws_ping_interval"], options["ws_ping_timeout"]) == (20.0, 20.0)


@pytest.mark.parametrize(
    ("proxies", "is_believed"), [((), False), (("127.0.0.1",), True), (("10.0.0.5",), False)]
)
async def test_hostile_12_forwarded_headers_are_those_of_a_named_proxy(
    proxies: tuple[str, ...], is_believed: bool
) -> None:
    app = FastAPI()

    @app.get("/")
    async def who(request: Request) -> str:
        return "" if request.client is None else request.client.host

    forwarded = {"x-forwarded-for": "203.0.113.9"}
    async with (
        running_server(app, ServerSettings(behind_proxy=proxies)) as port,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client,
    ):
        answer = await client.get("/", headers=forwarded)
    assert answer.json() == ("203.0.113.9" if is_believed else "127.0.0.1")
