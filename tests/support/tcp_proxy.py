"""A TCP proxy before a server whose connections can be cut; a subclass may change what goes first."""

import asyncio
import contextlib

from waiting import WAIT_SECONDS, until

CHUNK_BYTES = 1 << 16


class TcpProxy:
    """Forwards every connection to `target`, a port of this machine. Used from one event loop."""

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

    refusal = b""

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ends = {writer}
        self._open |= ends
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
                first = await self.first_bytes(reader)
                if first is None:
                    writer.write(self.refusal)
                    return
                there, back = await asyncio.open_connection("127.0.0.1", self.target)
                ends.add(back)
                self._open.add(back)
                back.write(first)
                await asyncio.gather(_pump(reader, back), _pump(there, writer))
        finally:
            for end in ends:
                end.close()
                with contextlib.suppress(ConnectionError):
                    await end.wait_closed()
            self._open -= ends


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(CHUNK_BYTES):
            writer.write(data)
            await writer.drain()
    writer.close()
