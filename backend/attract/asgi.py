"""The gateway for `uvicorn --factory attract.asgi:create_app`; settings come from `ATTRACT_*` variables."""

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncGenerator
from typing import Any

from fastapi import FastAPI

from attract.processes.learner import spawn_learner
from attract.runs.log_lines import show_logs
from attract.server.app import build_app
from attract.server.guard import Guard
from attract.server.links import dashboard_url
from attract.server.listening import Listening, listening_sockets
from attract.server.memory import settle_memory
from attract.settings.run import ServerSettings, is_loopback

LISTENING_SECONDS = 5.0
"""How long a socket of the server's is looked for."""
POLL_SECONDS = 0.01


def create_app() -> FastAPI:
    """The app. Its admin token goes to stderr, for the address's fragment: `http://host:port/#token=...`.

    The port is the one at which the process really listens, whatever `--port` or `ATTRACT_PORT` say. Where it
    listens at none of its own (`--uds`, a platform without `/dev/fd`), the one of the settings is named, and
    behind a proxy `ATTRACT_PUBLIC_URL` is.

    Start it with `--http attract.server.serving:HeaderDeadlineProtocol --ws
    attract.server.serving:MeteredSocketProtocol --ws-max-size 4259840 --ws-per-message-deflate false
    --no-proxy-headers`: the limits that the gateway relies on. Behind a proxy `--forwarded-allow-ips` and
    `ATTRACT_BEHIND_PROXY` name its address instead.

    Raises: ConfigurationError: for a variable whose value cannot work.
    """
    settings = ServerSettings.from_environment(os.environ)
    if {"log_format", "log_level"} & settings.model_fields_set:
        show_logs(settings.log_format, settings.log_level)
    app = build_app(settings, spawn_learner)
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
    return app


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
    """Where the server listens; where it opens no socket, as a forked one, those that were there count."""
    found = listening_sockets()
    for _ in range(int(LISTENING_SECONDS / POLL_SECONDS)):
        if found - earlier:
            break
        await asyncio.sleep(POLL_SECONDS)
        found = listening_sockets()
    known = sorted(found - earlier or found, key=lambda place: (place.port, place.host))
    return known[0].url if known else None
