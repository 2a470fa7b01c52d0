"""A TCP proxy whose connections can be cut; subclasses change what goes first, or decide on each message."""

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import ormsgpack

from waiting import WAIT_SECONDS, until

CHUNK_BYTES = 1 << 16
BINARY, CONTINUATION = 2, 0


class TcpProxy:
    """Forwards every connection to `target`, a port of this machine. Used from one event loop."""

    refusal = b""

    def __init__(self, target: int = 0) -> None:
        self.target = target
        self.port = 0
        self._open: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None

    async def start(self) -> int:
        """Listen, on the same port each time; gives the port."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]
        return self.port

    async def cut(self) -> None:
        """Break every connection and take no more. A connection left open would warn in a later test."""
        assert self._server is not None
        self._server.close()
        await self._server.wait_closed()
        for writer in self._open:
            writer.transport.abort()
        await until(lambda: not self._open, WAIT_SECONDS)

    async def first_bytes(self, reader: asyncio.StreamReader) -> bytes | None:
        """What is sent on before the rest of a connection; None: it is refused, with `refusal`."""
        return b""

    async def forward(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, to_target: bool
    ) -> None:
        """One direction of a connection, which is over when this returns."""
        while data := await reader.read(CHUNK_BYTES):
            writer.write(data)
            await writer.drain()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ends = {writer}
        self._open |= ends
        try:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                first = await self.first_bytes(reader)
                if first is None:
                    writer.write(self.refusal)
                    return
                there, back = await asyncio.open_connection("127.0.0.1", self.target)
                ends.add(back)
                self._open.add(back)
                back.write(first)
                halves = [
                    asyncio.ensure_future(self.forward(reader, back, to_target=True)),
                    asyncio.ensure_future(self.forward(there, writer, to_target=False)),
                ]
                await asyncio.wait(halves, return_when=asyncio.FIRST_COMPLETED)
                for half in halves:
                    half.cancel()
                await asyncio.gather(*halves, return_exceptions=True)
        finally:
            for end in ends:
                end.close()
                with contextlib.suppress(OSError):
                    await end.wait_closed()
            self._open -= ends


@dataclass
class Message:
    """One websocket message on its way; `raw` are its frames as they came."""

    to_gateway: bool
    kind: str
    body: dict[str, object]
    raw: bytes


Decision = Callable[[Message], Awaitable[bytes | None]]
"""What is forwarded of a message: its bytes, fewer of them, or None to cut the connection."""


class FrameProxy(TcpProxy):
    """Before a gateway: `decide` is asked for each binary message of a websocket."""

    def __init__(self, target: int, decide: Decision) -> None:
        super().__init__(target)
        self._decide = decide

    async def forward(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, to_target: bool
    ) -> None:
        """As `TcpProxy.forward`, message by message."""
        head = await reader.readuntil(b"\r\n\r\n")
        writer.write(head)
        if b"websocket" not in head.lower():
            await super().forward(reader, writer, to_target=to_target)
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
            forwarded = await self._decide(Message(to_target, body["type"], body, raw))
            raw, payload = b"", b""
            if forwarded is None:
                return
            writer.write(forwarded)
            await writer.drain()


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
