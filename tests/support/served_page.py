"""Pages on loopback, for tests of what opens pages."""

import contextlib
import functools
import http.server
import threading
from collections.abc import Callable, Iterator
from pathlib import Path


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
def served_folder(folder: Path, content_security_policy: str | None = None) -> Iterator[str]:
    """The address of a server of the files of `folder`, whose pages may do what that policy allows."""

    class Files(http.server.SimpleHTTPRequestHandler):
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
