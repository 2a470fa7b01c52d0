"""Protocols of the surroundings that a run needs: it knows neither HTTP nor websockets."""

from collections import Counter
from typing import Literal, Protocol

from attract.errors import ProtocolError
from attract.schema.base import WireModel


class BrowserSockets(Protocol):
    """Where messages to browsers go; used on the event loop alone."""

    server_frame_bytes: int
    max_frame_bytes: int
    """Bound of the active run, checked before a frame is decoded; never above the server's."""
    refused: Counter[str]
    """How many sockets were refused or closed for what they sent, by the code they were told."""

    def send(self, connection_id: int, message: WireModel, *, needs: int | None = None) -> None:
        """Queue a message; a connection that is gone is no error. `needs`: version that must go before it."""
        ...

    def send_frame(self, connection_id: int, frame: bytes) -> None:
        """Queue an encoded message; a connection that is gone is no error."""
        ...

    def send_policy(self, connection_id: int, frame: bytes, policy_id: str, policy_version: int) -> None:
        """Queue an encoded policy message; the same bytes may go to every worker."""
        ...

    def close(self, connection_id: int, code: int, reason: str) -> None:
        """Close after what is queued for it."""
        ...

    def refuse(self, connection_id: int, error: ProtocolError) -> None:
        """Close it for what it has sent, as if that had just been read."""
        ...

    async def close_all(self, code: int, reason: str) -> None:
        """Close every socket, at shutdown; wait a moment until all are closed."""
        ...


class AuditLog(Protocol):
    """Where it is written down that a run started, ended or was rolled back."""

    def write(
        self, action: Literal["run_started", "run_ended", "rolled_back"], **details: str | int | bool | None
    ) -> None:
        """One line: time, action, process and those details that are not None."""
        ...
