"""Messages over an inherited socket: 4 bytes of little-endian length, then one frame."""

import contextlib
import socket
import threading

from attract.schema.frames import LENGTH, decode_to_learner, encode, message_length
from attract.schema.learner import Awaited, FromLearner, ToLearner


class Channel:
    """The learner's end of the socket pair; one thread receives, any thread may send."""

    def __init__(self, connection: socket.socket) -> None:
        connection.setblocking(True)
        self._connection = connection
        self._reader = connection.makefile("rb")
        self._send_lock = threading.Lock()
        self.awaited: int | None = None
        """The batch of the last `awaited`, which any thread may read."""

    def receive(self) -> ToLearner | None:
        """The next message but `awaited`; None once the peer has gone.

        Raises: ProtocolError: when what came is not a message to the learner.
        """
        while isinstance(message := self._receive(), Awaited):
            self.awaited = message.batch_id
        return message

    def _receive(self) -> ToLearner | None:
        try:
            header = self._reader.read(LENGTH.size)
            if len(header) < LENGTH.size:
                return None
            length = message_length(header)
            data = self._reader.read(length)
        except ConnectionResetError:
            return None
        return None if len(data) < length else decode_to_learner(data)

    def send(self, message: FromLearner) -> None:
        """Write one message, whole, from any thread. A lost peer is no error: `receive` reports it."""
        data = encode(message)
        with self._send_lock, contextlib.suppress(ConnectionError):
            # Two writes, not one joined copy: the ONNX bytes may be large.
            self._connection.sendall(LENGTH.pack(len(data)))
            self._connection.sendall(data)
