"""`attract join` and `attract health`: a headless host for a trainer elsewhere."""

import asyncio
import http.client
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urldefrag, urlsplit

from rich.console import Console

from attract.browser.host import join_url
from attract.browser.process import HostProcess
from attract.commands.exit_codes import DONE, FAILED
from attract.commands.interrupt import Interrupts
from attract.errors import ConfigurationError
from attract.server.tokens import read_token

WORKER_TOKEN = "ATTRACT_WORKER_TOKEN"
WORKER_TOKEN_FILE = "ATTRACT_WORKER_TOKEN_FILE"
HEALTH_SECONDS = 3.0
POLL_SECONDS = 1.0
SILENT_POLLS = 10


def is_healthy(url: str) -> bool:
    """Whether the gateway at `url` answers `/healthz` with 200 in time."""
    return ill_health(url) is None


def ill_health(url: str) -> str | None:
    """Why the gateway at `url` does not answer `/healthz` with 200 in time; None when it does."""
    try:
        with urllib.request.urlopen(f"{url.rstrip('/')}/healthz", timeout=HEALTH_SECONDS) as answer:
            return None if answer.status == 200 else f"it answered with status {answer.status}"
    except urllib.error.HTTPError as error:
        return f"it answered with status {error.code}; is this a trainer's address?"
    except urllib.error.URLError as error:
        return f"no answer: {error.reason}"
    except TimeoutError:
        return f"no answer within {HEALTH_SECONDS:g} s"
    except (OSError, ValueError, http.client.HTTPException) as error:
        return f"no answer: {error or type(error).__name__}"


def split_link(link: str, token: str | None) -> tuple[str, str]:
    """Base URL and token of a join link, or of a plain address and a token given apart.

    Raises: ConfigurationError: when it is no http address, or there is no token.
    """
    address, fragment = urldefrag(link)
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise ConfigurationError(
            f"{link!r} is no http address", setting="URL", fix="e.g. http://127.0.0.1:8000"
        )
    token = token or next(iter(parse_qs(fragment).get("token", [])), None)
    if not token:
        raise ConfigurationError(
            "no worker token",
            setting="token",
            fix="use a join link, --token, ATTRACT_WORKER_TOKEN_FILE or ATTRACT_WORKER_TOKEN",
        )
    return address.removesuffix("join.html"), token


def worker_token(environment: Mapping[str, str]) -> str | None:
    """The fleet's token as the variables give it, by a file before a text; None without either.

    Raises: ConfigurationError: when the file cannot be read, or others may read it.
    """
    file = environment.get(WORKER_TOKEN_FILE, "").strip()
    if file:
        return read_token(Path(file), WORKER_TOKEN_FILE)
    return environment.get(WORKER_TOKEN, "").strip() or None


async def join_trainer(link: str, num_workers: int, token: str | None) -> int:
    """Run a headless host until a signal, until the trainer is gone for good, or until it fails.

    Returns: the exit code: the signal's, 0 or 1.
    """
    base_url, token = split_link(link, token)
    console = Console(stderr=True)
    ended = asyncio.Event()
    failures: list[str] = []

    def on_event(event: dict[str, Any]) -> None:
        kind = event.get("event")
        if kind == "failed":
            failures.append(str(event.get("text", "")))
        if kind == "exit":
            ended.set()
        elif kind not in ("console", "closed"):
            console.print(f"host: {event}", markup=False, highlight=False)

    with Interrupts().listening() as interrupts:
        while not await asyncio.to_thread(is_healthy, base_url):
            if await _set_within(interrupts.first, POLL_SECONDS):
                return interrupts.exit_code or DONE
        host = await HostProcess.start(join_url(base_url, token, num_workers), on_event)
        try:
            silent = 0
            while not ended.is_set() and silent < SILENT_POLLS:
                if await _set_within(interrupts.first, POLL_SECONDS):
                    break
                silent = 0 if await asyncio.to_thread(is_healthy, base_url) else silent + 1
        finally:
            await host.stop()
    for text in failures:
        console.print(f"error: {text}", markup=False, highlight=False, soft_wrap=True)
    return FAILED if failures else interrupts.exit_code or DONE


async def _set_within(event: asyncio.Event, seconds: float) -> bool:
    try:
        await asyncio.wait_for(event.wait(), seconds)
    except TimeoutError:
        return False
    return True
