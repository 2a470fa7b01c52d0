"""Finds the address of this process among its own sockets: uvicorn does not pass it to the app."""

import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FOLDERS = (Path("/proc/self/fd"), Path("/dev/fd"))
"""A name per open descriptor of the process, on Linux and on macOS."""
ANYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}


@dataclass(frozen=True)
class Listening:
    """An address at which connections are accepted."""

    host: str
    port: int

    @property
    def url(self) -> str:
        """For a browser on this machine; every interface is the loopback one there."""
        host = ANYWHERE.get(self.host, self.host)
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"


def listening_sockets() -> set[Listening]:
    """Every TCP address at which this process accepts connections; empty where that cannot be seen.

    A socket that was inherited counts like one of its own. What a proxy or a container makes of an address
    cannot be known here.
    """
    return {found for number in _descriptors() if (found := _listening(number)) is not None}


def _descriptors() -> Iterator[int]:
    folder = next((path for path in FOLDERS if path.is_dir()), None)
    names = [] if folder is None else os.listdir(folder)  # noqa: PTH208 - names, not paths
    return (int(name) for name in names if name.isdecimal())


def _listening(number: int) -> Listening | None:
    try:
        copy = os.dup(number)
    except OSError:
        # Closed since, such as the one the names were read by.
        return None
    try:
        with socket.socket(fileno=copy) as found:
            is_tcp = found.family in (socket.AF_INET, socket.AF_INET6) and found.type == socket.SOCK_STREAM
            if not is_tcp or not found.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                return None
            host, port = found.getsockname()[:2]
            return Listening(str(host), int(port))
    except OSError:
        # No socket at all, which leaves the copy to us.
        os.close(copy)
        return None
