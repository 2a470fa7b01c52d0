"""Puts the gateway together: one FastAPI app from its settings and a way to start a learner."""

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Final

from fastapi import FastAPI
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket

from attract import __version__
from attract.errors import FileError
from attract.files import MAX_JSON_BYTES, parse_object, read_optional_file
from attract.games.library import GameLibrary
from attract.games.project import PACKAGE_DIR
from attract.processes.children import StartLearner
from attract.run.service import RunService
from attract.runs.demonstrations import DemonstrationStore
from attract.schema import close_codes
from attract.schema.api import RunView
from attract.server.compression import CompressionMiddleware
from attract.server.exposition import Exposition, ServerNumbers
from attract.server.guard import Guard, GuardMiddleware, check_roles
from attract.server.page_games import PageGameMiddleware
from attract.server.readiness import Readiness
from attract.server.routes import BuiltPages, add_routes
from attract.server.sockets import SocketHub
from attract.server.tokens import chosen_tokens
from attract.settings.run import ServerSettings

SAMPLE_SECONDS = 0.25
WINDOW_SAMPLES = 120
"""Half a minute: longer than most scrapers wait, so that none misses what happened between two scrapes."""
SOCKET_PATH: Final = "/ws"


def build_app(
    settings: ServerSettings,
    start_learner: StartLearner,
    *,
    clock: Callable[[], float] = time.monotonic,
) -> FastAPI:
    """The gateway's app; `app.state` holds what `dependencies` names, such as the guard with its admin token.

    Run it by uvicorn with `ws_per_message_deflate=False`, `ws_max_size=settings.max_frame_bytes` and the
    protocols of `serving`: what `serving.uvicorn_options` gives.

    Raises:
        RuntimeError: when a route declares no role.
        ConfigurationError: for a token that cannot be used, or a folder of sessions that is damaged.
    """
    guard = Guard(settings, clock)
    guard.access.check()
    for role, token in chosen_tokens(settings).items():
        guard.accept(token, role, tier=settings.worker_tier if role == "worker" else "local")
    web_dir = settings.web_dir or PACKAGE_DIR / "web"
    build = read_build(web_dir)
    games = GameLibrary(
        settings.project_dir,
        web_dir,
        runs_dir=settings.runs_dir,
        include=settings.include,
        page_device=settings.page_device,
    )
    service = RunService(settings, games, start_learner, clock, guard.audit)
    hub = SocketHub(settings, guard, service.membership, build)
    service.attach(hub)

    lag = LoopLag()

    def numbers() -> ServerNumbers:
        return ServerNumbers(
            sockets=hub.num_sockets,
            received_bytes=hub.received_bytes,
            sockets_refused=hub.refused,
            http_refused=guard.refused,
            loop_lag_seconds=lag.largest_seconds,
            host_restarts=service.host_restarts,
        )

    exposition = Exposition(numbers, service.health)
    service.subscribe(exposition.observe)

    def trained() -> RunView | None:
        active = service.active
        return active.view() if active is not None and active.trains else None

    webhook = None
    if settings.webhook is not None:
        # httpx takes 0.1 s to import.
        from attract.server.webhook import Webhook, post_to

        webhook = Webhook(post_to(settings.webhook), trained)
        service.subscribe(webhook.observe)
    readiness = Readiness(settings.runs_dir, service.health, lambda: service.is_starting, clock)

    @contextlib.asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncGenerator[None]:
        watching = asyncio.create_task(lag.watch())
        guard.audit.write("server_started", version=__version__, host=settings.host, port=settings.port)
        yield
        watching.cancel()
        await service.close()
        if webhook is not None:
            await webhook.close()
        await hub.close_all(close_codes.GOING_AWAY, "the server is shutting down")
        guard.audit.write("server_ended")

    app = FastAPI(
        title="Attract",
        version=__version__,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
    )
    app.state.settings = settings
    app.state.guard = guard
    app.state.service = service
    app.state.games = games
    app.state.hub = hub
    app.state.build = build
    app.state.readiness = readiness
    app.state.exposition = exposition
    app.state.demonstrations = DemonstrationStore(settings.runs_dir)
    app.state.pages = BuiltPages(web_dir / "dashboard")
    guard.when_ended(service.events.end_entry)
    add_routes(app)
    check_roles(app.routes)
    app.add_middleware(CompressionMiddleware)
    app.add_middleware(SocketEntranceMiddleware, sockets=hub)
    app.add_middleware(
        GuardMiddleware,
        guard=guard,
        routes=app.routes,
        request_seconds=settings.request_seconds,
    )
    # Outermost: the games' origins are no names of this server's, and have nothing of it.
    app.add_middleware(PageGameMiddleware, games=games, web_dir=web_dir, names=guard.names)
    return app


def read_build(web_dir: Path) -> str | None:
    """The build id of the web side, which every hello must carry; None when it was not built.

    Raises: FileError: its `build.json` is damaged.
    """
    path = web_dir / "build.json"
    data = read_optional_file(path, MAX_JSON_BYTES)
    if data is None:
        return None
    build = parse_object(data, path).get("build")
    if not isinstance(build, str):
        raise FileError(path, "names no build", fix="npm run build")
    return build


class LoopLag:
    """Lag of the event loop: while it is blocked, no socket is read and no request answered.

    Sleeps and measures how much later it woke; owned by the app, whose lifespan runs `watch`.
    """

    def __init__(self) -> None:
        self._samples: deque[float] = deque([0.0], maxlen=WINDOW_SAMPLES)

    def add(self, seconds: float) -> None:
        """One wake-up came so late."""
        self._samples.append(max(0.0, seconds))

    @property
    def largest_seconds(self) -> float:
        """The largest of the last half minute."""
        return max(self._samples)

    async def watch(self) -> None:
        """Measure until cancelled."""
        now = asyncio.get_running_loop().time
        while True:
            due = now() + SAMPLE_SECONDS
            await asyncio.sleep(SAMPLE_SECONDS)
            self.add(now() - due)


class SocketEntranceMiddleware:
    """Hands websockets of `SOCKET_PATH` to the hub, and on everything else. Stands behind the guard.

    A route of the app would hold eleven more calls and three stacks of things to close, 12 KiB a socket, as
    long as it is open; none of them does anything for a socket.
    """

    def __init__(self, app: ASGIApp, *, sockets: SocketHub) -> None:
        self._app = app
        self._sockets = sockets

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """An ASGI app. Connecting needs no token: the first message has it."""
        if scope["type"] == "websocket" and scope["path"] == SOCKET_PATH:
            await self._sockets.serve(WebSocket(scope, receive, send))
        else:
            await self._app(scope, receive, send)
