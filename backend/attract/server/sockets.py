"""The websocket shell: bytes in and out, limits on both, hello first; meaning is decided elsewhere."""

import asyncio
import contextlib
import contextvars
import itertools
import logging
from collections import Counter, deque
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, Protocol

from starlette.websockets import WebSocket, WebSocketDisconnect

from attract.errors import ProtocolError
from attract.experience.unpacking import claimed_bytes
from attract.runs.log_lines import bind, bound_ids
from attract.runs.plain_text import plain
from attract.schema import PROTOCOL_VERSION, close_codes
from attract.schema.base import GrantedTier, WireModel
from attract.schema.frames import decode_from_browser, encode
from attract.schema.messages import Block, FromBrowser, Hello, Refused
from attract.server.audit_trail import Detail
from attract.server.guard import Grant, Guard, token_key
from attract.server.quiet_log import QuietFilter, TokenBucket
from attract.settings.run import ServerSettings

FRAMES_PER_TURN = 16
"""Frames of one socket that are handled before other sockets: hundreds may arrive at once."""
MAX_OUTBOUND_FRAMES = 1024
HELLO_BYTES = 16 * 1024
MAX_REASON_BYTES = 120
"""A close frame holds 123 bytes of reason."""
SHUTDOWN_SECONDS = 1.0
"""So long are peers waited for at shutdown, that they hear why their sockets close."""
MAX_NAME = 60
BURST_SECONDS = 5.0
"""Burst of a socket, in seconds of its rate."""
log = logging.getLogger(__name__)
refusals = logging.getLogger(f"{__name__}.refused")
"""Log of refusals, which any client can cause."""


class SocketHandler(Protocol):
    """Callbacks about sockets; all calls come from the event loop, none may block."""

    def connected(self, connection_id: int, hello: Hello, tier: GrantedTier, identity: str) -> None:
        """A socket said a good hello; `identity`: of its token or invitation, and its network."""
        ...

    def received(self, connection_id: int, message: FromBrowser) -> None:
        """A valid message came.

        Raises: ProtocolError: when it may not be sent now or by this peer; the socket is closed.
        """
        ...

    def refused(self, connection_id: int, error: ProtocolError) -> None:
        """The socket is being closed for what came by it; `disconnected` follows."""
        ...

    def disconnected(self, connection_id: int) -> None:
        """The socket is closed; called once for each `connected`."""
        ...


@dataclass
class _Frame:
    data: bytes
    policy: tuple[str, int] | None = None
    needs: int | None = None


@dataclass
class _Close:
    code: int
    reason: str


