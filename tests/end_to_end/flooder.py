"""A flood of clients from many addresses of this machine, as a process of its own.

Run as `flooder.py PORT TOKEN IDLE ACTIVE SLOW DEAF`; prints `up` once all are connected. For each line of its
standard input, and when that is closed, it prints a line of JSON: how many sockets are still open, how many
messages the active ones sent, and the statuses of its requests. Then it ends.

Run as `flooder.py burn SHARE` it sends nothing: it prints `up` and keeps that share of a core busy.
"""

import asyncio
import contextlib
import json
import secrets
import sys
import time
from collections import Counter
from typing import Any

import httpx
import websockets

from attract.schema import PROTOCOL_VERSION
from attract.schema.frames import encode
from attract.schema.messages import Hello, HostStatus

PER_ADDRESS = 50
"""Sockets per address, of the 64 that the server allows."""
STATUS_SECONDS = 0.5
SLOW_SECONDS = 0.5
BURN_SECONDS = 0.01
AT_ONCE = 16
"""So many connect side by side; each has 3 s to say hello."""


class Flood:
    """Hosts with a worker's token, and clients without any."""

    def __init__(self, port: int, token: str) -> None:
        self._port = port
        self._token = token
        self._number = 0
        self._open: list[Any] = []
        self._tasks: list[asyncio.Task[None]] = []
        self.num_sent = 0
        """Messages of the active."""
        self.statuses: Counter[int] = Counter()

    def _address(self) -> tuple[str, int]:
        self._number += 1
        block, last = divmod(self._number // PER_ADDRESS, 250)
        return f"127.0.{1 + block}.{1 + last}", 0

    async def join(self, **options: Any) -> Any:
        """A host's socket that has said hello."""
        socket = await websockets.connect(
            f"ws://127.0.0.1:{self._port}/ws",
            origin=f"http://127.0.0.1:{self._port}",  # type: ignore[arg-type]
            local_addr=self._address(),
            compression=None,
            max_size=None,
            open_timeout=60,
            **options,
        )
        hello = Hello(
            protocol_version=PROTOCOL_VERSION,
            build="test",
            token=self._token,
            role="host",
            host_id=secrets.token_hex(16),
            max_workers=0,
        )
        await socket.send(encode(hello))
        self._open.append(socket)
        return socket

    async def active(self) -> None:
        """Says all the time how it stands."""
        socket = await self.join()

        async def talk() -> None:
            with contextlib.suppress(websockets.ConnectionClosed):
                while True:
                    await socket.send(encode(HostStatus(run_id=None, num_workers=0)))
                    self.num_sent += 1
                    await asyncio.sleep(STATUS_SECONDS)

        self._tasks.append(asyncio.create_task(talk()))

    async def deaf(self) -> None:
        """Never reads: what the server has to say stays in the sockets' buffers."""
        socket = await self.join(max_queue=1)
        socket.transport.pause_reading()

    async def slow(self) -> None:
        """Sends the head of a request byte by byte, again when the server has had enough."""

        async def drip() -> None:
            while True:
                with contextlib.suppress(OSError):
                    _, writer = await asyncio.open_connection(
                        "127.0.0.1", self._port, local_addr=self._address()
                    )
                    for byte in b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: " + b"a" * 1000:
                        writer.write(bytes([byte]))
                        await writer.drain()
                        await asyncio.sleep(SLOW_SECONDS)

        self._tasks.append(asyncio.create_task(drip()))

    async def ask(self) -> None:
        """Ordinary requests beside it all."""
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{self._port}", timeout=60) as client:
            while True:
                for path in ("/healthz", "/api/runs", "/nothing"):
                    self.statuses[(await client.get(path)).status_code] += 1
                await asyncio.sleep(0.2)

    def num_open(self) -> int:
        return sum(socket.close_code is None for socket in self._open)

    def report(self) -> None:
        state = {"open": self.num_open(), "sent": self.num_sent, "statuses": self.statuses}
        print(json.dumps(state), flush=True)

    def end(self) -> None:
        for task in self._tasks:
            task.cancel()


async def main(port: int, token: str, idle: int, active: int, slow: int, deaf: int) -> None:
    flood = Flood(port, token)
    for number, start in ((idle, flood.join), (active, flood.active), (deaf, flood.deaf), (slow, flood.slow)):
        for first in range(0, number, AT_ONCE):
            await asyncio.gather(*(start() for _ in range(min(AT_ONCE, number - first))))
    asking = asyncio.create_task(flood.ask())
    print("up", flush=True)
    while await asyncio.to_thread(sys.stdin.readline):
        flood.report()
    if asking.done():
        asking.result()
    asking.cancel()
    flood.end()
    flood.report()
    # Closing a thousand sockets politely takes longer than the test.
    sys.stdout.flush()
    raise SystemExit(0)


def burn(share: float) -> None:
    """Keep a share of a core busy until killed, in turns of 10 ms."""
    print("up", flush=True)
    while True:
        until = time.process_time() + share * BURN_SECONDS
        while time.process_time() < until:
            pass
        time.sleep((1 - share) * BURN_SECONDS)


if __name__ == "__main__":
    if sys.argv[1] == "burn":
        burn(float(sys.argv[2]))
    asyncio.run(main(int(sys.argv[1]), sys.argv[2], *(int(word) for word in sys.argv[3:7])))
