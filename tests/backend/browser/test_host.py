"""A headless host: its address, and a page that hangs; `tests/end_to_end` shows what else it survives."""

import asyncio
import http.server
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from attract.browser import host as host_module
from attract.browser.host import HeadlessHost, join_url
from attract.errors import ConfigurationError


def test_token_and_workers_travel_in_the_fragment():
    url = join_url("http://host:8000/prefix/", "a b&c", 3)
    assert url == "http://host:8000/prefix/join.html#token=a+b%26c&workers=3"


async def test_a_chromium_that_is_not_there_ends_the_host_by_name(tmp_path: Path):
    reported: list[tuple[str, dict[str, Any]]] = []
    host = HeadlessHost(
        "http://127.0.0.1:1/",
        lambda kind, detail: reported.append((kind, detail)),
        chromium_path=str(tmp_path / "no-chromium"),
    )
    with pytest.raises(ConfigurationError, match="no-chromium"):
        await host.run(asyncio.Event())
    assert reported == []


class HangingPage(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path == "/never":
            time.sleep(120)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(
            b"<script>setTimeout(() => {"
            b"  const request = new XMLHttpRequest(); request.open('GET', '/never', false); request.send();"
            b"}, 200);</script>"
        )

    def log_message(self, *_words: Any) -> None:
        pass


async def test_a_page_that_answers_no_more_is_opened_again(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(host_module, "STATUS_SECONDS", 0.3)
    monkeypatch.setattr(host_module, "ANSWER_SECONDS", 3.0)
    reported: list[str] = []
    stop = asyncio.Event()

    def report(kind: str, _detail: dict[str, Any]) -> None:
        reported.append(kind)
        if reported.count("open") == 2:
            stop.set()

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), HangingPage) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        host = HeadlessHost(f"http://127.0.0.1:{server.server_port}/", report)
        await asyncio.wait_for(host.run(stop), 60)
        server.shutdown()
    assert reported == ["open", "restart", "open"]
