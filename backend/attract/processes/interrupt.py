"""Ctrl-C as two requests: the first asks for an orderly end, the second for an end now."""

import asyncio
import contextlib
import signal
import warnings
from collections.abc import Callable, Generator
from types import FrameType

from attract.processes.exit_codes import of_signal


class Terminated(Exception):  # noqa: N818 - no error: a user or a parent asked for it
    """SIGTERM ended a command that was not done."""


class Interruption:
    """Ctrl-C while no event loop runs: a KeyboardInterrupt, and afterwards known to have been one.

    An import may turn it into any other error; a coroutine that it kept from running is no mistake.
    """

    def __init__(self) -> None:
        self.has_come = False

    @contextlib.contextmanager
    def noticed(self) -> Generator["Interruption"]:
        """Handle SIGINT while the block runs, unless it is ignored."""
        before = signal.getsignal(signal.SIGINT)
        if before is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, self._interrupt)
        try:
            yield self
        finally:
            signal.signal(signal.SIGINT, before)

    def _interrupt(self, _number: int, _frame: FrameType | None) -> None:
        self.has_come = True
        warnings.filterwarnings("ignore", message="coroutine .* was never awaited", category=RuntimeWarning)
        raise KeyboardInterrupt


class Interrupts:
    """Counts SIGINT, SIGTERM and what else asks for the end: the first sets `first`, the next `second`.

    Owner: the command line's event loop; the only place of the program that handles these signals.
    """

    def __init__(self, on_first: Callable[[], None] | None = None) -> None:
        self.first = asyncio.Event()
        self.second = asyncio.Event()
        self._on_first = on_first
        self._signal: int | None = None

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
            self.second.set()
            return
        self._signal = number
        self.first.set()
        if self._on_first is not None:
            self._on_first()
