"""What lies on the disk: locks, SQLite files, and writes that are refused now and may go through later."""

import errno
import fcntl
import os
import re
import sqlite3
import time
from collections.abc import Collection
from pathlib import Path
from typing import Final

from attract.errors import ConfigurationError, FileError

LOCK: Final = ".lock"
LOCK_ATTEMPTS: Final = 5
LOCK_RETRY_SECONDS: Final = 0.02


def is_locked(path: Path) -> bool:
    """Whether some process, this one included, is writing the run in folder `path`."""
    try:
        fd = os.open(path / LOCK, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        # None is there, or what is there is none of ours: nothing is locked by it.
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    else:
        return False
    finally:
        os.close(fd)


def lock_folder(path: Path) -> int:
    """Lock the run in folder `path`; the file descriptor, whose closing gives the lock back.

    Raises:
        ConfigurationError: some process, this one included, writes the run.
        FileError: the folder's lock file cannot be opened.
    """
    try:
        fd = os.open(path / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise FileError(path / LOCK, f"cannot be opened: {error.strerror}") from None
    for _ in range(LOCK_ATTEMPTS):
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            # Perhaps only someone who looks whether the run is locked, which takes microseconds.
            time.sleep(LOCK_RETRY_SECONDS)
        else:
            return fd
    os.close(fd)
    raise ConfigurationError(
        f"run {path.name} is being written by another process (rule D3)",
        setting="run_id",
        fix="stop that process first, or choose another run",
    )


READ_SECONDS: Final = 10.0
"""A file that takes longer to read is none of ours: it holds the other readers up."""
COMPUTES: Final = re.compile(r"(?is)(?!CREATE TABLE )|.*\b(as|check|default|generated)\b")
"""Statement of a schema by which SQLite would compute what the file says, for as long as it says."""


def open_database(
    path: Path | str,
    tables: Collection[str],
    busy_seconds: float,
    max_value_bytes: int = 1 << 20,
    *,
    is_uri: bool = False,
) -> sqlite3.Connection:
    """A connection without implicit transactions, limited as by `limit_time`.

    Raises: sqlite3.DatabaseError: it is no database, or has anything but plain tables of these names.
    """
    connection = sqlite3.connect(
        path, busy_seconds, isolation_level=None, check_same_thread=False, uri=is_uri
    )
    try:
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, max_value_bytes)
        connection.execute("PRAGMA trusted_schema=OFF")
        limit_time(connection)
        known = {*tables, "sqlite_sequence"}
        for kind, name, sql in connection.execute("SELECT type, name, sql FROM sqlite_master"):
            is_plain = kind == "table" and name in known and not COMPUTES.match(str(sql or ""))
            # An index without a statement is that of a key.
            if not is_plain and not (kind == "index" and sql is None):
                raise sqlite3.DatabaseError(f"has a {kind} of another form, {name!r:.80}")
    except BaseException:
        connection.close()
        raise
    return connection


def limit_time(connection: sqlite3.Connection, seconds: float | None = READ_SECONDS) -> None:
    """Interrupt what the connection computes after that many seconds from now; None: never."""
    deadline = time.monotonic() + (seconds or 0.0)
    connection.set_progress_handler(None if seconds is None else lambda: time.monotonic() > deadline, 10_000)


REFUSALS = (errno.ENOSPC, errno.EDQUOT, errno.EIO)
SQLITE_REFUSALS = ("SQLITE_FULL", "SQLITE_IOERR")


def refusal(error: BaseException) -> str | None:
    """What a full or failing disk said, when `error` is its error from a file or SQLite; else None."""
    if isinstance(error, OSError) and error.errno in REFUSALS:
        return str(error.strerror)
    # Errors that Python's module raises by itself have no name.
    name = getattr(error, "sqlite_errorname", "")
    return str(error) if name.startswith(SQLITE_REFUSALS) else None
