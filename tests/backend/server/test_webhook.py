"""What is posted to the operator's URL, by a real HTTP server that takes, refuses, fails or hangs."""

import asyncio
import json
import logging
import socket
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from attract.errors import ConfigurationError
from attract.schema.api import Finding, RunView
from attract.server.webhook import MAX_WAITING, Webhook, message_of, post_to
from attract.settings.run import ServerSettings
from gateway_world import gateway
from known_runs import run_view as a_run_view
from waiting import until


class Receiver:
    """A real HTTP server on loopback; answers with the statuses given, then with 200."""

    def __init__(self, *statuses: int) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self._statuses = list(statuses)
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                receiver.bodies.append(json.loads(body))
                receiver.headers.append({name.lower(): value for name, value in self.headers.items()})
                receiver.paths.append(self.path)
                status = receiver._statuses.pop(0) if receiver._statuses else 200
                self.send_response(status)
                if status in (301, 302, 307, 308):
                    self.send_header("location", "/elsewhere")
                self.end_headers()

            def log_message(self, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook?key=s3cret"

    @contextmanager
    def running(self) -> Generator["Receiver"]:
        thread = threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self.server.shutdown()
            self.server.server_close()
            thread.join()


def run_view(**changes: object) -> RunView:
    return a_run_view(**{"title": "CartPole", "episode_return_mean": 480.5, "goal": 475.0, **changes})


def finding(name: str = "reward-constant", **changes: object) -> Finding:
    values: dict[str, object] = {
        "finding_id": name,
        "kind": "learning",
        "text": "every reward is 0",
        "value": 0.0,
        "advice": "reward something",
        "setting": None,
        "first_update": 3,
        "first_agent_steps": 5,
    }
    return Finding.model_validate({**values, **changes})


class Posted:
    """A webhook whose messages arrive at once."""

    def __init__(self) -> None:
        self.run: RunView | None = run_view()
        self.bodies: list[dict[str, Any]] = []
        self.webhook = Webhook(self._send, lambda: self.run)

    async def _send(self, message: bytes) -> None:
        self.bodies.append(json.loads(message))

    def status(self, **changes: object) -> None:
        self.run = run_view(**changes)
        self.webhook.observe("status", self.run)

    async def events(self) -> list[str]:
        await self.webhook.close()
        return [body["event"] for body in self.bodies]


async def test_a_run_is_posted_once_as_solved_or_as_ended() -> None:
    posted = Posted()
    posted.status()
    posted.status(state="evaluating")
    posted.status(state="finished", goal_reached=True)
    posted.status(state="finished", goal_reached=True)
    posted.status(run_id="b")
    posted.status(run_id="b", state="stopped")
    # It is resumed, and fails.
    posted.status(run_id="b")
    posted.status(run_id="b", state="failed", error="the learner died")
    assert await posted.events() == ["solved", "ended", "ended"]
    assert [body["run_id"] for body in posted.bodies] == ["cartpole-1", "b", "b"]
    assert posted.bodies[2]["text"] == "CartPole (b): failed: the learner died"


async def test_each_finding_about_learning_is_posted_once_a_run() -> None:
    posted = Posted()
    posted.webhook.observe("finding", finding())
    posted.webhook.observe("finding", finding(withdrawn=True))
    posted.webhook.observe("finding", finding())
    posted.webhook.observe("finding", finding("slow", kind="speed"))
    posted.webhook.observe("finding", finding("entropy-zero"))
    posted.run = run_view(run_id="b")
    posted.webhook.observe("finding", finding())
    assert await posted.events() == ["stuck"] * 3
    assert [(body["run_id"], body["finding"]["finding_id"]) for body in posted.bodies] == [
        ("cartpole-1", "reward-constant"),
        ("cartpole-1", "entropy-zero"),
        ("b", "reward-constant"),
    ]


async def test_a_run_that_is_only_looked_at_is_not_reported() -> None:
    posted = Posted()
    posted.run = None
    posted.webhook.observe("status", run_view(state="stopped"))
    posted.webhook.observe("finding", finding())
    assert await posted.events() == []


def test_the_message_is_one_flat_object() -> None:
    assert json.loads(message_of("stuck", run_view(), finding())) == {
        "event": "stuck",
        "text": "CartPole (cartpole-1): does not learn: every reward is 0",
        "run_id": "cartpole-1",
        "game": "cartpole",
        "state": "running",
        "agent_steps": 20_000,
        "elapsed_seconds": 10.0,
        "return_mean": 480.5,
        "goal": 475.0,
        "error": None,
        "finding": {
            "finding_id": "reward-constant",
            "text": "every reward is 0",
            "advice": "reward something",
            "setting": None,
        },
    }


async def post_one(url: str) -> None:
    """One message, with waits of 10 ms between tries."""
    webhook = Webhook(post_to(url, 0.2), run_view, (0.01, 0.01))
    webhook.observe("status", run_view(state="stopped"))
    await webhook.close()


async def test_a_receiver_that_fails_at_first_gets_it_in_the_end(caplog: pytest.LogCaptureFixture) -> None:
    with Receiver(503, 429).running() as receiver:
        await post_one(receiver.url)
    assert [body["event"] for body in receiver.bodies] == ["ended"] * 3
    assert receiver.paths[0] == "/hook?key=s3cret"
    assert receiver.headers[0]["content-type"] == "application/json"
    assert caplog.records == []


@pytest.mark.parametrize(
    ("statuses", "tries", "reason"),
    [
        pytest.param([500] * 5, 3, "HTTP 500", id="it always fails"),
        pytest.param([404], 1, "HTTP 404", id="there is no such hook"),
        pytest.param([302], 1, "HTTP 302", id="it names another place"),
        pytest.param([307], 1, "HTTP 307", id="it names another place for the body"),
    ],
)
async def test_tries_are_bounded_and_the_log_keeps_the_url_secret(
    caplog: pytest.LogCaptureFixture, statuses: list[int], tries: int, reason: str
) -> None:
    with Receiver(*statuses).running() as receiver:
        await post_one(receiver.url)
    assert len(receiver.bodies) == tries
    assert set(receiver.paths) == {"/hook?key=s3cret"}
    (record,) = caplog.records
    assert record.getMessage() == f"the webhook did not take a message: {reason}"
    assert record.levelno == logging.WARNING


async def test_an_error_of_the_client_does_not_quote_the_url(caplog: pytest.LogCaptureFixture) -> None:
    # The settings refuse such URLs; httpx says "Invalid port: 's3cret'" of this one.
    await post_one("http://127.0.0.1:s3cret/")
    (record,) = caplog.records
    assert record.getMessage() == "the webhook did not take a message: InvalidURL"


async def test_nobody_listens_and_nobody_answers(caplog: pytest.LogCaptureFixture) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        port = silent.getsockname()[1]
        began = time.monotonic()
        await post_one(f"http://127.0.0.1:{port}/")
        # Three tries of 200 ms; far below the time for which a close waits.
        assert 0.5 < time.monotonic() - began < 5
    await post_one(f"http://127.0.0.1:{port}/")
    assert "ReadTimeout" in caplog.records[0].getMessage()
    assert "connection attempts failed" in caplog.records[1].getMessage()


async def test_a_slow_receiver_holds_up_nothing_and_messages_that_wait_are_bounded(
    caplog: pytest.LogCaptureFixture,
) -> None:
    sent: list[bytes] = []

    async def send(message: bytes) -> None:
        sent.append(message)
        await asyncio.Future()

    webhook = Webhook(send, run_view)
    began = time.monotonic()
    for number in range(MAX_WAITING + 10):
        webhook.observe("finding", finding(f"finding-{number}"))
    await webhook.close(0.05)
    assert time.monotonic() - began < 2
    assert caplog.messages[0] == "the webhook is too slow: a message was left out"
    assert caplog.messages[-1] == "the webhook is too slow: not all messages were sent within 0 s"
    assert len(sent) == 1


async def test_a_close_with_a_full_queue_sends_what_waits() -> None:
    release = asyncio.Event()
    sent: list[bytes] = []

    async def send(message: bytes) -> None:
        await release.wait()
        sent.append(message)

    webhook = Webhook(send, run_view)
    for number in range(MAX_WAITING):
        webhook.observe("finding", finding(f"finding-{number}"))
    closing = asyncio.create_task(webhook.close(20))
    await asyncio.sleep(0)
    assert not closing.done()
    release.set()
    await closing
    assert len(sent) == MAX_WAITING


async def test_the_log_of_the_client_has_no_url_at_any_level(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with Receiver().running() as receiver:
        await post_one(receiver.url)
    assert len(receiver.bodies) == 1
    assert not [line for line in caplog.messages if "s3cret" in line or "hook" in line]


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.org/hook",
        "file:///etc/passwd",
        "example.org/other",
        "http://",
        "https:///hook",
        "http://example.org:99999/",
        "http://exa mple.org/",
        "http://example.org/\n",
        "http://[::1/",
        "http://name:s3cret@example.org/",
        "https://s3cret@example.org:8443/",
    ],
)
def test_a_url_that_is_no_webhook_is_refused_and_not_repeated(url: str) -> None:
    for given in ({"webhook": url}, {}):
        environment = {} if given else {"ATTRACT_WEBHOOK": url}
        if not given and url.strip() != url:
            continue
        with pytest.raises(ConfigurationError, match="webhook must be an http or https URL") as raised:
            ServerSettings.from_environment(environment, **given)
        assert url not in str(raised.value)


def test_a_webhook_is_not_shown_with_the_settings() -> None:
    settings = ServerSettings.from_environment({"ATTRACT_WEBHOOK": "https://example.org/T0/B0/s3cret"})
    assert settings.webhook == "https://example.org/T0/B0/s3cret"
    assert "s3cret" not in repr(settings)


async def test_a_real_run_is_posted_to_a_real_server(tmp_path: Path) -> None:
    with Receiver().running() as receiver:
        async with gateway(tmp_path, webhook=receiver.url) as world:
            run_id = await world.trained(64)
            await until(lambda: len(receiver.bodies) == 1, 10)
            # Looking at a past run is no end of it.
            await world.service.export(run_id, str(tmp_path / "out"))
        assert [(body["event"], body["run_id"]) for body in receiver.bodies] == [("ended", run_id)]
        assert receiver.bodies[0]["state"] == "finished"


async def test_a_receiver_that_is_not_there_fails_no_run(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        async with gateway(tmp_path, webhook=f"http://127.0.0.1:{taken.getsockname()[1]}/") as world:
            run_id = await world.trained(64)
            assert world.service.view(run_id).state == "finished"
