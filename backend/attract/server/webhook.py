"""Tells the operator's URL when a run is solved, stuck, or over; never holds up or fails a run."""

import asyncio
import json
import logging
import ssl
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Final, Literal

import httpx

from attract import __version__
from attract.run.effects import Kind
from attract.schema.api import Finding, RunView
from attract.schema.base import WireModel

TIMEOUT_SECONDS: Final = 5.0
"""Limit of each wait for the receiver: to connect, to send, to answer."""
RETRY_SECONDS: Final = (1.0, 4.0)
"""Waits before a second and a third try."""
CLOSE_SECONDS: Final = 10.0
"""How long the end of the server waits for what is not sent yet."""
MAX_WAITING: Final = 64
"""Messages that wait for a slow receiver; more are left out."""
OVER: Final = ("finished", "stopped", "failed")
log = logging.getLogger(__name__)

Event = Literal["solved", "stuck", "ended"]
Send = Callable[[bytes], Awaitable[None]]
"""Sends one message. Raises: WebhookError, httpx.HTTPError: it did not arrive."""


class WebhookError(Exception):
    """The receiver answered with another status than success, which is the text."""

    def __init__(self, status: int) -> None:
        super().__init__(f"HTTP {status}")
        self.is_final = status < HTTPStatus.INTERNAL_SERVER_ERROR and status not in _LATER
        """Another try is useless."""


class Webhook:
    """Owned by the app; used on its event loop, where a task sends.

    Args:
        send: see there.
        followed: the run that is trained now; None: none is.
        retry_seconds: waits between tries.
    """

    def __init__(
        self,
        send: Send,
        followed: Callable[[], RunView | None],
        retry_seconds: tuple[float, ...] = RETRY_SECONDS,
    ) -> None:
        self._send = send
        self._followed = followed
        self._retry_seconds = retry_seconds
        self._waiting: asyncio.Queue[bytes] = asyncio.Queue(MAX_WAITING)
        self._sending: asyncio.Task[None] | None = None
        self._run_id: str | None = None
        self._is_over = False
        self._said: set[str] = set()
        """Findings of the run that were told."""

    def observe(self, kind: Kind, body: WireModel) -> None:
        if isinstance(body, Finding):
            run = self._followed()
            if run is not None and body.kind == "learning" and not body.withdrawn:
                self._begin(run)
                if body.finding_id not in self._said:
                    self._said.add(body.finding_id)
                    self._put("stuck", run, body)
        elif kind == "status" and isinstance(body, RunView) and self._followed() is not None:
            self._begin(body)
            is_over = body.state in OVER
            if is_over and not self._is_over:
                self._put("solved" if body.goal_reached else "ended", body, None)
            # A run that is resumed ends once more.
            self._is_over = is_over

    async def close(self, seconds: float = CLOSE_SECONDS) -> None:
        """Send what waits, for so long at most."""
        if self._sending is None:
            return
        try:
            async with asyncio.timeout(seconds):
                await self._waiting.join()
        except TimeoutError:
            log.warning("the webhook is too slow: not all messages were sent within %.0f s", seconds)
        self._sending.cancel()

    def _begin(self, run: RunView) -> None:
        if run.run_id != self._run_id:
            self._run_id, self._is_over, self._said = run.run_id, False, set()

    def _put(self, event: Event, run: RunView, finding: Finding | None) -> None:
        if self._sending is None:
            self._sending = asyncio.create_task(self._work(), name="webhook")
        try:
            self._waiting.put_nowait(message_of(event, run, finding))
        except asyncio.QueueFull:
            log.warning("the webhook is too slow: a message was left out")

    async def _work(self) -> None:
        while True:
            await self._deliver(await self._waiting.get())
            self._waiting.task_done()

    async def _deliver(self, message: bytes) -> None:
        for wait in (*self._retry_seconds, None):
            try:
                await self._send(message)
                return
            except Exception as error:
                if wait is None or (isinstance(error, WebhookError) and error.is_final):
                    log.warning("the webhook did not take a message: %s", _reason(error))
                    return
                await asyncio.sleep(wait)


def message_of(event: Event, run: RunView, finding: Finding | None = None) -> bytes:
    """The JSON object of an event, as docs/operating.md describes it."""
    what = {
        "solved": "solved",
        "stuck": f"does not learn: {finding.text if finding is not None else ''}",
        "ended": run.state if run.error is None else f"{run.state}: {run.error}",
    }
    body = {
        "event": event,
        "text": f"{run.title or run.game} ({run.run_id}): {what[event]}",
        "run_id": run.run_id,
        "game": run.game,
        "state": run.state,
        "agent_steps": run.agent_steps,
        "elapsed_seconds": round(run.elapsed_seconds, 3),
        "return_mean": run.episode_return_mean,
        "goal": run.goal,
        "error": run.error,
        "finding": None
        if finding is None
        else finding.model_dump(mode="json", include={"finding_id", "text", "advice", "setting"}),
    }
    return json.dumps(body, allow_nan=False).encode()


def post_to(url: str, timeout_seconds: float = TIMEOUT_SECONDS) -> Send:
    """Sends to an http or https URL. A redirection is a refusal: the operator names the URL."""
    # httpx logs each URL, which may hold a secret.
    for name in ("httpx", "httpcore"):
        logging.getLogger(name).setLevel(logging.WARNING)
    # The certificates that this machine trusts, not those of httpx.
    trusted = ssl.create_default_context()
    headers = {"content-type": "application/json", "user-agent": f"attract/{__version__}"}

    async def send(message: bytes) -> None:
        async with (
            httpx.AsyncClient(verify=trusted, timeout=timeout_seconds, headers=headers) as client,
            # A stream: the body of the answer, which nobody needs, is not read.
            client.stream("POST", url, content=message) as answer,
        ):
            if not answer.is_success:
                raise WebhookError(answer.status_code)

    return send


_LATER: Final = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS)


def _reason(error: Exception) -> str:
    """Without the URL, which may hold a secret: errors that are not the connection's may quote it."""
    is_quoted = isinstance(error, WebhookError | httpx.ConnectError)
    return (str(error) if is_quoted else "") or type(error).__name__
