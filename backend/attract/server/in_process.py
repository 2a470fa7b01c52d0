"""A gateway inside this process: the app under uvicorn."""

import contextlib
import logging
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI

from attract.processes.children import StartLearner, spawn_learner
from attract.processes.cores import raise_open_files
from attract.run.service import RunService
from attract.server.app import build_app
from attract.server.app_server import listen, serving
from attract.server.guard import Guard
from attract.server.links import dashboard_url, printed_link
from attract.server.serving import uvicorn_options
from attract.settings.run import ServerSettings


@dataclass(frozen=True)
class Gateway:
    """A gateway that is up: where it is, and what it offers in process."""

    url: str
    """Loopback address in plain text, for browsers that this process starts."""
    own_url: str
    """The address of the port that was asked for, as seen from this machine."""
    settings: ServerSettings
    service: RunService
    guard: Guard

    def addresses(self) -> list[str]:
        """Lines with the dashboard's address and, if other devices can join, their link."""
        base = self.settings.public_url or self.own_url
        lines = [f"dashboard: {dashboard_url(self.settings, base, self.guard.admin_token)}"]
        link = printed_link(self.settings, self.guard.access, self.settings.port)
        if link is not None:
            lines.append(f"join from another device: {link}")
            lines.append(f"or headless: attract join '{link}'")
        return lines

    def join_link(self) -> str:
        """A link for hosts: for other devices where they can come, else for this machine."""
        link = printed_link(self.settings, self.guard.access, self.settings.port)
        return link or f"{self.url}/join.html#token={self.guard.issue('worker')}"

    async def say_goodbye(self) -> None:
        """Dismiss the hosts: the run is over, and this server ends."""
        await self.service.say_goodbye()


@contextlib.asynccontextmanager
async def running_gateway(
    settings: ServerSettings,
    *,
    port_is_fixed: bool,
    start_learner: StartLearner = spawn_learner,
    around: Callable[[FastAPI], Any] = lambda app: app,
) -> AsyncGenerator[Gateway]:
    """Serve while the block runs.

    Args:
        settings: `host` becomes every interface with `lan`.
        port_is_fixed: a busy port is refused; else a free one is taken in its place.
        start_learner: how a learner is started.
        around: gives the ASGI app that is served, which may stand around the gateway's own.

    Raises: ConfigurationError: when the port cannot be had, certificate or tokens cannot be used, or too few
        files may be open.
    """
    raise_open_files()
    host = "0.0.0.0" if settings.lan and settings.host == "127.0.0.1" else settings.host
    listening = listen(host, settings.port, port_is_fixed=port_is_fixed)
    port: int = listening.getsockname()[1]
    settings = settings.model_copy(update={"host": host, "port": port})
    app: FastAPI = build_app(settings, start_learner)
    options: dict[str, Any] = {"log_level": "warning", "lifespan": "on", **uvicorn_options(settings)}
    if logging.getLogger().handlers:
        # Shown by us: uvicorn's own lines have the same form.
        options["log_config"] = None
    served = around(app)
    local = "127.0.0.1" if host in ("0.0.0.0", "::") else host
    local = f"[{local}]" if ":" in local else local
    async with contextlib.AsyncExitStack() as stack:
        await stack.enter_async_context(serving(served, options, listening))
        url = own_url = f"http://{local}:{port}"
        if settings.tls_cert is not None:
            own_url = f"https://{local}:{port}"
            # The certificate does not cover loopback, where only this machine's own browsers connect.
            inner = listen("127.0.0.1", 0, port_is_fixed=True)
            url = f"http://127.0.0.1:{inner.getsockname()[1]}"
            plain = {**options, "lifespan": "off", "ssl_certfile": None, "ssl_keyfile": None}
            await stack.enter_async_context(serving(served, plain, inner))
        # Before uvicorn waits for open connections: a page that listens to events never closes its own.
        stack.push_async_callback(app.state.service.close)
        yield Gateway(url, own_url, settings, app.state.service, app.state.guard)
