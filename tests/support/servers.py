"""Ports, pages and listeners of this machine, for tests of what connects to them."""

import contextlib
import functools
import http.server
import re
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Self


def free_port() -> int:
    """A free loopback port; the kernel does not hand it out again soon."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def served_page(page: str) -> Iterator[str]:
    """The address of a server that answers everything with `page`; with 404 where a path says "missing"."""

    class Pages(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(404 if "missing" in self.path else 200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(page.encode())

        def log_message(self, *_arguments: object) -> None:
            pass

    with _serving(Pages) as address:
        yield address


@contextlib.contextmanager
def served_folder(
    folder: Path, content_security_policy: str | None = None, away: str | None = None
) -> Iterator[str]:
    """The address of a server of the files of `folder`, whose pages may do what that policy allows.

    Args:
        away: the address to which requests below `/away/` are redirected.
    """

    class Files(http.server.SimpleHTTPRequestHandler):
        def do_GET(self) -> None:
            if away is None or not self.path.startswith("/away/"):
                super().do_GET()
                return
            self.send_response(302)
            self.send_header("Location", f"{away}{self.path}")
            self.end_headers()

        def end_headers(self) -> None:
            if content_security_policy is not None:
                self.send_header("Content-Security-Policy", content_security_policy)
            super().end_headers()

        def log_message(self, *_arguments: object) -> None:
            pass

    with _serving(functools.partial(Files, directory=str(folder))) as address:
        yield address


@contextlib.contextmanager
def _serving(handler: Callable[..., http.server.BaseHTTPRequestHandler]) -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


ANSWER = (
    b"HTTP/1.1 200 OK\r\naccess-control-allow-origin: *\r\ncontent-type: text/javascript\r\n"
    b"content-length: 2\r\nconnection: close\r\n\r\n//"
)


class Listeners:
    """A TCP and a UDP port of 127.0.0.1; used as a context manager."""

    def __init__(self) -> None:
        self.requests: set[str] = set()
        """Path of each HTTP request, without its slash."""
        self.connections = 0
        """TCP connections, with and without a request."""
        self.datagrams = 0
        self._tcp = socket.create_server(("127.0.0.1", 0), backlog=256)
        self._udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._udp.bind(("127.0.0.1", 0))
        self.tcp, self.udp = self._tcp.getsockname()[1], self._udp.getsockname()[1]
        self._threads = [threading.Thread(target=run, daemon=True) for run in (self._accept, self._hear)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for listener in (self._tcp, self._udp):
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(10)
        self._tcp.close()
        self._udp.close()

    def _hear(self) -> None:
        # A socket that is shut down gives an empty datagram.
        while self._udp.recvfrom(2048)[0]:
            self.datagrams += 1

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._tcp.accept()
                self.connections += 1
                threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            connection.settimeout(5)
            asked = re.match(rb"[A-Z]+ /(\S*) HTTP", connection.recv(65536))
            if asked is not None:
                self.requests.add(asked[1].decode())
                connection.sendall(ANSWER)
