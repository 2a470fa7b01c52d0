"""The gateway for `uvicorn --factory attract.asgi:create_app`; settings come from `ATTRACT_*` variables."""

import asyncio
import contextlib
import gc
import os
import sys
from collections.abc import AsyncGenerator, Sequence
from typing import Any

import uvicorn
from fastapi import FastAPI
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from attract.processes.learner import spawn_learner
from attract.runs.log_lines import show_logs
from attract.server.app import build_app
from attract.server.guard import Guard
from attract.server.links import dashboard_url
from attract.server.listening import Listening, listening_sockets
from attract.server.memory import settle_memory
from attract.server.serving import launch_flags, missing_flags
from attract.settings.run import ServerSettings, is_loopback

LAUNCH = "uvicorn --factory attract.asgi:create_app"
LISTENING_SECONDS = 5.0
"""How long to search for a socket of the server."""
POLL_SECONDS = 0.01


def create_app() -> ASGIApp:
    """The app. Its admin token goes to stderr, for the address's fragment: `http://host:port/#token=...`.

    The port is the one at which the process really listens, whatever `--port` or `ATTRACT_PORT` say. Where it
    listens at none of its own (`--uds`, a platform without `/dev/fd`), the one of the settings is named, and
    behind a proxy `ATTRACT_PUBLIC_URL` is.

    The limits of connections are uvicorn's to keep. Where it was not given the flags for that
    (docs/operating.md), it ends with exit code 3 and the line to type.

    Raises: ConfigurationError: for a variable whose value cannot work.
    """
    settings = ServerSettings.from_environment(os.environ)
    if {"log_format", "log_level"} & settings.model_fields_set:
        show_logs(settings.log_format, settings.log_level)
    app = build_app(settings, spawn_learner)
    # Before they are out of the collector's sight.
    configs = [thing for thing in gc.get_objects() if isinstance(thing, uvicorn.Config)]
    settle_memory()
    earlier = listening_sockets()
    inner = app.router.lifespan_context

    @contextlib.asynccontextmanager
    async def lifespan(served: FastAPI) -> AsyncGenerator[Any]:
        # The server opens its socket only after this has begun.
        printing = asyncio.create_task(_print_link(settings, app.state.guard, earlier))
        try:
            async with inner(served) as state:
                yield state
        finally:
            printing.cancel()

    app.router.lifespan_context = lifespan
    return LaunchCheck(app, settings, configs)


class LaunchCheck:
    """Lets the app start only under a uvicorn with the flags that it needs; until then it answers 503.

    No ASGI message shows uvicorn's flags. They are read from its `Config`, which is searched among the
    objects of the process while the app is made, by its public attributes alone. This works however uvicorn
    was started (command, variables, `uvicorn.run`, gunicorn); other servers have no `Config`.
    """

    def __init__(self, app: ASGIApp, settings: ServerSettings, configs: Sequence[uvicorn.Config]) -> None:
        """`configs`: those that may be of the server of this app."""
        self.app = app
        self._configs = configs
        self._settings = settings
        self._problem: str | None = "uvicorn runs with --lifespan off, which skips the start of applications"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """An ASGI application's call."""
        if scope["type"] == "lifespan":
            self._problem = self._look()
            if self._problem is not None:
                print(f"error: {self._problem}", file=sys.stderr, flush=True)
                await send({"type": "lifespan.startup.failed", "message": ""})
                return
        if self._problem is None:
            await self.app(scope, receive, send)
        elif scope["type"] == "http":
            await PlainTextResponse(self._problem, status_code=503)(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1011, "reason": "not started"})

    def _look(self) -> str | None:
        configs = [config for config in self._configs if self._is_of(config)]
        flags = " ".join(launch_flags(self._settings))
        if not configs:
            return f"the server is not uvicorn, on whose limits the gateway relies; type\n  {LAUNCH} {flags}"
        missing = missing_flags(configs[0], self._settings)
        if not missing:
            return None
        place = "".join(f" {word}" for word in _place(configs[0]))
        names = ", ".join(flag.split()[0] for flag in missing)
        return f"uvicorn was started without {names}, which it needs; type\n  {LAUNCH}{place} {flags}"

    def _is_of(self, config: uvicorn.Config) -> bool:
        served = getattr(config, "loaded_app", None)
        while served is not None and served is not self:
            served = getattr(served, "app", None)
        return served is self


def _place(config: uvicorn.Config) -> list[str]:
    """The flags that say where it listens, as far as they are not uvicorn's defaults."""
    if config.uds is not None:
        return ["--uds", config.uds]
    usual = uvicorn.Config("")
    host = [] if config.host == usual.host else ["--host", config.host]
    return host if config.port == usual.port else [*host, "--port", str(config.port)]


async def _print_link(settings: ServerSettings, guard: Guard, earlier: set[Listening]) -> None:
    found = settings.public_url or await _own_url(earlier)
    base = found or f"http://{settings.host}:{settings.port}"
    print(f"dashboard: {dashboard_url(settings, base, guard.admin_token)}", file=sys.stderr, flush=True)
    if _is_shut(settings, earlier):
        print(
            "warning: the server listens to the network; without TLS it answers this machine alone: set"
            " ATTRACT_LAN=1, or ATTRACT_BEHIND_PROXY to the proxy's address",
            file=sys.stderr,
            flush=True,
        )
    if found is None:
        print("  no port of this process was found: that one is ATTRACT_PORT's", file=sys.stderr, flush=True)


def _is_shut(settings: ServerSettings, earlier: set[Listening]) -> bool:
    """Whether a socket of the server's can be reached from the network, which the guard then refuses."""
    if settings.lan or settings.behind_proxy:
        return False
    return not all(is_loopback(place.host) for place in listening_sockets() - earlier)


async def _own_url(earlier: set[Listening]) -> str | None:
    """URL on which the server listens. A forked server opens no socket; inherited ones count then."""
    found = listening_sockets()
    for _ in range(int(LISTENING_SECONDS / POLL_SECONDS)):
        if found - earlier:
            break
        await asyncio.sleep(POLL_SECONDS)
        found = listening_sockets()
    known = sorted(found - earlier or found, key=lambda place: (place.port, place.host))
    return known[0].url if known else None
