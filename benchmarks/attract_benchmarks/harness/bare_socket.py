"""The bare part of the gateway: its websocket server with nothing behind it but an answer to each frame.

`python -m attract_benchmarks.harness.bare_socket` reads a line, says where it is, and answers each further
line with what it used.
"""

import asyncio
import time
from typing import Any

import uvicorn
from pydantic import BaseModel, ConfigDict

from attract.schema.frames import encode
from attract.schema.messages import BlockAck
from attract.server.app_server import run_async
from attract.server.serving import uvicorn_options
from attract.settings.run import ServerSettings
from attract_benchmarks.harness.child import questions, say
from attract_benchmarks.harness.served import Look
from attract_benchmarks.harness.stamps import Message, Receive, Send

STARTED_POLL_SECONDS = 0.01


class BarePlace(BaseModel):
    """Address of the server."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    url: str


class BareReport(BaseModel):
    """CPU time used since it began."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    cpu_seconds: float


ANSWER = encode(BlockAck(run_id="cartpole-20260101-000000-0000", lease_id=1000, block_index=1, accepted=True))


async def _answer(scope: Any, receive: Receive, send: Send) -> None:
    if scope["type"] != "websocket":
        return
    await receive()
    await send({"type": "websocket.accept"})
    while (await receive())["type"] == "websocket.receive":
        message: Message = {"type": "websocket.send", "bytes": ANSWER}
        await send(message)


async def _serve() -> None:
    lines = questions()
    await anext(lines)
    options: dict[str, Any] = {**uvicorn_options(ServerSettings()), "log_level": "warning", "lifespan": "off"}
    server = uvicorn.Server(uvicorn.Config(_answer, host="127.0.0.1", port=0, **options))
    serving = asyncio.create_task(server.serve())
    while not server.started:
        if serving.done():
            await serving
            raise RuntimeError("expected a server, it has ended")
        await asyncio.sleep(STARTED_POLL_SECONDS)
    port: int = server.servers[0].sockets[0].getsockname()[1]
    say(BarePlace(url=f"ws://127.0.0.1:{port}/ws"))
    async for line in lines:
        Look.model_validate_json(line)
        say(BareReport(cpu_seconds=time.process_time()))
    server.should_exit = True
    await serving


if __name__ == "__main__":
    run_async(_serve())
