"""The gateway's end of the learner process: starts it, sends it messages, hears it, ends it."""

import asyncio
import contextlib
import socket
import struct
import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Self

from attract.errors import LearnerError, ProtocolError
from attract.schema.base import WireModel
from attract.schema.frames import decode_from_learner, encode
from attract.schema.learner import FromLearner, Shutdown

LENGTH = struct.Struct("<I")
MAX_MESSAGE_BYTES = 1 << 30
SHUTDOWN_SECONDS = 20.0


class LearnerLink:
    """One learner's life, over one socket; owned by the run service, used from the event loop alone."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        process: subprocess.Popen[bytes] | None,
    ) -> None:
        """Use `over` or `spawn_learner`."""
        self._reader = reader
        self._writer = writer
        self.process = process

    @classmethod
    async def over(cls, sock: socket.socket, process: subprocess.Popen[bytes] | None = None) -> Self:
        """A link over a connected stream socket, which it closes; `process` is ended by `close`."""
        sock.setblocking(False)
        reader, writer = await asyncio.open_connection(sock=sock, limit=1 << 20)
        return cls(reader, writer, process)

    def send(self, message: WireModel) -> None:
        """Put one message on its way. A dead learner is not an error here: `receive` tells of it."""
        data = encode(message)
        with contextlib.suppress(ConnectionError):
            self._writer.write(LENGTH.pack(len(data)) + data)

    async def receive(self) -> FromLearner | None:
        """The next message, or None when the learner is gone.

        Raises: LearnerError: when what it sent is not a message.
        """
        try:
            (length,) = LENGTH.unpack(await self._reader.readexactly(LENGTH.size))
            if length > MAX_MESSAGE_BYTES:
                raise LearnerError(f"the learner announced a message of {length} bytes")
            return decode_from_learner(await self._reader.readexactly(length))
        except (asyncio.IncompleteReadError, ConnectionError):
            return None
        except ProtocolError as error:
            raise LearnerError(f"the learner sent no message of ours: {error}") from error

    async def close(self) -> int | None:
        """Ask the learner to finish and wait for it, 20 s at most; its exit code, None without a process."""
        self.send(Shutdown())
        with contextlib.suppress(ConnectionError, TimeoutError):
            await asyncio.wait_for(self._writer.drain(), SHUTDOWN_SECONDS)
        if self.process is not None:
            try:
                await asyncio.wait_for(asyncio.to_thread(self.process.wait), SHUTDOWN_SECONDS)
            except TimeoutError:
                self.process.kill()
        return await self._closed()

    async def kill(self) -> int | None:
        """End the learner now, losing what it was doing; its exit code, None without a process."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
        return await self._closed()

    async def _closed(self) -> int | None:
        self._writer.close()
        with contextlib.suppress(ConnectionError):
            await self._writer.wait_closed()
        return None if self.process is None else await asyncio.to_thread(self.process.wait)


StartLearner = Callable[[], Awaitable[LearnerLink]]
"""How the gateway gets a learner; called again when one has died."""


LEARNER = (sys.executable, "-m", "attract.learner")


async def spawn_learner(
    environment: Mapping[str, str] | None = None, *, command: Sequence[str] = LEARNER
) -> LearnerLink:
    """Start `command` with one end of a socket pair (`--fd`); it imports torch while others start.

    It gets a session of its own, so that Ctrl-C, which goes to the process group, does not reach it.
    Its output goes to the stderr of this process.
    """
    return await LearnerLink.over(*start_child(environment, command))


def start_child(
    environment: Mapping[str, str] | None, command: Sequence[str]
) -> tuple[socket.socket, subprocess.Popen[bytes]]:
    """`command --fd N` with one end of a socket pair; the other end, and the process."""
    ours, theirs = socket.socketpair()
    try:
        # From this thread, not from a pool's: the learner asks the kernel to tell it when its starter ends.
        process = subprocess.Popen(
            [*command, "--fd", str(theirs.fileno())],
            pass_fds=(theirs.fileno(),),
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=sys.stderr.fileno(),
            env=None if environment is None else dict(environment),
        )
    except BaseException:
        ours.close()
        raise
    finally:
        theirs.close()
    return ours, process
