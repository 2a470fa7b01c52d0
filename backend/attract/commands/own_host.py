"""A gateway in this process with one headless browser of its own, for commands that have games played."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from attract.browser.host import join_url
from attract.browser.process import HostProcess
from attract.commands.output import CommandConsole
from attract.server.in_process import Gateway, running_gateway
from attract.settings.run import ServerSettings


@asynccontextmanager
async def gateway_with_host(
    server: ServerSettings, console: CommandConsole, num_workers: int = 0, *, exposes_heap: bool = False
) -> AsyncGenerator[Gateway]:
    """Serve and host while the block runs; what goes wrong in the browser is printed.

    Args:
        server: settings of the gateway, on any free port.
        console: for the browser's errors.
        num_workers: of the host; checks, replays and playtests need none.
        exposes_heap: see `launch_switches`.

    Raises: ConfigurationError: as `running_gateway`.
    """

    def on_event(event: dict[str, Any]) -> None:
        if event.get("event") in ("page_error", "failed"):
            console.print(f"browser: {event.get('text')}", markup=False, highlight=False, soft_wrap=True)

    async with running_gateway(server, port_is_fixed=False) as gateway:
        url = join_url(gateway.url, gateway.guard.issue("worker"), num_workers)
        host = await HostProcess.start(url, on_event, exposes_heap=exposes_heap)
        try:
            yield gateway
        finally:
            await host.stop()
