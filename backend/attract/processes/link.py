"""The gateway's end of a child process: starts it, sends and receives its messages, ends it."""

import asyncio
import contextlib
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from attract.errors import AttractError, ProtocolError
from attract.schema.base import WireModel
from attract.schema.frames import LENGTH, encode, message_length

Message = TypeVar("Message")


@dataclass(frozen=True, slots=True)
class Peer(Generic[Message]):
    """The messages of one kind of process, and how it is asked to end."""

    name: str
    """Its name in a sentence."""
    command: Sequence[str]
    """Starts it; `--fd N` is added."""
    decode: Callable[[bytes], Message]
    """Raises: ProtocolError: when the frame is no message of the process."""
    error: Callable[[str], AttractError]
    """Builds the exception for a failed process from the reason."""
    shutdown_message: WireModel
    """Asks it to finish what it is doing and exit 0."""
    shutdown_seconds: float
    """Time limit for that."""


class ProcessLink(Generic[Message]):
    """One process's life, over one socket; owned by its starter, used from the event loop alone."""

    def __init__(
        self,
        peer: Peer[Message],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        process: subprocess.Popen[bytes] | None,
    ) -> None:
        """Use `open_link` or `spawn`."""
        self._peer = peer
        self._reader = reader
        self._writer = writer
        self.process = process

    def send(self, message: WireModel) -> None:
        """Queue one message. A process that has ended is no error here: `receive` reports it."""
        data = encode(message)
        with contextlib.suppress(ConnectionError):
            self._writer.write(LENGTH.pack(len(data)) + data)

    async def receive(self) -> Message | None:
        """The next message, or None when the process is gone.

        Raises: the peer's error: when what it sent is not a message.
        """
        try:
            length = message_length(await self._reader.readexactly(LENGTH.size))
            return self._peer.decode(await self._reader.readexactly(length))
        except (asyncio.IncompleteReadError, ConnectionError):
            return None
        except ProtocolError as error:
            raise self._peer.error(f"{self._peer.name} sent an invalid message: {error}") from error

    async def close(self) -> int | None:
        """Ask the process to finish and wait for it as long as it may take; then end it.

        Returns: its exit code, None without a process.
        """
        self.send(self._peer.shutdown_message)
        with contextlib.suppress(ConnectionError, TimeoutError):
            await asyncio.wait_for(self._writer.drain(), self._peer.shutdown_seconds)
        if self.process is not None:
            try:
                await asyncio.wait_for(asyncio.to_thread(self.process.wait), self._peer.shutdown_seconds)
            except TimeoutError:
                self.process.kill()
        return await self._closed()

    async def kill(self) -> int | None:
        """End the process now, losing what it was doing; its exit code, None without a process."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
        return await self._closed()

    async def _closed(self) -> int | None:
        self._writer.close()
        with contextlib.suppress(ConnectionError):
            await self._writer.wait_closed()
        return None if self.process is None else await asyncio.to_thread(self.process.wait)


async def open_link(
    peer: Peer[Message], sock: socket.socket, process: subprocess.Popen[bytes] | None = None
) -> ProcessLink[Message]:
    """A link over a connected stream socket, which it closes; `process` is ended by `close` and `kill`."""
    sock.setblocking(False)
    reader, writer = await asyncio.open_connection(sock=sock, limit=1 << 20)
    return ProcessLink(peer, reader, writer, process)


async def spawn(
    peer: Peer[Message], environment: Mapping[str, str] | None = None, *, command: Sequence[str] | None = None
) -> ProcessLink[Message]:
    """Start the peer, or `command` in its place, with one end of a socket pair (`--fd N`).

    It gets a session of its own, so that Ctrl-C, which goes to the process group, does not reach it.
    Its output goes to the stderr of this process.

    Raises: OSError: it cannot be started.
    """
    return await open_link(peer, *_start_child(command or peer.command, environment))


def _start_child(
    command: Sequence[str], environment: Mapping[str, str] | None
) -> tuple[socket.socket, subprocess.Popen[bytes]]:
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
