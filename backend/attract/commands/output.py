"""Terminal output, for a person, a coding agent or a CI service; whoever reads it may go away."""

import os
import sys
from collections.abc import Callable, Mapping
from typing import IO, Any, Final

from rich.console import Console
from rich.table import Table
from rich.text import Text
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


UNSET: Final = ("", "0", "false")
PIPED_WIDTH: Final = 1_000
"""Columns of a table that no terminal shows."""


AGENT_VARIABLES: Final = (
    "AI_AGENT",
    "ANTIGRAVITY_AGENT",
    "AUGMENT_AGENT",
    "CLAUDECODE",
    "CLAUDE_CODE",
    "CLINE_ACTIVE",
    "CODEX_SANDBOX",
    "CODEX_THREAD_ID",
    "COPILOT_ALLOW_ALL",
    "COPILOT_MODEL",
    "CURSOR_AGENT",
    "GEMINI_CLI",
    "JUNIE_DATA",
    "OPENCODE",
    "OPENCODE_CLIENT",
)
"""Set by coding agents for the commands that they run, as `@vercel/detect-agent` and `std-env` know them.

Without those that an editor sets in its terminal for persons as well: CURSOR_TRACE_ID, REPL_ID.
"""


class CommandConsole(Console):
    """The console of every command: plain lines for a coding agent, even in a terminal.

    It raises on a broken pipe, for the command to handle; `rich` would exit with 1.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options, force_terminal=False if is_agent(os.environ) else None)

    @override
    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def for_table(console: Console) -> Console:
    """A console of the same stream for a table; where no terminal shows it, nothing in it is cut."""
    return console if console.is_terminal else CommandConsole(width=PIPED_WIDTH, stderr=console.stderr)


def print_table(console: Console, table: Table) -> None:
    """Print a table; for a coding agent a plain line a row, its cells two spaces apart."""
    if not is_agent(os.environ):
        for_table(console).print(table)
        return
    head = [column.header for column in table.columns if table.show_header]
    for cells in ([table.title], head, *zip(*(column.cells for column in table.columns), strict=True)):
        texts = [str(Text.from_markup(cell) if isinstance(cell, str) else cell) for cell in cells if cell]
        if texts:
            say(console, "  ".join(texts))


def say_next(console: Console, command: str) -> None:
    """Say the next command to a coding agent, as the last line; it is ready to be typed."""
    if is_agent(os.environ):
        say(console, f"next: {command}")


def say(console: Console, text: str) -> None:
    """Print a line as it is: without markup, and long links are not cut."""
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def is_watched(environment: Mapping[str, str]) -> bool:
    """Whether a person reads the output: it is a terminal, not a CI service's ($CI) or a coding agent's."""
    return sys.stdout.isatty() and not is_agent(environment) and environment.get("CI", "").lower() in UNSET


def is_agent(environment: Mapping[str, str]) -> bool:
    """Whether a coding agent has typed the command."""
    return any(environment.get(name, "").lower() not in UNSET for name in AGENT_VARIABLES)


def is_github(environment: Mapping[str, str]) -> bool:
    """Whether a job of GitHub Actions runs the command."""
    return environment.get("GITHUB_ACTIONS", "").lower() == "true"


def silence(stream: IO[str]) -> None:
    """Send what a stream still holds, and all that follows, nowhere: Python flushes it once more at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
