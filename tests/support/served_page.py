"""One page on loopback, for tests of what opens pages."""

import contextlib
import http.server
import threading
from collections.abc import Iterator


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

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
