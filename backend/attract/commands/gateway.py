"""A gateway inside this process: the app under uvicorn, with our Ctrl-C in place of its own."""

import asyncio
import contextlib
import errno
import signal
import socket
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from dataclasses import dataclass
from typing import Any, TypeVar

import uvicorn
from fastapi import FastAPI
from typing_extensions import override

from attract.commands.interrupt import Terminated
from attract.errors import ConfigurationError
from attract.server.app import build_app
from attract.server.guard import Guard
from attract.server.learner_link import StartLearner, spawn_learner
from attract.server.links import lan_address
from attract.server.memory import settle_memory
from attract.server.run_service import RunService
from attract.server.serving import uvicorn_options
from attract.settings import ServerSettings

BACKLOG = 2048
STARTED_POLL_SECONDS = 0.01

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Gateway:
    """A gateway that is up: where it is, and what it offers in process."""

    url: str
    """Loopback address, for browsers on this machine."""
    service: RunService
    guard: Guard
    settings: ServerSettings

    @property
    def dashboard_url(self) -> str:
        """The dashboard with the admin token in its fragment."""
        return f"{self.url}/#token={self.guard.admin_token}"

    def join_link(self) -> str:
        """A link for hosts: for other devices where the server listens for them, else for this machine."""
        settings = self.settings
        if settings.public_url is None and not settings.lan:
            return f"{self.url}/join.html#token={self.guard.issue('worker')}"
        base = settings.public_url or f"http://{lan_address()}:{settings.port}"
        token = self.guard.issue("worker", tier="invited", seconds=settings.invite_seconds)
        return f"{base.rstrip('/')}/join.html#token={token}"

    async def say_goodbye(self) -> None:
        """Send the hosts home: what they came for is done, and nobody will be here again."""
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

    Raises: ConfigurationError: when the port cannot be had.
    """
    host = "0.0.0.0" if settings.lan and settings.host == "127.0.0.1" else settings.host
    listening = _listen(host, settings.port, port_is_fixed=port_is_fixed)
    port: int = listening.getsockname()[1]
    settings = settings.model_copy(update={"host": host, "port": port})
    app: FastAPI = build_app(settings, start_learner)
    options: dict[str, Any] = {"log_level": "warning", "lifespan": "on", **uvicorn_options(settings)}
    server = _Server(uvicorn.Config(around(app), **options))
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    try:
        while not server.started:
            if serving.done():
                await serving
                raise ConfigurationError("the server did not start", setting="server")
            await asyncio.sleep(STARTED_POLL_SECONDS)
        local = "127.0.0.1" if host in ("0.0.0.0", "::") else host
        yield Gateway(f"http://{local}:{port}", app.state.service, app.state.guard, settings)
    finally:
        # Before uvicorn waits for open connections: a page that listens to events never closes its own.
        await app.state.service.close()
        server.should_exit = True
        with contextlib.suppress(asyncio.CancelledError):
            await serving
        listening.close()


def run_async(work: Coroutine[Any, Any, Answer]) -> Answer:
    """Run a command's coroutine on uvloop where there is one; the process is its own from then on.

    Raises: Terminated, KeyboardInterrupt: SIGTERM or SIGINT came where the command does not listen for them
        itself; it was cancelled, and has closed what it had opened.
    """
    settle_memory()
    try:
        import uvloop
    except ImportError:
        return asyncio.run(_terminable(work))
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_terminable(work))


async def _terminable(work: Coroutine[Any, Any, Answer]) -> Answer:
    task = asyncio.ensure_future(work)
    terminated = asyncio.Event()

    def terminate() -> None:
        terminated.set()
        task.cancel()

    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, terminate)
    try:
        return await task
    except asyncio.CancelledError:
        if terminated.is_set():
            raise Terminated from None
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
            fix = "choose another with --port" if error.errno == errno.EADDRINUSE else None
            raise ConfigurationError(
                f"cannot listen on {host}:{wanted}: {error.strerror}", setting="port", fix=fix
            ) from None
        return sock
    raise RuntimeError("expected one of two ports to be tried")
