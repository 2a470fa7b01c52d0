"""Tells the operator's URL when a run is solved, stuck, or over; never holds up or fails a run."""

import asyncio
import contextlib
import json
import logging
import queue
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from http import HTTPStatus
from typing import Final, Literal

from typing_extensions import override

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
Send = Callable[[bytes], None]
"""Sends one message. Raises: OSError: it did not arrive."""


class WebhookRefusedError(OSError):
    """The receiver answered that it does not take the message; another try is useless."""


class Webhook:
    """Owned by the app. `observe` and `close` are called on the event loop; a thread of its own sends.

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
        self._waiting: queue.Queue[bytes | None] = queue.Queue(MAX_WAITING)
        self._thread: threading.Thread | None = None
        self._run_id: str | None = None
        self._is_over = False
        self._said: set[str] = set()
        """Findings of the run that were told."""

    def observe(self, kind: Kind, body: WireModel) -> None:
        """One event of the active run."""
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
        if self._thread is not None:
            await asyncio.to_thread(self._finish, self._thread, seconds)

    def _finish(self, thread: threading.Thread, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        with contextlib.suppress(queue.Full):
            self._waiting.put(None, timeout=seconds)
        thread.join(max(0.0, deadline - time.monotonic()))
        if thread.is_alive():
            log.warning("the webhook is too slow: not all messages were sent within %.0f s", seconds)

    def _begin(self, run: RunView) -> None:
        if run.run_id != self._run_id:
            self._run_id, self._is_over, self._said = run.run_id, False, set()

    def _put(self, event: Event, run: RunView, finding: Finding | None) -> None:
        if self._thread is None:
            # A daemon: a receiver that never answers must not keep the process.
            self._thread = threading.Thread(target=self._work, name="webhook", daemon=True)
            self._thread.start()
        try:
            self._waiting.put_nowait(message_of(event, run, finding))
        except queue.Full:
            log.warning("the webhook is too slow: a message was left out")

    def _work(self) -> None:
        while (message := self._waiting.get()) is not None:
            self._deliver(message)

    def _deliver(self, message: bytes) -> None:
        for wait in (*self._retry_seconds, None):
            try:
                self._send(message)
                return
            except Exception as error:
                if wait is None or isinstance(error, WebhookRefusedError):
                    log.warning("the webhook did not take a message: %s", _reason(error))
                    return
                time.sleep(wait)


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
    opener = urllib.request.build_opener(_NoRedirection)

    def send(message: bytes) -> None:
        request = urllib.request.Request(
            url,
            data=message,
            method="POST",
            headers={"content-type": "application/json", "user-agent": f"attract/{__version__}"},
        )
        try:
            with opener.open(request, timeout=timeout_seconds):
                return
        except urllib.error.HTTPError as error:
            error.close()
            if error.code >= HTTPStatus.INTERNAL_SERVER_ERROR or error.code in _LATER:
                raise
            raise WebhookRefusedError(f"HTTP {error.code}") from None

    return send


_LATER: Final = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS)


class _NoRedirection(urllib.request.HTTPRedirectHandler):
    @override
    def redirect_request(self, *args: object, **kwargs: object) -> None:
        return None


def _reason(error: Exception) -> str:
    """Without the URL, which may hold a secret: errors that are not the system's may quote it."""
    if isinstance(error, urllib.error.HTTPError):
        return f"HTTP {error.code}"
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    return str(reason) if isinstance(reason, OSError) and str(reason) else type(error).__name__