class Connection:
    """One socket's outbound side: frames in order, and at most one policy that has not been sent yet."""

    def __init__(self, websocket: WebSocket, send_seconds: float, address: str = "") -> None:
        self.address = address
        self._websocket = websocket
        self._send_seconds = send_seconds
        self._outbound: deque[_Frame | _Close] = deque()
        self._wake = asyncio.Event()
        self._closing = False
        self.writer: asyncio.Task[None] | None = None
        """Runs `write`: done once the close frame was sent, or could not be."""

    def send(self, data: bytes, *, policy: tuple[str, int] | None = None, needs: int | None = None) -> None:
        """Queue a frame. A policy takes the place of an unsent older one that no queued lease needs.

        A peer that does not read fast enough for 1,024 queued frames is closed with 1013.
        """
        if self._closing:
            return
        if policy is not None and self._replace_policy(data, policy):
            return
        if len(self._outbound) >= MAX_OUTBOUND_FRAMES:
            self.close(close_codes.BACKPRESSURE, "this peer does not read", at_once=True)
            return
        self._outbound.append(_Frame(data, policy, needs))
        self._wake.set()

    def close(self, code: int, reason: str, *, at_once: bool = False) -> None:
        """Close after what is queued, or before it; later calls change nothing."""
        if self._closing:
            return
        self._closing = True
        if at_once:
            self._outbound.clear()
        self._outbound.append(_Close(code, reason))
        self._wake.set()

    async def write(self) -> None:
        """Send the queue up to and including a close; returns early if the peer is gone or does not read."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._outbound:
                item = self._outbound.popleft()
                if isinstance(item, _Close):
                    await self._close(item)
                    return
                try:
                    async with asyncio.timeout(self._send_seconds):
                        await self._websocket.send_bytes(item.data)
                except (TimeoutError, WebSocketDisconnect, RuntimeError, OSError):
                    # RuntimeError: from starlette, for sending on a closed socket.
                    await self._close(_Close(close_codes.BACKPRESSURE, "this peer does not read"))
                    return

    async def _close(self, item: _Close) -> None:
        reason = item.reason.encode()[:MAX_REASON_BYTES].decode(errors="ignore")
        with contextlib.suppress(TimeoutError, WebSocketDisconnect, RuntimeError, OSError):
            async with asyncio.timeout(self._send_seconds):
                await self._websocket.close(item.code, reason)

    def _replace_policy(self, data: bytes, policy: tuple[str, int]) -> bool:
        for item in self._outbound:
            if isinstance(item, _Frame) and item.policy is not None and item.policy[0] == policy[0]:
                needed = any(
                    isinstance(other, _Frame) and other.needs == item.policy[1] for other in self._outbound
                )
                if not needed:
                    item.data, item.policy = data, policy
                    return True
        return False


class SocketHub:
    """All websockets of the app; owned by `build_app`, used on the event loop alone."""

    def __init__(
        self,
        settings: ServerSettings,
        guard: Guard,
        handler: SocketHandler,
        build: str | None,
    ) -> None:
        self._settings = settings
        self._audit = guard.audit
        self._guard = guard
        self._handler = handler
        self._build = build
        self._ids = itertools.count(1)
        self._connections: dict[int, Connection] = {}
        self._grants: dict[int, Grant] = {}
        self._strangers: Counter[str] = Counter()
        """Sockets by address that have shown no token yet."""
        self._per_token: Counter[str] = Counter()
        self.server_frame_bytes = settings.max_frame_bytes
        self.max_frame_bytes = settings.max_frame_bytes
        """Bound of the active run, checked before a frame is decoded; never above the server's."""
        self.received_bytes = 0
        self.refused: Counter[str] = Counter()
        """Number of sockets refused or closed for what they sent, by close code."""
        refusals.filters[:] = [QuietFilter()]
        guard.when_ended(self._close_entry)

    @property
    def num_sockets(self) -> int:
        """Open sockets that said a good hello."""
        return len(self._connections)

    def send(self, connection_id: int, message: WireModel, *, needs: int | None = None) -> None:
        """Queue a message; a closed connection is no error. `needs`: version that must be sent before it."""
        connection = self._connections.get(connection_id)
        if connection is not None:
            connection.send(encode(message), needs=needs)

    def send_frame(self, connection_id: int, frame: bytes) -> None:
        """Queue an encoded message; a closed connection is no error."""
        connection = self._connections.get(connection_id)
        if connection is not None:
            connection.send(frame)

    def send_policy(self, connection_id: int, frame: bytes, policy_id: str, policy_version: int) -> None:
        """Queue an encoded policy message; the same bytes may go to every worker."""
        connection = self._connections.get(connection_id)
        if connection is not None:
            connection.send(frame, policy=(policy_id, policy_version))

    def close(self, connection_id: int, code: int, reason: str) -> None:
        connection = self._connections.get(connection_id)
        if connection is not None:
            connection.close(code, reason)

    def refuse(self, connection_id: int, error: ProtocolError) -> None:
        """Close it for what it has sent, as if that had just been read."""
        connection = self._connections.get(connection_id)
        if connection is not None:

            def refuse() -> None:
                bind(connection=connection_id)
                self._refuse(connection, error)

            # The caller logs for many sockets: the id belongs to this line only.
            contextvars.copy_context().run(refuse)

    async def close_all(self, code: int, reason: str) -> None:
        """Close every socket, at shutdown; wait a moment until all are closed."""
        for connection in list(self._connections.values()):
            connection.close(code, reason)
        writers = [
            connection.writer for connection in self._connections.values() if connection.writer is not None
        ]
        if writers:
            await asyncio.wait(writers, timeout=SHUTDOWN_SECONDS)

    def num_strangers(self, network: str) -> int:
        """Number of sockets of an address without a token yet."""
        return self._strangers[network]

    def sockets_of(self, entry_id: str) -> int:
        """Number of open sockets of a session's or an invitation's token."""
        return sum(1 for grant in self._grants.values() if grant.entry == entry_id)

    async def serve(self, websocket: WebSocket) -> None:
        """One socket's life: accept, hello within 3 s, then frames both ways until either side is done."""
        address = websocket.client.host if websocket.client is not None else ""
        await websocket.accept()
        connection = Connection(websocket, self._settings.send_seconds, address)
        writer = connection.writer = asyncio.create_task(connection.write())
        try:
            await self._talk(websocket, connection)
        except ProtocolError as error:
            self._refuse(connection, error)
        except (WebSocketDisconnect, OSError):
            pass
        finally:
            connection.close(close_codes.NORMAL, "")
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._settings.send_seconds):
                    await asyncio.shield(writer)
            writer.cancel()

    async def _talk(self, websocket: WebSocket, connection: Connection) -> None:
        network = self._guard.names.network_of(websocket.scope)
        with _counted(self._strangers, network, self._settings.sockets_per_address, f"from {network}"):
            hello, grant = await self._hello(websocket)
        # They are not read again, and a thousand sockets may stay open for days.
        websocket.scope["headers"] = []
        connection_id = next(self._ids)
        key = grant.entry or token_key(hello.token)
        bind(connection=connection_id, host=hello.host_id)
        who: dict[str, Detail] = {
            "role": hello.role,
            "tier": grant.tier,
            "credential": key,
            "address": websocket.client.host if websocket.client is not None else None,
        }
        with _counted(self._per_token, key, self._settings.sockets_per_token, "with this token"):
            self._connections[connection_id] = connection
            self._grants[connection_id] = grant
            self._audit.write("joined", **who, **bound_ids())
            try:
                self._handler.connected(connection_id, hello, grant.tier, f"{key}@{network}")
                await self._receive(websocket, connection_id)
            except ProtocolError as error:
                self._handler.refused(connection_id, error)
                raise
            finally:
                del self._connections[connection_id]
                del self._grants[connection_id]
                self._audit.write("left", **who, **bound_ids())
                self._handler.disconnected(connection_id)

    def _refuse(self, connection: Connection, error: ProtocolError) -> None:
        self.refused[error.code] += 1
        self._audit.write("refused", code=error.code, address=connection.address, **bound_ids())
        refusals.warning("a socket of %s is closed: %s", connection.address, error.reason)
        _refuse(connection, error)

    def _close_entry(self, entry_id: str) -> None:
        """Close what came in by a session or an invitation that is ended."""
        for connection_id, grant in list(self._grants.items()):
            if grant.entry == entry_id:
                fix = "ask for a new join link"
                error = _refusal("token", close_codes.TOKEN, "the invitation was revoked", fix)
                _refuse(self._connections[connection_id], error)

    async def _hello(self, websocket: WebSocket) -> tuple[Hello, Grant]:
        try:
            async with asyncio.timeout(self._settings.hello_seconds):
                data = await _receive_bytes(websocket)
        except TimeoutError:
            seconds = self._settings.hello_seconds
            raise _refusal(
                "timeout", close_codes.HELLO_TIMEOUT, f"no hello within {seconds:g} s", "connect again"
            ) from None
        if len(data) > HELLO_BYTES:
            raise _refusal("too_large", close_codes.TOO_LARGE, f"a hello of {len(data)} bytes", "")
        hello = decode_from_browser(data)
        if not isinstance(hello, Hello):
            raise _refusal(
                "malformed", close_codes.MALFORMED, f"the first message is {hello.type}", "send hello first"
            )
        return hello, self._check_hello(hello)

    def _check_hello(self, hello: Hello) -> Grant:
        if hello.protocol_version != PROTOCOL_VERSION:
            raise _refusal(
                "protocol_version",
                close_codes.VERSION,
                f"this page speaks protocol {hello.protocol_version}, the server {PROTOCOL_VERSION}",
                "reload the page; if that does not help, the server is older than the page: update it",
            )
        if self._build is not None and hello.build != self._build:
            raise _refusal(
                "build",
                close_codes.VERSION,
                f"this page is build {plain(hello.build, MAX_NAME)}, the server serves {self._build}",
                "reload the page to get the server's build",
            )
        grant = self._guard.grant_of(hello.token)
        if grant is None:
            raise _refusal(
                "token",
                close_codes.TOKEN,
                "the token is missing, wrong or expired",
                "open the newest link that the server or its dashboard shows",
            )
        if grant.role == "viewer":
            raise _refusal(
                "role", close_codes.ROLE, "a viewer's token cannot admit workers", "ask for a join link"
            )
        return grant

    async def _receive(self, websocket: WebSocket, connection_id: int) -> None:
        # Each frame is dealt with before the next is read, and dealing never waits: a peer that sends faster
        # is held back by its own socket, and its pong is never missed, for uvicorn only reads while we do.
        now = asyncio.get_running_loop().time
        meter = _Meter(self._settings, now())
        for number in itertools.count(1):
            data = await _receive_bytes(websocket)
            meter.count(len(data), now())
            self.received_bytes += len(data)
            if len(data) > self.max_frame_bytes:
                raise _refusal(
                    "too_large",
                    close_codes.TOO_LARGE,
                    f"a frame of {len(data)} bytes, this run's limit is {self.max_frame_bytes}",
                    "reload the page",
                )
            message = decode_from_browser(data)
            if isinstance(message, Block) and message.packed:
                # Rate-limit by the unpacked size.
                meter.count_bytes(claimed_bytes(message), now())
            self._handler.received(connection_id, message)
            if number % FRAMES_PER_TURN == 0:
                await asyncio.sleep(0)


