"""Ctrl-C as two requests: the first asks for an orderly end, the second for an end now."""

import asyncio
import contextlib
import signal
import time
import warnings
from collections.abc import Callable, Generator
from types import FrameType

from attract.processes.exit_codes import of_signal

SAME_SECONDS = 0.5
"""Signals that arrive within this time are one: `timeout`, npm and uv signal a process and its group."""


class Terminated(Exception):  # noqa: N818 - no error: a user or a parent asked for it
    """SIGTERM ended a command that was not done."""


class Interruption:
    """Ctrl-C or SIGTERM while no event loop runs: an exception, and afterwards known to have been one.

    An import may turn it into any other error; a coroutine that it kept from running is no mistake.
    """

    def __init__(self) -> None:
        self.has_come = False
        self.exit_code = 0

    @contextlib.contextmanager
    def noticed(self) -> Generator["Interruption"]:
        """Handle SIGINT and SIGTERM while the block runs, unless they are ignored."""
        before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
        for number, handler in before.items():
            if handler is not signal.SIG_IGN:
                signal.signal(number, self._interrupt)
        try:
            yield self
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _interrupt(self, number: int, _frame: FrameType | None) -> None:
        if self.has_come and number == signal.SIGTERM:
            return
        self.has_come, self.exit_code = True, of_signal(number)
        warnings.filterwarnings("ignore", message="coroutine .* was never awaited", category=RuntimeWarning)
        raise KeyboardInterrupt if number == signal.SIGINT else Terminated


class Interrupts:
    """Counts SIGINT, SIGTERM and what else asks for the end: the first sets `first`, a later one `second`.

    Owner: the command line's event loop; the only place of the program that handles these signals.
    """

    def __init__(
        self, on_first: Callable[[], None] | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.first = asyncio.Event()
        self.second = asyncio.Event()
        self._on_first = on_first
        self._clock = clock
        self._signal: int | None = None
        self._first_at = 0.0

    @property
    def exit_code(self) -> int | None:
        """The code that the first request ends the command with; None before there was one."""
        return None if self._signal is None else of_signal(self._signal)

    @contextlib.contextmanager
    def listening(self) -> Generator["Interrupts"]:
        """Handle the signals while the block runs."""
        loop = asyncio.get_running_loop()
        handled = (signal.SIGINT, signal.SIGTERM)
        for number in handled:
            loop.add_signal_handler(number, self.count, number)
        try:
            yield self
        finally:
            for number in handled:
                loop.remove_signal_handler(number)

    def count(self, number: int) -> None:
        """A signal came, or what counts as one."""
        if self.first.is_set():
            if self._clock() - self._first_at >= SAME_SECONDS:
                self.second.set()
            return
        self._signal, self._first_at = number, self._clock()
        self.first.set()
        if self._on_first is not None:
            self._on_first()
