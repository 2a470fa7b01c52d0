"""Terminal output whose reader may go away, as in `attract train GAME | head`."""

import os
import sys
from collections.abc import Callable, Mapping
from typing import IO, Any, Final

from rich.console import Console
from typing_extensions import override


class GuardedOutput:
    """A text stream that turns a reader's leaving into one call; what is written later is let go.

    Owner: the command that writes. It stands in for `sys.stdout` or `sys.stderr` in a `rich` console.
    """

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self._on_gone: Callable[[], None] | None = None
        self.is_gone = False
        """Whether the reader has gone."""

    def when_gone(self, do: Callable[[], None]) -> None:
        """Call `do` once the reader has gone; at once if it has already."""
        self._on_gone = do
        if self.is_gone:
            do()

    def write(self, text: str) -> int:
        """Write, while there is a reader."""
        if not self.is_gone:
            try:
                self._stream.write(text)
            except BrokenPipeError:
                self._reader_left()
            except OSError:
                # A full disk: what the command does is worth more than the line.
                return len(text)
        return len(text)

    def flush(self) -> None:
        """Flush, while there is a reader."""
        if not self.is_gone:
            try:
                self._stream.flush()
            except BrokenPipeError:
                self._reader_left()
            except OSError:
                return

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def _reader_left(self) -> None:
        self.is_gone = True
        silence(self._stream)
        if self._on_gone is not None:
            self._on_gone()


PIPED_WIDTH: Final = 1_000
"""Columns of a table that no terminal shows."""


class CommandConsole(Console):
    """A console that raises on a broken pipe, for the command to handle; `rich` would exit with 1."""

    @override
    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def for_table(console: Console) -> Console:
    """A console of the same stream for a table; where no terminal shows it, nothing in it is cut."""
    return console if console.is_terminal else CommandConsole(width=PIPED_WIDTH, stderr=console.stderr)


def say(console: Console, text: str) -> None:
    """Print a line as it is: without markup, and long links are not cut."""
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def is_watched(environment: Mapping[str, str]) -> bool:
    """Whether a person reads the output: it is a terminal, and not that of a CI service ($CI)."""
    return sys.stdout.isatty() and environment.get("CI", "").lower() in ("", "0", "false")


def silence(stream: IO[str]) -> None:
    """Send what a stream still holds, and all that follows, nowhere: Python flushes it once more at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
