"""A command's own headless browser, and a gateway in this process for commands that have games played."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from attract.browser.host import join_url
from attract.browser.process import HostProcess
from attract.commands.output import CommandConsole, say
from attract.errors import AttractError
from attract.settings.run import ServerSettings

if TYPE_CHECKING:
    from attract.server.in_process import Gateway


@asynccontextmanager
async def running_host(
    url: str, on_event: Callable[[dict[str, Any]], None], *, exposes_heap: bool = False
) -> AsyncGenerator[None]:
    """A headless browser while the block runs; the block is cancelled where that cannot be started.

    Args:
        url: of the page it opens.
        on_event: called with each of its events but a failure.
        exposes_heap: see `launch_switches`.

    Raises: AttractError: the browser cannot be started; the block is left by it.
    """
    task, failures, is_over = asyncio.current_task(), list[AttractError](), False

    def hear(event: dict[str, Any]) -> None:
        if event.get("event") != "failed":
            on_event(event)
        elif task is not None and not failures and not is_over:
            failures.append(failure_of(event))
            task.cancel()

    host = await HostProcess.start(url, hear, exposes_heap=exposes_heap)
    try:
        yield
        is_over = True
    except asyncio.CancelledError:
        if task is None or not failures:
            raise
        task.uncancel()
        raise failures[0] from None
    finally:
        is_over = True
        await host.stop()


def failure_of(event: dict[str, Any]) -> AttractError:
    """The error of a host process that says `failed`, with its exit code."""
    error = AttractError(str(event["text"]))
    error.exit_code = int(event["code"])
    return error


@asynccontextmanager
async def gateway_with_host(
    server: ServerSettings, console: CommandConsole, num_workers: int = 0, *, exposes_heap: bool = False
) -> AsyncGenerator["Gateway"]:
    """Serve and host while the block runs; what goes wrong in the browser is printed.

    Args:
        server: settings of the gateway, on any free port.
        console: for the browser's errors.
        num_workers: of the host; checks, replays and playtests need none.
        exposes_heap: see `launch_switches`.

    Raises: ConfigurationError: as `running_gateway`. AttractError: as `running_host`.
    """

    def on_event(event: dict[str, Any]) -> None:
        if event.get("event") == "page_error":
            say(console, f"browser: {event.get('text')}")

    # It takes most of a second to import, and `--help` and wrong usage do without it.
    from attract.server.in_process import running_gateway

    async with running_gateway(server, port_is_fixed=False) as gateway:
        url = join_url(gateway.url, gateway.guard.issue("worker"), num_workers)
        async with running_host(url, on_event, exposes_heap=exposes_heap):
            yield gateway
