import asyncio
import secrets
from pathlib import Path
from typing import Any

import psutil
import pytest
import websockets
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket

from attract.schema import PROTOCOL_VERSION
from attract.schema.frames import encode
from attract.schema.messages import Hello
from attract.server.app import SOCKET_PATH, SocketEntranceMiddleware
from gateway_world import GatewayWorld, gateway

NUM_SOCKETS = 200
MAX_BYTES_A_SOCKET = 36 << 10
"""30 KiB were measured; 42 where a socket goes through the routes of the app."""


class Places:
    """Notes who gets what."""

    def __init__(self) -> None:
        self.got: list[tuple[str, str]] = []

    async def app(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.got.append(("app", scope["path"]))

    async def serve(self, websocket: WebSocket) -> None:
        self.got.append(("hub", websocket.url.path))


@pytest.mark.parametrize(
    ("kind", "path", "goes"),
    [
        ("websocket", SOCKET_PATH, "hub"),
        ("websocket", "/other", "app"),
        ("http", SOCKET_PATH, "app"),
    ],
)
async def test_0048_only_sockets_of_that_path_leave_the_stack(kind: str, path: str, goes: str) -> None:
    places = Places()
    scope = {"type": kind, "path": path, "headers": [], "server": ("127.0.0.1", 1), "query_string": b""}
    entrance = SocketEntranceMiddleware(places.app, sockets=places)

    async def silent() -> Any:
        raise AssertionError("nothing is to be read")

    async def unsaid(_message: Any) -> None:
        raise AssertionError("nothing is to be said")

    await entrance(scope, silent, unsaid)
    assert places.got == [(goes, path)]


async def test_0048_a_foreign_origin_is_refused_before_the_entrance(tmp_path: Path) -> None:
    async with gateway(tmp_path) as world:
        url = f"ws://127.0.0.1:{world.port}{SOCKET_PATH}"
        with pytest.raises(websockets.InvalidStatus, match="403"):
            await websockets.connect(url, origin="http://stranger.example")  # type: ignore[arg-type]


async def test_0048_an_idle_socket_costs_little_memory(tmp_path: Path) -> None:
    async with gateway(tmp_path, sockets_per_address=NUM_SOCKETS, sockets_per_token=NUM_SOCKETS) as world:
        kept = [await _quiet_host(world) for _ in range(20)]
        before = _anonymous_bytes()
        ours: list[asyncio.StreamWriter] = []
        for _ in range(NUM_SOCKETS - len(kept)):
            ours.append(await _quiet_host(world))
        each = (_anonymous_bytes() - before) / len(ours)
        for socket in (*kept, *ours):
            socket.close()
    print(f"{each / 1024:.1f} KiB a socket")
    assert each <= MAX_BYTES_A_SOCKET


async def _quiet_host(world: GatewayWorld) -> asyncio.StreamWriter:
    """A socket that has said hello, and costs this process next to nothing: it hears of the welcome alone."""
    reader, writer = await asyncio.open_connection("127.0.0.1", world.port)
    writer.write(
        f"GET {SOCKET_PATH} HTTP/1.1\r\nHost: 127.0.0.1:{world.port}\r\nUpgrade: websocket\r\n"
        f"Connection: Upgrade\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n"
        f"Origin: http://127.0.0.1:{world.port}\r\n\r\n".encode()
    )
    await reader.readuntil(b"\r\n\r\n")
    hello = encode(
        Hello(
            protocol_version=PROTOCOL_VERSION,
            build="test",
            token=world.guard.issue("worker"),
            role="host",
            host_id=secrets.token_hex(16),
            max_workers=0,
        )
    )
    # Masked with zeros: the bytes as they are.
    writer.write(b"\x82\xfe" + len(hello).to_bytes(2, "big") + bytes(4) + hello)
    await reader.read(1)
    return writer


def _anonymous_bytes() -> int:
    """Anonymous memory of this process, without the pages of libraries that it has touched."""
    memory = psutil.Process().memory_info()
    return memory.rss - memory.shared
