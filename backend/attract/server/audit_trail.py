"""The server's audit log, in the runs folder: each start, stop, join and refusal, and who asked for it."""

import errno
import fcntl
import json
import logging
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal

from attract.server.quiet_log import TokenBucket

AUDIT_FILE: Final = "audit.jsonl"
MAX_BYTES: Final = 4 << 20
"""Past this the file becomes `audit.jsonl.1`, in the place of the one before."""
MAX_CHARACTERS: Final = 200
"""Limit of one text in a line."""
ALLOWANCES: Final = {"refused": (0.1, 100.0), "joined": (1.0, 2000.0), "left": (1.0, 2000.0)}
"""What strangers, or a fleet that comes and goes, may have written: lines a second over time, and at once.
Further lines are only counted, and the next line has their number: a flood must not push out the rest."""

Action = Literal[
    "run_started",
    "run_ended",
    "requested",
    "rolled_back",
    "refused",
    "joined",
    "left",
    "server_started",
    "server_ended",
]
Detail = str | int | bool | None
log = logging.getLogger(__name__)


class AuditTrail:
    """Appends lines; owned by the app, used on its event loop. Several servers may share a runs folder.

    A line never holds a secret: a credential is named by its digest, or its entry in the list of sessions and
    invitations. If the disk refuses a write, the line is lost, and the log has one warning.
    """

    def __init__(self, runs_dir: Path, clock: Callable[[], float]) -> None:
        """`clock` is monotonic seconds; the file is made with the first line."""
        self.path = runs_dir / AUDIT_FILE
        self._clock = clock
        self._buckets = {
            action: TokenBucket(per_second, burst, clock())
            for action, (per_second, burst) in ALLOWANCES.items()
        }
        self._left_out = dict.fromkeys(ALLOWANCES, 0)
        self._is_refused = False
        self._start: bytes | None = None
        """Line of the server's start, until something else is to be written."""

    def write(self, action: Action, **details: Detail) -> None:
        """One line: time, action, process and those details that are not None.

        A server to which nothing was done leaves no line: a command that is refused leaves no folder behind.
        """
        bucket = self._buckets.get(action)
        if bucket is not None:
            if not bucket.take(1, self._clock()):
                self._left_out[action] += 1
                return
            details["left_out"] = self._left_out[action] or None
            self._left_out[action] = 0
        line = {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "action": action,
            "process": os.getpid(),
            **{name: _short(value) for name, value in details.items() if value is not None},
        }
        text = json.dumps(line, ensure_ascii=True).encode() + b"\n"
        start, self._start = self._start, None
        if action == "server_started":
            self._start = text
            return
        if action == "server_ended" and start is not None:
            return
        try:
            for encoded in (text,) if start is None else (start, text):
                _append(self.path, encoded)
            self._is_refused = False
        except OSError as error:
            if not self._is_refused:
                log.warning("the audit trail cannot be written: %s", error.strerror)
            self._is_refused = True


def _short(value: Detail) -> Detail:
    return value[:MAX_CHARACTERS] if isinstance(value, str) else value


def _append(path: Path, line: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    while True:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            now = os.fstat(file)
            if not now.st_nlink or not path.exists() or path.stat().st_ino != now.st_ino:
                # Another server of this folder put it aside meanwhile.
                continue
            if now.st_size + len(line) > MAX_BYTES:
                path.replace(path.with_name(f"{path.name}.1"))
                continue
            if os.write(file, line) != len(line):
                # Half a line would spoil the next one.
                os.ftruncate(file, now.st_size)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return
        finally:
            os.close(file)
