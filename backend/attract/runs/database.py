"""Opens SQLite files of folders that may be a stranger's: known tables alone, in bounded time."""

import re
import sqlite3
import time
from collections.abc import Collection
from pathlib import Path
from typing import Final

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
