"""A gateway inside this process: the app under uvicorn, with our Ctrl-C in place of its own."""

import asyncio
import contextlib
import errno
import logging
import signal
import socket
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from dataclasses import dataclass
from typing import Any, TypeVar

import uvicorn
from fastapi import FastAPI
from typing_extensions import override

from attract.errors import ConfigurationError
from attract.processes.descriptors import raise_open_files
from attract.processes.interrupt import Terminated
from attract.processes.learner import StartLearner, spawn_learner
from attract.run.service import RunService
from attract.server.app import build_app
from attract.server.guard import Guard
from attract.server.links import dashboard_url, printed_link
from attract.server.memory import settle_memory
from attract.server.serving import uvicorn_options
from attract.settings.run import ServerSettings

BACKLOG = 2048
STARTED_POLL_SECONDS = 0.01

Answer = TypeVar("Answer")


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


class _Server(uvicorn.Server):
    """uvicorn without its signal handlers: the command line decides what Ctrl-C means."""

    @override
    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


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
    listening = _listen(host, settings.port, port_is_fixed=port_is_fixed)
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
        await stack.enter_async_context(_serving(served, options, listening))
        url = own_url = f"http://{local}:{port}"
        if settings.tls_cert is not None:
            own_url = f"https://{local}:{port}"
            # The certificate does not cover loopback, where only this machine's own browsers connect.
            inner = _listen("127.0.0.1", 0, port_is_fixed=True)
            url = f"http://127.0.0.1:{inner.getsockname()[1]}"
            plain = {**options, "lifespan": "off", "ssl_certfile": None, "ssl_keyfile": None}
            await stack.enter_async_context(_serving(served, plain, inner))
        # Before uvicorn waits for open connections: a page that listens to events never closes its own.
        stack.push_async_callback(app.state.service.close)
        yield Gateway(url, own_url, settings, app.state.service, app.state.guard)


@contextlib.asynccontextmanager
async def serving_app(app: Any) -> AsyncGenerator[int]:
    """Serve an ASGI app to this machine while the block runs; gives the port."""
    listening = _listen("127.0.0.1", 0, port_is_fixed=True)
    port: int = listening.getsockname()[1]
    async with _serving(app, {"log_level": "warning", "lifespan": "off"}, listening):
        yield port


@contextlib.asynccontextmanager
async def _serving(app: Any, options: dict[str, Any], listening: socket.socket) -> AsyncGenerator[None]:
    """A server of `app` while the block runs. Raises: ConfigurationError: when it does not start."""
    try:
        config = uvicorn.Config(app, **options)
        config.load()
    except OSError as error:
        listening.close()
        raise ConfigurationError(
            f"the certificate cannot be used: {error.strerror or error}",
            setting="--tls-cert, --tls-key",
            fix="both must be PEM files, and the key must belong to the certificate",
        ) from None
    server = _Server(config)
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    try:
        while not server.started:
            if serving.done():
                await serving
                raise ConfigurationError("the server did not start", setting="server")
            await asyncio.sleep(STARTED_POLL_SECONDS)
        yield
    finally:
        server.should_exit = True
        with contextlib.suppress(asyncio.CancelledError):
            await serving
        listening.close()


def run_async(work: Coroutine[Any, Any, Answer]) -> Answer:
    """Run a command's coroutine on uvloop where there is one; the process is its own from then on.

    Raises: Terminated, KeyboardInterrupt: SIGTERM or SIGINT came where the command does not listen for them
        itself; it was cancelled, and has closed what it had opened.
    """
    before = signal.getsignal(signal.SIGINT)
    try:
        settle_memory()
        try:
            import uvloop
        except ImportError:
            return asyncio.run(_ended_by_signals(work))
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(_ended_by_signals(work))
    except _Interrupted:
        raise KeyboardInterrupt from None
    finally:
        signal.signal(signal.SIGINT, before)


class _Interrupted(Exception):  # noqa: N818 - no error: a user asked for it
    """SIGINT came; a KeyboardInterrupt would not leave the loop in order."""


async def _ended_by_signals(work: Coroutine[Any, Any, Answer]) -> Answer:
    task = asyncio.ensure_future(work)
    came: list[int] = []

    def end(number: int) -> None:
        came.append(number)
        task.cancel()

    for number in (signal.SIGTERM, signal.SIGINT):
        if signal.getsignal(number) is not signal.SIG_IGN:
            asyncio.get_running_loop().add_signal_handler(number, end, number)
    try:
        return await task
    except asyncio.CancelledError:
        if came:
            raise (Terminated if came[0] == signal.SIGTERM else _Interrupted) from None
        raise


def _listen(host: str, port: int, *, port_is_fixed: bool) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for wanted in (port, 0):
        sock = socket.socket(family, socket.SOCK_STREAM)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind((host, wanted))
            sock.listen(BACKLOG)
        except OSError as error:
            sock.close()
            if error.errno == errno.EADDRINUSE and not port_is_fixed and wanted != 0:
                continue
            is_host = isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL
            fix = "choose another with --port" if error.errno == errno.EADDRINUSE else None
            raise ConfigurationError(
                f"cannot listen on {host}:{wanted}: {error.strerror}",
                setting="host" if is_host else "port",
                fix="give an address of this machine, for example 127.0.0.1" if is_host else fix,
            ) from None
        return sock
    raise RuntimeError("expected one of two ports to be tried")
