"""Format of a log line, as text or JSON, and which run, connection, host, lease it is about."""

import json
import logging
import sys
import time
from collections.abc import Mapping
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import TextIO, get_args

from typing_extensions import override

from attract.settings.base import LogFormat, LogLevel, variable

LOG_FORMAT, LOG_LEVEL = variable("log_format"), variable("log_level")
"""Environment: the form of every log, and the least that is logged."""
MAX_ID_CHARACTERS = 120
INDENT = "  "

_ids: ContextVar[Mapping[str, str | int] | None] = ContextVar("attract_log_ids", default=None)


def bind(**ids: str | int) -> None:
    """From now on every line of this task, and of tasks it starts, carries these ids beside those it has."""
    _ids.set({**(_ids.get() or {}), **ids})


def bound_ids() -> Mapping[str, str | int]:
    """The ids that lines of this task carry."""
    return _ids.get() or {}


class TextLines(logging.Formatter):
    """`2026-01-02T03:04:05Z WARNING attract.server.sockets: a socket is closed [run=r connection=3]`.

    Further lines of a message begin with `INDENT`, so that none can pass for a message of its own.
    """

    converter = time.gmtime

    def __init__(self, ids: Mapping[str, str | int]) -> None:
        super().__init__("%(asctime)sZ %(levelname)s %(name)s: %(message)s", "%Y-%m-%dT%H:%M:%S")
        self._own = ids

    @override
    def formatMessage(self, record: logging.LogRecord) -> str:
        ids = " ".join(f"{name}={_plain(value)}" for name, value in {**self._own, **bound_ids()}.items())
        first, *more = super().formatMessage(record).splitlines()
        return f"\n{INDENT}".join([first + (f" [{ids}]" if ids else ""), *more])


class JsonLines(logging.Formatter):
    """One object a line: `time`, `level`, `logger`, `message`, the ids, and `stack` after an exception."""

    def __init__(self, ids: Mapping[str, str | int]) -> None:
        super().__init__()
        self._own = ids

    @override
    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, UTC)
        line: dict[str, object] = {
            "time": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **{name: _plain(value) for name, value in {**self._own, **bound_ids()}.items()},
        }
        if record.exc_info:
            line["stack"] = self.formatException(record.exc_info)
        # ASCII: a control or direction character from outside is written out.
        return json.dumps(line, ensure_ascii=True)


def create_formatter(log_format: LogFormat, **ids: str | int) -> logging.Formatter:
    """Lines in that form; `ids` are in each of them, for lines from tasks and threads that bound none."""
    return JsonLines(ids) if log_format == "json" else TextLines(ids)


def logging_of(environment: Mapping[str, str]) -> tuple[LogFormat, LogLevel]:
    """Form and level for a process that the gateway started, which has checked these variables."""
    log_format = environment.get(LOG_FORMAT)
    level = environment.get(LOG_LEVEL)
    known = [arg for arg in get_args(LogLevel) if arg == level]
    return "json" if log_format == "json" else "text", known[0] if known else "info"


def show_logs(
    log_format: LogFormat, level: LogLevel, stream: TextIO | None = None, **ids: str | int
) -> logging.Handler:
    """Have all logs of this process, of libraries and Python's warnings too, on `stream` (None: stderr).

    For the start of a process: what was shown before is shown no longer.
    """
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(create_formatter(log_format, **ids))
    handler.setLevel(level.upper())
    root = logging.getLogger()
    for before in [handler for handler in root.handlers if type(handler) is logging.StreamHandler]:
        root.removeHandler(before)
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    logging.getLogger("attract").setLevel(level.upper())
    logging.captureWarnings(capture=True)
    return handler


def _plain(value: str | int) -> str | int:
    """A browser names itself: nothing of it may end the line or look like another id."""
    if isinstance(value, int):
        return value
    short = value[:MAX_ID_CHARACTERS]
    return short if short.isascii() and short.isprintable() and not set(short) & set(" []=") else ascii(short)
