"""`attract join`: a headless host for a trainer elsewhere."""

import asyncio
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import parse_qs, urldefrag, urlsplit

from cyclopts import Parameter
from cyclopts.validators import Number

from attract.browser.host import join_url
from attract.browser.process import HostProcess
from attract.commands import flags
from attract.commands.health import problem_of
from attract.commands.output import CommandConsole, say
from attract.commands.own_host import failure_of
from attract.commands.trainer_watch import PageStatus, TrainerWatch
from attract.errors import AttractError, ConfigurationError
from attract.processes.exit_codes import DONE, GAVE_UP, USAGE
from attract.processes.interrupt import Interrupts
from attract.schema import close_codes
from attract.server.app_server import run_async
from attract.server.tokens import read_token
from attract.settings.base import variable

WORKER_TOKEN, WORKER_TOKEN_FILE = variable("worker_token"), variable("worker_token_file")
POLL_SECONDS = 1.0
BROWSER_REFUSES = ("ERR_CERT_", "ERR_SSL_")
"""Chromium has certificates of its own: it may refuse what Python trusts."""


@flags.options
class JoinOptions:
    workers: Annotated[int, flags.AtLeastOne] = 1
    """Number of workers to run."""
    token: str | None = None
    """Worker token; by default from the link, $ATTRACT_WORKER_TOKEN_FILE or $ATTRACT_WORKER_TOKEN."""
    until_gone: Annotated[float | None, Parameter(validator=Number(gt=0))] = None
    """Seconds that the trainer may be unreachable, also at the start, before exit code 4. By default a
    trainer that was reached once is waited for indefinitely."""


def join(
    url: Annotated[str, Parameter(allow_leading_hyphen=True)], /, options: JoinOptions = JoinOptions()
) -> int:
    """Join a remote trainer with a headless browser, until its run ends or Ctrl-C.

    It waits while the trainer is away. An error that waiting cannot fix (a wrong token, an untrusted
    certificate, no server at the address) ends it with exit code 2 and the reason.

    Parameters
    ----------
    url
        Address of the trainer, or a join link with its token. `-` reads it from stdin, so that the token is
        not visible in the process list.

    Examples
    --------
    attract join 'http://192.168.0.2:8000/join.html#token=...'  # the link that the trainer printed
    attract join - --workers 4 < link.txt  # without the token in the process list
    attract join http://trainer:8000 --until-gone 60  # token from a variable; gives up after 60 s
    """
    link = sys.stdin.readline().strip() if url == "-" else url
    token = options.token or worker_token(os.environ)
    return run_async(join_trainer(link, options.workers, token, until_gone_seconds=options.until_gone))


def split_link(link: str, token: str | None) -> tuple[str, str]:
    """Base URL and token of a join link, or of a plain address and a token given apart.

    Raises: ConfigurationError: when it is not an http address, or there is no token.
    """
    address, fragment = urldefrag(link)
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise ConfigurationError(
            f"{link!r} is not an http address", setting="URL", fix="e.g. http://127.0.0.1:8000"
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


async def join_trainer(
    link: str, num_workers: int, token: str | None, *, until_gone_seconds: float | None = None
) -> int:
    """Run a headless host until a signal, the trainer's good-bye, or until it cannot join.

    It stays while the trainer is away, and prints one line when it goes and one when it is back.

    Args:
        link: join link, or address of the trainer.
        num_workers: how many workers to offer.
        token: given apart from the link.
        until_gone_seconds: give up when the trainer was away for so long; None: never, once it was reached.

    Returns: the exit code: the signal's, 0 after the good-bye, 2 where this host cannot join, 4 when it gave
        up, 1 when the host itself failed.
    """
    base_url, token = split_link(link, token)
    guest = _Guest(base_url, TrainerWatch(base_url, until_gone_seconds=until_gone_seconds, now=_now()))
    with Interrupts().listening() as interrupts:
        while not guest.is_over:
            await guest.ask()
            if guest.watch.is_reached:
                await guest.host_runs(join_url(base_url, token, num_workers))
            if await _set_within(interrupts.first, POLL_SECONDS):
                break
        await guest.leave()
    if interrupts.exit_code is not None:
        return interrupts.exit_code
    return guest.report_end()


class _Guest:
    """The host process of `attract join`, and the state of its page and its trainer."""

    def __init__(self, base_url: str, watch: TrainerWatch) -> None:
        self.watch = watch
        self._base_url = base_url
        self._console = CommandConsole(stderr=True)
        self._host: HostProcess | None = None
        self._page: PageStatus | None = None
        self._failure: AttractError | None = None

    @property
    def is_over(self) -> bool:
        return self.watch.outcome is not None or self._failure is not None

    async def ask(self) -> None:
        """See how the trainer is."""
        self._say(self.watch.heard(await asyncio.to_thread(problem_of, self._base_url), _now()))
        self._say(self.watch.page(self._page, _now()))

    async def host_runs(self, url: str) -> None:
        """Have a host process, also after one was killed."""
        if self._host is None and not self.is_over:
            self._host = await HostProcess.start(url, self._hear)

    async def leave(self) -> None:
        if self._host is not None:
            await self._host.stop()

    def report_end(self) -> int:
        if self._failure is not None:
            self._say([f"error: {self._failure}"])
            return self._failure.exit_code
        if self.watch.outcome == "done":
            self._say([f"leaving: {self.watch.reason}"])
            return DONE
        self._say([f"error: {self.watch.reason}"])
        return GAVE_UP if self.watch.outcome == "gone" else USAGE

    def _hear(self, event: dict[str, Any]) -> None:
        kind, text = event.get("event"), str(event.get("text", ""))
        match kind:
            case "status":
                self._page = _page_status(event["status"])
                self._say(self.watch.page(self._page, _now()))
            case "failed":
                self._failure = failure_of(event)
            case "exit":
                # It ended by itself: the next look starts another.
                self._host = self._page = None
            case "page_error":
                if any(mark in text for mark in BROWSER_REFUSES):
                    self.watch.refused_by_browser(text)
                self._say([f"browser: {text}"])
            case "restart":
                self._say(["browser: reopening the page"])
            case _:
                pass

    def _say(self, lines: list[str]) -> None:
        for line in lines:
            say(self._console, line)


def _page_status(status: dict[str, Any] | None) -> PageStatus | None:
    if status is None:
        return None
    error = status.get("error")
    error = None if error is None else str(error)
    ended = bool(status["ended"])
    return PageStatus(bool(status["connected"]), ended, error, is_done=ended and error == close_codes.GOODBYE)


def _now() -> float:
    return asyncio.get_running_loop().time()


async def _set_within(event: asyncio.Event, seconds: float) -> bool:
    try:
        await asyncio.wait_for(event.wait(), seconds)
    except TimeoutError:
        return False
    return True