class _Meter:
    """Rate limit of one socket, far above that of any worker; more is an error."""

    def __init__(self, settings: ServerSettings, now: float) -> None:
        self._messages_per_second = settings.messages_per_second
        self._bytes_per_second = settings.bytes_per_second
        self._messages = TokenBucket(
            self._messages_per_second, BURST_SECONDS * self._messages_per_second, now
        )
        self._bytes = TokenBucket(self._bytes_per_second, BURST_SECONDS * self._bytes_per_second, now)

    def count(self, num_bytes: int, now: float) -> None:
        if not self._messages.take(1, now):
            raise _too_fast(f"more than {self._messages_per_second} messages a second")
        self.count_bytes(num_bytes, now)

    def count_bytes(self, num_bytes: int, now: float) -> None:
        """Raises: ProtocolError: that is too much."""
        if not self._bytes.take(num_bytes, now):
            raise _too_fast(f"more than {self._bytes_per_second} bytes a second")


@contextlib.contextmanager
def _counted(counter: Counter[str], key: str, limit: int, what: str) -> Generator[None]:
    """Count one more while the block runs. Raises: ProtocolError: when there are `limit` already."""
    if counter[key] >= limit:
        raise _refusal("full", close_codes.BACKPRESSURE, f"too many sockets {what}: {limit}", "close some")
    counter[key] += 1
    try:
        yield
    finally:
        counter[key] -= 1
        if counter[key] <= 0:
            del counter[key]


async def _receive_bytes(websocket: WebSocket) -> bytes:
    message: Any = await websocket.receive()
    if message["type"] == "websocket.disconnect":
        raise WebSocketDisconnect(message.get("code", close_codes.NORMAL))
    data = message.get("bytes")
    if data is None:
        raise _refusal(
            "malformed", close_codes.MALFORMED, "a text frame", "send MessagePack as binary frames"
        )
    return data


def _too_fast(reason: str) -> ProtocolError:
    return _refusal("full", close_codes.BACKPRESSURE, reason, "send less; no worker plays that fast")


def _refusal(code: str, close_code: int, reason: str, fix: str) -> ProtocolError:
    return ProtocolError(reason, code=code, close_code=close_code, fix=fix)


def _refuse(connection: Connection, error: ProtocolError) -> None:
    refused = Refused.model_validate(
        {"code": error.code, "reason": error.reason, "fix": error.fix, "close_code": error.close_code}
    )
    connection.send(encode(refused))
    connection.close(error.close_code, error.reason)
