"""A TCP proxy between browsers and a gateway that sees websocket messages, and can delay or cut them."""

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import ormsgpack

CHUNK_BYTES = 1 << 16
BINARY, CONTINUATION = 2, 0


@dataclass
class Message:
    """One websocket message on its way; `raw` are its frames as they came."""

    connection: int
    to_gateway: bool
    kind: str
    body: dict[str, object]
    raw: bytes


Decision = Callable[[Message], Awaitable[bytes | None]]
"""What is forwarded of a message: its bytes, fewer of them, or None to cut the connection."""


@dataclass
class FrameProxy:
    """Forwards every connection to `(host, port)`; `decide` is asked for each binary message.

    Used from one event loop; `start` gives the port it listens on.
    """

    host: str
    port: int
    decide: Decision
    _server: asyncio.Server | None = None
    _count: int = 0
    _tasks: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])

    async def start(self) -> int:
        """Listen on a free loopback port."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        return self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Cut everything."""
        assert self._server is not None
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._count += 1
        connection = self._count
        try:
            far_reader, far_writer = await asyncio.open_connection(self.host, self.port)
            halves = [
                asyncio.ensure_future(self._pump(connection, True, reader, far_writer)),
                asyncio.ensure_future(self._pump(connection, False, far_reader, writer)),
            ]
            try:
                await asyncio.wait(halves, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for half in halves:
                    half.cancel()
                await asyncio.gather(*halves, return_exceptions=True)
                far_writer.close()
        except (ConnectionError, OSError):
            pass
        finally:
            writer.close()
            self._tasks.discard(task)

    async def _pump(
        self, connection: int, to_gateway: bool, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            writer.write(head)
            if b"websocket" not in head.lower():
                while data := await reader.read(CHUNK_BYTES):
                    writer.write(data)
                    await writer.drain()
                return
            raw, payload = b"", b""
            while True:
                final, opcode, frame, content = await _read_frame(reader)
                if opcode not in (BINARY, CONTINUATION):
                    writer.write(frame)
                    await writer.drain()
                    continue
                raw, payload = raw + frame, payload + content
                if not final:
                    continue
                body = ormsgpack.unpackb(payload)
                message = Message(connection, to_gateway, body["type"], body, raw)
                raw, payload = b"", b""
                forwarded = await self.decide(message)
                if forwarded:
                    writer.write(forwarded)
                    await writer.drain()
                if forwarded is None:
                    return


async def _read_frame(reader: asyncio.StreamReader) -> tuple[bool, int, bytes, bytes]:
    """One frame (RFC 6455, section 5.2): final, opcode, its bytes as sent, its content unmasked."""
    head = await reader.readexactly(2)
    length = head[1] & 0x7F
    extra = b""
    if length == 126:
        extra = await reader.readexactly(2)
        length = int.from_bytes(extra, "big")
    elif length == 127:
        extra = await reader.readexactly(8)
        length = int.from_bytes(extra, "big")
    masked = bool(head[1] & 0x80)
    key = await reader.readexactly(4) if masked else b""
    data = await reader.readexactly(length)
    content = _unmask(data, key) if masked else data
    return bool(head[0] & 0x80), head[0] & 0x0F, head + extra + key + data, content


def changed(body: dict[str, object]) -> bytes:
    """A browser's frame with another body; its mask is of zeros (RFC 6455, section 5.3)."""
    payload = ormsgpack.packb(body)
    size = len(payload)
    if size < 126:
        length = bytes([0x80 | size])
    elif size < 1 << 16:
        length = bytes([0x80 | 126]) + size.to_bytes(2, "big")
    else:
        length = bytes([0x80 | 127]) + size.to_bytes(8, "big")
    return bytes([0x80 | BINARY]) + length + bytes(4) + payload


def _unmask(data: bytes, key: bytes) -> bytes:
    padded = -len(data) % 4
    stream = key * ((len(data) + padded) // 4)
    mixed = int.from_bytes(data, "little") ^ int.from_bytes(stream[: len(data)], "little")
    return mixed.to_bytes(len(data), "little")


def delaying(seed: int, max_seconds: float) -> Decision:
    """Forward everything, each message after a random time of up to `max_seconds`."""
    draws = random.Random(seed)

    async def decide(message: Message) -> bytes:
        await asyncio.sleep(draws.random() * max_seconds)
        return message.raw

    return decide
