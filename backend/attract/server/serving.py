"""How uvicorn must be run for the gateway: the options and the deadline that its limits rely on."""

import asyncio
from typing import TYPE_CHECKING, Any, ClassVar

from typing_extensions import override

from attract.server.quiet_log import quieten
from attract.settings.run import ServerSettings

if TYPE_CHECKING:
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol as HttpProtocol
else:
    from uvicorn.protocols.http.auto import AutoHTTPProtocol as HttpProtocol


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


def uvicorn_options(settings: ServerSettings) -> dict[str, object]:
    """Keyword arguments for `uvicorn.Config` that the gateway relies on."""
    timed = {"header_seconds": settings.request_seconds}
    # Whatever a client sends that is no HTTP makes uvicorn write a line.
    quieten("uvicorn.error", "websockets.server")
    return {
        "http": type("TimedProtocol", (HeaderDeadlineProtocol,), timed),
        "ws": "websockets-sansio",
        "ws_per_message_deflate": False,
        "ws_max_size": settings.max_frame_bytes,
        "ws_ping_interval": 20.0,
        "ws_ping_timeout": 20.0,
        "timeout_graceful_shutdown": 5,
        "server_header": False,
        "date_header": False,
        # uvicorn believes every process of this machine unless told otherwise.
        "proxy_headers": bool(settings.behind_proxy),
        "forwarded_allow_ips": list(settings.behind_proxy),
        "ssl_certfile": settings.tls_cert,
        "ssl_keyfile": settings.tls_key,
    }
