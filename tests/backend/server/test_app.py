"""The gateway put together, how late its loop is, and who may open a socket."""

import asyncio
import contextlib
import json
import secrets
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
import websockets
from fastapi import APIRouter
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket

import attract.server.routes
from attract.errors import ConfigurationError
from attract.processes.children import LearnerLink
from attract.run.service import RunService
from attract.schema import PROTOCOL_VERSION
from attract.schema.frames import encode
from attract.schema.messages import Hello
from attract.server.app import (
    SOCKET_PATH,
    WINDOW_SAMPLES,
    LoopLag,
    SocketEntranceMiddleware,
    build_app,
    read_build,
)
from attract.server.guard import Guard
from attract.settings.run import ServerSettings
from gateway_world import GatewayWorld, gateway
from waiting import until


async def no_learner() -> LearnerLink:
    raise AssertionError("no run is started here")


def settings(folder: Path, **given: object) -> ServerSettings:
    values = {"runs_dir": folder / "runs", "project_dir": folder, "web_dir": folder / "web"}
    return ServerSettings.from_mapping(values | given)


def test_it_holds_the_run_service_and_the_guard_with_the_admins_token(tmp_path: Path):
    app = build_app(settings(tmp_path), no_learner)
    assert isinstance(app.state.service, RunService)
    assert isinstance(app.state.guard, Guard)
    grant = app.state.guard.grant_of(app.state.guard.admin_token)
    assert grant is not None
    assert grant.role == "admin"


@pytest.mark.parametrize(("tier", "granted"), [({}, "invited"), ({"worker_tier": "local"}, "local")])
def test_a_token_of_the_operators_choice_lets_workers_in(tmp_path: Path, tier: dict[str, str], granted: str):
    token = "w" * 40
    app = build_app(settings(tmp_path, worker_token=token, **tier), no_learner)
    grant = app.state.guard.grant_of(token)
    assert grant is not None
    assert (grant.role, grant.tier) == ("worker", granted)


def test_a_token_that_can_be_guessed_is_refused(tmp_path: Path):
    with pytest.raises(ConfigurationError):
        build_app(settings(tmp_path, admin_token="short"), no_learner)


def test_an_app_with_a_route_that_says_not_who_may_call_it_is_not_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    forgotten = APIRouter()
    forgotten.get("/forgotten")(lambda: None)
    monkeypatch.setattr(attract.server.routes, "pages", forgotten)
    with pytest.raises(RuntimeError, match="/forgotten"):
        build_app(settings(tmp_path), no_learner)


def test_the_build_of_the_web_side_is_read_where_there_is_one(tmp_path: Path):
    assert read_build(tmp_path) is None
    (tmp_path / "build.json").write_text(json.dumps({"build": "0a1b"}))
    assert read_build(tmp_path) == "0a1b"


async def test_watched_what_holds_the_event_loop_up_is_seen():
    lag = LoopLag()
    watching = asyncio.create_task(lag.watch())
    await asyncio.sleep(0)
    # Longer than a sample's sleep: it wakes at least so much too late.
    time.sleep(0.6)  # noqa: ASYNC251 - that is what is looked for
    await until(lambda: lag.largest_seconds > 0.0, 20.0)
    assert lag.largest_seconds >= 0.3
    watching.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await watching


def test_half_a_minute_later_it_is_forgotten():
    lag = LoopLag()
    lag.add(2.0)
    for _ in range(WINDOW_SAMPLES - 1):
        lag.add(0.001)
    assert lag.largest_seconds == 2.0
    lag.add(0.001)
    assert lag.largest_seconds == 0.001
    lag.add(-0.5)
    assert min(lag._samples) == 0.0


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
