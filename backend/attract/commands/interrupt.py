"""Ctrl-C as two requests: the first asks for an orderly end, the second for an end now."""

import asyncio
import contextlib
import signal
from collections.abc import Callable, Generator


class Interrupts:
    """Counts SIGINT and SIGTERM; `first` is set by the first, `second` by the next.

    Owner: the command line's event loop; the only place of the program that handles these signals.
    """

    def __init__(self, on_first: Callable[[], None] | None = None) -> None:
        self.first = asyncio.Event()
        self.second = asyncio.Event()
        self._on_first = on_first

    @contextlib.contextmanager
    def listening(self) -> Generator["Interrupts"]:
        """Handle the signals while the block runs."""
        loop = asyncio.get_running_loop()
        handled = (signal.SIGINT, signal.SIGTERM)
        for number in handled:
            loop.add_signal_handler(number, self._received)
        try:
            yield self
        finally:
            for number in handled:
                loop.remove_signal_handler(number)

    def _received(self) -> None:
        if self.first.is_set():
            self.second.set()
            return
        self.first.set()
        if self._on_first is not None:
            self._on_first()
