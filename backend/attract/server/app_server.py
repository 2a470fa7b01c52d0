"""An ASGI app under uvicorn in this process, and a command's event loop, which handles Ctrl-C itself."""

import asyncio
import contextlib
import errno
import gc
import signal
import socket
from collections.abc import AsyncGenerator, Coroutine, Generator
from typing import Any, TypeVar

import uvicorn
from typing_extensions import override

from attract.errors import ConfigurationError
from attract.processes.cores import keep_freed_memory
from attract.processes.interrupt import SAME_SECONDS, Terminated

BACKLOG = 2048
YOUNG_OBJECTS = 50_000
"""Objects made and not yet freed that are looked at together; Python's own 700 are those of two blocks."""
KEEP_BYTES = 64 << 20
"""Freed memory that is not handed back: what the frames of all sockets take at a time."""
STARTED_POLL_SECONDS = 0.01

Answer = TypeVar("Answer")


class _Server(uvicorn.Server):
    """uvicorn without its signal handlers: the command line decides what Ctrl-C means."""

    @override
    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


@contextlib.asynccontextmanager
async def serving_app(app: Any) -> AsyncGenerator[int]:
    """Serve an ASGI app to this machine while the block runs; gives the port."""
    listening = listen("127.0.0.1", 0, port_is_fixed=True)
    port: int = listening.getsockname()[1]
    async with serving(app, {"log_level": "warning", "lifespan": "off"}, listening):
        yield port


@contextlib.asynccontextmanager
async def serving(app: Any, options: dict[str, Any], listening: socket.socket) -> AsyncGenerator[None]:
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
    loop = asyncio.get_running_loop()
    first_at = 0.0

    def end(number: int) -> None:
        nonlocal first_at
        if not came:
            first_at = loop.time()
        elif loop.time() - first_at < SAME_SECONDS:
            return
        came.append(number)
        task.cancel()

    for number in (signal.SIGTERM, signal.SIGINT):
        if signal.getsignal(number) is not signal.SIG_IGN:
            loop.add_signal_handler(number, end, number)
    try:
        return await task
    except asyncio.CancelledError:
        if came:
            raise (Terminated if came[0] == signal.SIGTERM else _Interrupted) from None
        raise


def settle_memory() -> None:
    """Set aside what the process holds now and will hold for ever, and look for garbage seldom.

    At Python's own thresholds half of what the gateway spends on a block is the collector's, and now and
    then a full look goes through every object of every library while all sockets wait. Nothing here makes
    cycles with each message; reference counts free the rest.
    For the gateway's own process only, once it has imported what it needs.
    """
    gc.collect()
    gc.freeze()
    keep_freed_memory(KEEP_BYTES)
    gc.set_threshold(YOUNG_OBJECTS, *gc.get_threshold()[1:])


def listen(host: str, port: int, *, port_is_fixed: bool) -> socket.socket:
    """A socket that listens there; a busy port is refused, or a free one is taken in its place.

    Raises: ConfigurationError: the address or the port cannot be had.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for wanted in (port, 0):
        # By its protocol asyncio knows that what is written goes at once: else each answer waits for 40 ms.
        sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
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
