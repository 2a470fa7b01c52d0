"""Configures uvicorn for the gateway: options and a deadline on which its limits rely."""

import asyncio
import copy
from typing import TYPE_CHECKING, Any, ClassVar

import uvicorn
from typing_extensions import override
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame

from attract.schema.close_codes import BACKPRESSURE
from attract.server.quiet_log import TokenBucket, quieten
from attract.settings.run import ServerSettings

if TYPE_CHECKING:
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol as HttpProtocol
else:
    from uvicorn.protocols.http.auto import AutoHTTPProtocol as HttpProtocol


SMALL_FRAMES_PER_SECOND = 100.0
SMALL_FRAMES_AT_ONCE = 1000.0
SMALL_PIECE_BYTES = 1024


class HeaderDeadlineProtocol(HttpProtocol):
    """uvicorn's HTTP protocol with a deadline on a request's headers: it waits for them for ever itself.

    The time runs from the connection's first moment, and from the first byte of each later request. What
    comes after the headers has limits of its own: a body the guard's, a websocket the socket hub's.
    """

    header_seconds: ClassVar[float] = 10.0
    _deadline: asyncio.TimerHandle | None = None
    _upgraded = False

    @override
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._set_deadline()

    @override
    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        # The parser makes a cycle of a request once its headers are whole; there is none before the first.
        cycle: Any = self.cycle
        if self._upgraded or (cycle is not None and not cycle.response_complete):
            self._clear_deadline()
        elif self._deadline is None:
            self._set_deadline()

    @override
    def handle_websocket_upgrade(self, *event: Any) -> None:
        self._upgraded = True
        super().handle_websocket_upgrade(*event)

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._clear_deadline()
        super().connection_lost(exc)

    def _set_deadline(self) -> None:
        self._deadline = self.loop.call_later(self.header_seconds, self.transport.close)

    def _clear_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


class MeteredSocketProtocol(WebSocketsSansIOProtocol):
    """uvicorn's websocket protocol with a bound on frames that no application ever sees.

    Pings, pongs and the small pieces of a message count here, for they reach no other meter: a piece of one
    byte costs as much work as a message, and each ping a pong, which waits in memory for a peer that does not
    read. Browsers send none of them but an answer in 20 s, and pieces of many KiB.

    Messages are not compressed, and none is larger than `max_frame_bytes`, regardless of uvicorn's options.
    """

    max_frame_bytes: ClassVar[int] = ServerSettings().max_frame_bytes
    _meter: TokenBucket | None = None

    @override
    def __init__(self, config: uvicorn.Config, *others: Any, **named: Any) -> None:
        config = copy.copy(config)
        config.ws_per_message_deflate = False
        config.ws_max_size = self.max_frame_bytes
        super().__init__(config, *others, **named)

    @override
    def handle_ping(self) -> None:
        if self._takes_frame():
            super().handle_ping()

    @override
    def handle_pong(self, event: Frame) -> None:
        if self._takes_frame():
            super().handle_pong(event)

    @override
    def handle_cont(self, event: Frame) -> None:
        if event.fin or len(event.data) >= SMALL_PIECE_BYTES or self._takes_frame():
            super().handle_cont(event)

    @override
    def start_keepalive(self) -> None:
        super().start_keepalive()
        # The handshake is over, and a thousand sockets may stay for days.
        del self.request, self.response

    def _takes_frame(self) -> bool:
        """Count one more; False: it is one too many, and the socket is closed, or is on its way there."""
        if self.close_sent or self.transport.is_closing():
            return False
        now = self.loop.time()
        if self._meter is None:
            self._meter = TokenBucket(SMALL_FRAMES_PER_SECOND, SMALL_FRAMES_AT_ONCE, now)
        if self._meter.take(1, now):
            return True
        self.frames.clear()
        self.stop_keepalive()
        reason = "too many pings or small pieces"
        self.queue.put_nowait({"type": "websocket.disconnect", "code": BACKPRESSURE, "reason": reason})
        self.conn.fail(BACKPRESSURE, reason)
        self.transport.write(b"".join(self.conn.data_to_send()))
        self.close_sent = True
        self.transport.close()
        return False


def uvicorn_options(settings: ServerSettings) -> dict[str, object]:
    """Keyword arguments for `uvicorn.Config` that the gateway relies on."""
    timed = {"header_seconds": settings.request_seconds}
    limited = {"max_frame_bytes": settings.max_frame_bytes}
    # uvicorn logs a line for all input that is not HTTP.
    quieten("uvicorn.error", "websockets.server")
    return {
        "http": type("TimedProtocol", (HeaderDeadlineProtocol,), timed),
        "ws": type("LimitedProtocol", (MeteredSocketProtocol,), limited),
        "ws_ping_interval": 20.0,
        "ws_ping_timeout": 20.0,
        "timeout_graceful_shutdown": 5,
        "server_header": False,
        "date_header": False,
        # By default uvicorn trusts every process of this machine.
        "proxy_headers": bool(settings.behind_proxy),
        "forwarded_allow_ips": list(settings.behind_proxy),
        "ssl_certfile": settings.tls_cert,
        "ssl_keyfile": settings.tls_key,
    }
