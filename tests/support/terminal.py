"""A shell in a terminal of its own, typed into as a person does."""

import contextlib
import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Final

import psutil

from waiting import WAIT_SECONDS

PROMPT: Final = re.compile(r"\[ended with (\d+)\]\$ ")
MOVES: Final = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[=>]|\r")
"""What moves a terminal's cursor or colours text."""


class Terminal:
    """One bash in a pseudo-terminal. Owner: the test, which leaves the `with` block of `open_terminal`."""

    def __init__(self, folder: Path, environment: Mapping[str, str], columns: int) -> None:
        primary, secondary = pty.openpty()
        fcntl.ioctl(secondary, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        kept = {name: value for name, value in os.environ.items() if name != "CI"}
        self.process = subprocess.Popen(
            ["bash", "--norc", "--noprofile", "-i"],
            stdin=secondary,
            stdout=secondary,
            stderr=secondary,
            cwd=folder,
            env={**kept, "PS1": "[ended with $?]$ ", "TERM": "xterm", "HISTFILE": "", **environment},
            start_new_session=True,
            preexec_fn=_take_terminal,
        )
        os.close(secondary)
        self._primary = primary
        self._text = ""
        self._begin = 0
        threading.Thread(target=self._read, daemon=True).start()
        self.wait_for(PROMPT)

    def type(self, line: str, seconds: float = 180.0) -> tuple[int, str]:
        """Type a line and wait for the next prompt; its exit code and what it printed."""
        self.start(line)
        return self.ended(seconds)

    def start(self, line: str) -> None:
        """Type a line and wait for nothing."""
        self._begin = len(self._text)
        os.write(self._primary, line.encode() + b"\n")

    def press(self, keys: str) -> None:
        """Send these keys as they are."""
        os.write(self._primary, keys.encode())

    def ended(self, seconds: float = 180.0) -> tuple[int, str]:
        """Wait for the prompt after the line that was started; its exit code and what it printed."""
        found = self.wait_for(PROMPT, seconds)
        said = self.said
        self._begin = len(self._text)
        return int(found[1]), said

    def wait_for(self, pattern: re.Pattern[str] | str, seconds: float = 180.0) -> re.Match[str]:
        """Wait for text after the line that was typed last. Raises: AssertionError: it does not come."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            found = re.search(pattern, self.said)
            if found is not None:
                return found
            time.sleep(0.05)
        raise AssertionError(f"no {pattern!r} within {seconds} s:\n{self.said}")

    @property
    def said(self) -> str:
        """What came since the line that was typed last, without what moves the cursor."""
        return MOVES.sub("", self._text[self._begin :])

    def processes(self) -> list[psutil.Process]:
        """Every process below the shell now."""
        return psutil.Process(self.process.pid).children(recursive=True)

    def close(self) -> None:
        """End the shell and all below it."""
        below = self.processes() if self.process.poll() is None else []
        for process in below:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(signal.SIGTERM)
        _gone, alive = psutil.wait_procs(below, timeout=WAIT_SECONDS)
        for process in alive:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        self.process.kill()
        self.process.wait()
        os.close(self._primary)

    def _read(self) -> None:
        with contextlib.suppress(OSError):
            while data := os.read(self._primary, 65536):
                self._text += data.decode(errors="replace")


def _take_terminal() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


@contextlib.contextmanager
def open_terminal(
    folder: Path, *, columns: int = 100, environment: Mapping[str, str] | None = None
) -> Generator[Terminal]:
    """A terminal in `folder` in which `attract` and `python` are those of this environment."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    terminal = Terminal(folder, {"PATH": path, **(environment or {})}, columns)
    try:
        yield terminal
    finally:
        terminal.close()
