"""An ASGI app served by a real uvicorn on a free port, within the test's own event loop."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import uvicorn

from attract.server.serving import uvicorn_options
from attract.settings.run import ServerSettings


class _Server(uvicorn.Server):
    """Leaves signals to pytest."""

    @contextlib.contextmanager
    def capture_signals(self) -> Any:
        yield


@contextlib.asynccontextmanager
async def running_server(app: Any, settings: ServerSettings | None = None) -> AsyncIterator[int]:
    """Serve `app` until the block ends; gives the port."""
    options: Any = uvicorn_options(settings or ServerSettings())
    config = uvicorn.Config(app, host="127.0.0.1", port=0, log_level="warning", **options)
    server = _Server(config)
    task = asyncio.create_task(server.serve())
    while not server.started:
        if task.done():
            task.result()
            raise RuntimeError("the server ended before it started")
        await asyncio.sleep(0)
    try:
        yield int(server.servers[0].sockets[0].getsockname()[1])
    finally:
        server.should_exit = True
        await task
