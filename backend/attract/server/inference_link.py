"""The gateway's end of the inference process: starts it, sends it messages, hears it, ends it."""

import asyncio
import contextlib
import socket
import struct
import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import Self

from attract.errors import InferenceError, ProtocolError
from attract.schema.base import WireModel
from attract.schema.frames import decode_from_inference, encode
from attract.schema.inference import EndInference, FromInference
from attract.server.learner_link import start_child

LENGTH = struct.Struct("<I")
MAX_MESSAGE_BYTES = 1 << 30
END_SECONDS = 10.0
INFERENCE = (sys.executable, "-m", "attract.inference")


class InferenceLink:
    """One inference process's life, over one socket; owned by the relay, used from the event loop alone."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        process: subprocess.Popen[bytes] | None,
    ) -> None:
        """Use `over` or `spawn_inference`."""
        self._reader = reader
        self._writer = writer
        self._process = process

    @classmethod
    async def over(cls, sock: socket.socket, process: subprocess.Popen[bytes] | None = None) -> Self:
        """A link over a connected stream socket, which it closes."""
        sock.setblocking(False)
        reader, writer = await asyncio.open_connection(sock=sock, limit=1 << 20)
        return cls(reader, writer, process)

    def send(self, message: WireModel) -> None:
        """Put one message on its way. A process that has ended is no error here: `receive` tells of it."""
        data = encode(message)
        with contextlib.suppress(ConnectionError):
            self._writer.write(LENGTH.pack(len(data)) + data)

    async def receive(self) -> FromInference | None:
        """The next message, or None when the process is gone.

        Raises: InferenceError: when what it sent is not a message.
        """
        try:
            (length,) = LENGTH.unpack(await self._reader.readexactly(LENGTH.size))
            if length > MAX_MESSAGE_BYTES:
                raise InferenceError(f"it announced a message of {length} bytes")
            return decode_from_inference(await self._reader.readexactly(length))
        except (asyncio.IncompleteReadError, ConnectionError):
            return None
        except ProtocolError as error:
            raise InferenceError(f"it sent no message of ours: {error}") from error

    async def close(self) -> None:
        """Ask the process to finish and wait for it, 10 s at most."""
        self.send(EndInference())
        with contextlib.suppress(ConnectionError, TimeoutError):
            await asyncio.wait_for(self._writer.drain(), END_SECONDS)
        if self._process is not None:
            try:
                await asyncio.wait_for(asyncio.to_thread(self._process.wait), END_SECONDS)
            except TimeoutError:
                self._process.kill()
                await asyncio.to_thread(self._process.wait)
        self._writer.close()
        with contextlib.suppress(ConnectionError):
            await self._writer.wait_closed()


StartInference = Callable[[], Awaitable[InferenceLink]]


async def spawn_inference(environment: Mapping[str, str] | None = None) -> InferenceLink:
    """Start the inference process in a session of its own; it imports torch while browsers load the game."""
    return await InferenceLink.over(*start_child(environment, INFERENCE))
