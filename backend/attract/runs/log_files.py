"""Log files of a run: `logs/gateway.log`, `logs/learner.log` and the game's console, all of bounded size."""

import faulthandler
import logging
import os
import sys
from collections.abc import Mapping
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Final

from typing_extensions import override

from attract.runs.log_lines import LogFormat, LogLevel, create_formatter
from attract.schema.api import LogLine

GATEWAY_LOG, LEARNER_LOG, GAME_LOG = "gateway.log", "learner.log", "game.log"
MAX_BYTES = 1 << 20
"""Past this a file becomes `<name>.1`, in the place of the one before."""
PACKAGE = "attract"
CONSOLE_LEVELS: Final[Mapping[str, int]] = {
    "debug": logging.DEBUG,
    "log": logging.INFO,
    "info": logging.INFO,
    "warn": logging.WARNING,
    "error": logging.ERROR,
}
"""By the console's method."""


class _BoundedFile(RotatingFileHandler):
    """A file that is made with its first line; past `MAX_BYTES` it becomes `<name>.1`."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(exist_ok=True)
        super().__init__(path, maxBytes=MAX_BYTES, backupCount=1, encoding="utf-8", delay=True)

    @override
    def handleError(self, record: logging.LogRecord) -> None:
        """A full disk is reported elsewhere; a failing log adds nothing."""


class GameConsole(_BoundedFile):
    """Keeps what the game writes to its console; owned by the run's record."""

    def __init__(self, folder: Path, log_format: LogFormat = "text") -> None:
        super().__init__(folder / GAME_LOG)
        self.setFormatter(create_formatter(log_format))

    def keep(self, line: LogLine) -> None:
        """Keep a line of the console, with its level."""
        left_out = f"({line.dropped} lines left out) " if line.dropped else ""
        level = CONSOLE_LEVELS[line.level]
        self.handle(logging.LogRecord("game", level, "", 0, left_out + line.text, None, None))


class RunLog(_BoundedFile):
    """Keeps what the gateway logs while a run is active, stacks included; owned by the run's record."""

    def __init__(
        self, folder: Path, log_format: LogFormat = "text", level: LogLevel = "info", **ids: str | int
    ) -> None:
        """Listen until `close`; the file is made with the first line. `ids` are in every line."""
        super().__init__(folder / GATEWAY_LOG)
        self.setFormatter(create_formatter(log_format, **ids))
        self.setLevel(level.upper())
        self._logger = logging.getLogger(PACKAGE)
        self._logger.addHandler(self)
        self._level, self._shown = self._logger.level, logging.lastResort
        # Shown on stderr too, it has a level of its own.
        self._logger.setLevel(min(self.level, self._level or self.level))
        if self._shown is not None and not logging.getLogger().handlers:
            # Python stops showing warnings on stderr once a logger has a handler; keep them there.
            self._logger.addHandler(self._shown)
        self._held: list[logging.LogRecord] | None = None

    def hold(self) -> None:
        """Write nothing before `write_held`."""
        self._held = []

    def write_held(self) -> None:
        """Write what was held, and what follows; may be called again."""
        held, self._held = self._held or [], None
        for record in held:
            self.handle(record)

    @override
    def emit(self, record: logging.LogRecord) -> None:
        """Write a line, or hold it."""
        if self._held is None:
            super().emit(record)
        else:
            self._held.append(record)

    @override
    def close(self) -> None:
        """Listen no longer; may be called again."""
        self._logger.removeHandler(self)
        if self._shown is not None:
            self._logger.removeHandler(self._shown)
        self._logger.setLevel(self._level)
        super().close()


def redirect_output(folder: Path) -> None:
    """From now on this process's stdout and stderr, a crash's stacks included, go to `learner.log`.

    They stay where they are when the file cannot be made.
    """
    path = folder / LEARNER_LOG
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if path.is_file() and path.stat().st_size > MAX_BYTES:
            path.replace(path.with_name(f"{LEARNER_LOG}.1"))
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
    except OSError:
        return
    sys.stdout.flush()
    sys.stderr.flush()
    for stream in (1, 2):
        os.dup2(file, stream)
    os.close(file)
    faulthandler.enable(file=2)
