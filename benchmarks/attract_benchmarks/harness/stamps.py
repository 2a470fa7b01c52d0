"""Records what passes an app's websockets and when, by wrapping the app: nothing inside it is changed."""

import time
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from typing import Any

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

SMALL_BYTES = 4096
"""Frames up to this are no blocks."""
TYPE_BYTES = 32
"""A frame begins with its type: `{"type": "policy", ...}`."""


@dataclass
class Passed:
    """Traffic since the last call; times are seconds of the monotonic clock."""

    num_bytes: int = 0
    """Bytes of blocks received, whole frames."""
    blocks: list[tuple[int, float]] = field(default_factory=list[tuple[int, float]])
    """(bytes, seconds from `receive()` returning to its row being committed) of each block."""
    policies: list[tuple[int, float, bytes]] = field(default_factory=list[tuple[int, float, bytes]])
    """(socket, when sent, frame) of each policy."""
    acks: list[tuple[int, float, bytes]] = field(default_factory=list[tuple[int, float, bytes]])
    """(socket, when received, frame) of each policy's acknowledgement."""


class StampedApp:
    """An ASGI app that notes what passes the websockets of the app inside; used on one event loop."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._passed = Passed()
        self._num_sockets = 0
        self._received: tuple[int, float] | None = None
        """(bytes, when) of the block received last, until it is committed."""

    def take(self) -> Passed:
        """Traffic since the last call."""
        passed, self._passed = self._passed, Passed()
        return passed

    def committed(self) -> None:
        """A block's row was committed: of the block received last, for the app deals with each at once."""
        if self._received is not None:
            num_bytes, received = self._received
            self._passed.blocks.append((num_bytes, time.monotonic() - received))
            self._received = None

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] != "websocket":
            await self._app(scope, receive, send)
            return
        self._num_sockets += 1
        number = self._num_sockets

        async def stamped_receive() -> Message:
            message = await receive()
            data = message.get("bytes")
            if data is not None:
                if len(data) > SMALL_BYTES:
                    self._passed.num_bytes += len(data)
                    self._received = len(data), time.monotonic()
                elif b"\xaapolicy_ack" in data[:TYPE_BYTES]:
                    self._passed.acks.append((number, time.monotonic(), data))
            return message

        async def stamped_send(message: Message) -> None:
            data = message.get("bytes")
            if data is not None and b"\xa6policy" in data[:TYPE_BYTES]:
                self._passed.policies.append((number, time.monotonic(), data))
            await send(message)

        await self._app(scope, stamped_receive, stamped_send)
