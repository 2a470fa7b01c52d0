"""Routes websockets directly from the guard to the hub, past the app's middleware."""

from typing import Final, Protocol

from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket

SOCKET_PATH: Final = "/ws"


class SocketServer(Protocol):
    """Owner of a socket for its lifetime: `SocketHub`."""

    async def serve(self, websocket: WebSocket) -> None:
        """One socket's life, from before it is accepted."""
        ...


class SocketEntranceMiddleware:
    """Hands websockets of `SOCKET_PATH` to the hub, and on everything else. Stands behind the guard.

    A route of the app would hold eleven more calls and three stacks of things to close, 12 KiB a socket, as
    long as it is open; none of them does anything for a socket.
    """

    def __init__(self, app: ASGIApp, *, sockets: SocketServer) -> None:
        self._app = app
        self._sockets = sockets

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """An ASGI app. Connecting needs no token: the first message has it."""
        if scope["type"] == "websocket" and scope["path"] == SOCKET_PATH:
            await self._sockets.serve(WebSocket(scope, receive, send))
        else:
            await self._app(scope, receive, send)
