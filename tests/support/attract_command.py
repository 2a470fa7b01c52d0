"""Runs the real `attract` command as a process of its own, the way a user does."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import psutil

from shared_chromium import SHARED
from zygote import ForkedProcess


@dataclass(frozen=True)
class Outcome:
    """How a command ended, with all it printed."""

    code: int
    stdout: str
    stderr: str
    seconds: float

    @property
    def json(self) -> dict[str, Any]:
        """The one object on stdout; anything else there is a failure."""
        lines = self.stdout.strip().splitlines()
        assert len(lines) == 1, f"stdout is not one line:\n{self.stdout}\n{self.stderr}"
        return json.loads(lines[0])


class AttractCommand:
    """A running `attract` in a process group of its own, so that a test can press Ctrl-C on it."""

    def __init__(
        self,
        *arguments: str,
        runs_dir: Path,
        environment: dict[str, str] | None = None,
        prefix: Sequence[str] = (),
        folder: Path | None = None,
        is_forked: bool = True,
        has_own_browser: bool = False,
    ) -> None:
        """Start it.

        Args:
            arguments: after `attract`.
            runs_dir: where it keeps runs.
            environment: variables beside those of this process; with any it is not forked.
            prefix: a command that runs the rest of its arguments in its own place; with one it is not forked.
            folder: its own.
            is_forked: from a process that has imported its modules, as its learner is, which is then no child
                of it: that saves three seconds of CPU; False: as a user starts it.
            has_own_browser: else a forked command has its pages and its host in `shared_chromium`.
        """
        self._began = time.monotonic()
        # Variables may be read while modules are imported.
        is_forked &= sys.platform == "linux" and not prefix and not environment
        start: Any = subprocess.Popen
        if is_forked:
            start = partial(ForkedProcess, hosts=None if has_own_browser else SHARED.socket_path())
        self.process = start(
            [*prefix, sys.executable, "-m", "attract", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            cwd=folder,
            env={**os.environ, "ATTRACT_RUNS_DIR": str(runs_dir), **(environment or {})},
        )

    def interrupt(self) -> None:
        """SIGINT to the whole process group, as a terminal does."""
        os.killpg(self.process.pid, signal.SIGINT)

    def family(self) -> list[psutil.Process]:
        """Every process below the command now, in whatever session."""
        return psutil.Process(self.process.pid).children(recursive=True)

    def wait(self, timeout_seconds: float = 240.0) -> Outcome:
        """Wait for its end; on a timeout everything is killed and the output is in the error."""
        try:
            stdout, stderr = self.process.communicate(timeout=timeout_seconds)
        except subprocess.TimeoutExpired:
            outcome = self.kill()
            raise AssertionError(f"still running after {timeout_seconds} s\n{outcome}") from None
        return Outcome(self.process.returncode, stdout, stderr, time.monotonic() - self._began)

    def kill(self) -> Outcome | None:
        """End the command and everything below it at once, if it still runs; what it printed."""
        if self.process.poll() is None:
            for process in self.family():
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()
            self.process.kill()
        if self.process.stdout is None or self.process.stdout.closed:
            return None
        stdout, stderr = self.process.communicate()
        return Outcome(self.process.returncode, stdout, stderr, time.monotonic() - self._began)


class Heard:
    """What a command writes to stderr, line by line as it comes."""

    def __init__(self, command: AttractCommand) -> None:
        self.lines: list[str] = []
        self._command = command
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        assert self._command.process.stderr is not None
        self.lines.extend(line.rstrip() for line in self._command.process.stderr)

    def close(self) -> None:
        """Once the command has ended."""
        self._thread.join()
        for stream in (self._command.process.stdout, self._command.process.stderr):
            assert stream is not None
            stream.close()

    def wait_for(self, words: str, seconds: float = 90) -> str:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            found = [line for line in list(self.lines) if words in line]
            if found:
                return found[0]
            time.sleep(0.05)
        raise AssertionError(f"nothing with {words!r} within {seconds} s: {self.lines}")


def run_attract(
    *arguments: str,
    runs_dir: Path,
    environment: dict[str, str] | None = None,
    timeout_seconds: float = 240.0,
    folder: Path | None = None,
    is_forked: bool = True,
    has_own_browser: bool = False,
) -> Outcome:
    """Run a command to its end, in `folder` if that is given; see `AttractCommand`."""
    command = AttractCommand(
        *arguments,
        runs_dir=runs_dir,
        environment=environment,
        folder=folder,
        is_forked=is_forked,
        has_own_browser=has_own_browser,
    )
    return command.wait(timeout_seconds)
