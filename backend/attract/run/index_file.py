"""The index of runs as a file: one SQLite database in the runs folder, made anew whenever it cannot be used.

It is a copy of what the runs' own folders say, so that a server need not open each of them when it starts.
"""

import contextlib
import hashlib
import json
import logging
import sqlite3
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from attract import __version__
from attract.run.indexed_run import DEFAULTS, IndexedRun
from attract.runs.database import open_database

INDEX: Final = ".index.db"
BUSY_SECONDS: Final = 1.0
FORM: Final = hashlib.sha256(
    json.dumps([__version__, DEFAULTS, IndexedRun.model_json_schema()], sort_keys=True).encode()
).hexdigest()
"""What the rows depend on; rows of another form are not read."""
NO_DAMAGE: Final = ("SQLITE_BUSY", "SQLITE_FULL", "SQLITE_READONLY", "SQLITE_IOERR", "SQLITE_CANTOPEN")
"""SQLite's errors for which the file itself is not to blame."""
log = logging.getLogger(__name__)

Kept = tuple[str, str]
"""The stamp of a run's files when they were read, and the run as JSON."""


class IndexFile:
    """The file of one runs folder; used by the index, from one thread at a time."""

    def __init__(self, runs_dir: Path, busy_seconds: float = BUSY_SECONDS) -> None:
        """`busy_seconds`: how long it waits for another process that writes the file."""
        self._busy_seconds = busy_seconds
        self._path = runs_dir / INDEX

    def read(self) -> dict[str, Kept]:
        """All rows by run id; empty where there is no usable file, which is then made anew."""
        if not self._path.exists():
            return {}
        try:
            with contextlib.closing(self._connect()) as connection:
                rows = connection.execute("SELECT run_id, stamp, run FROM runs").fetchall()
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            self._discard(error)
            return {}
        return {
            run_id: (stamp, run)
            for run_id, stamp, run in rows
            if isinstance(run_id, str) and isinstance(stamp, str) and isinstance(run, str)
        }

    def write(self, rows: Mapping[str, Kept], gone: Iterable[str]) -> None:
        """Add or replace rows by run id, and remove those of `gone`; what the disk refuses is left out."""
        removed = [(run_id,) for run_id in gone]
        if not rows and not removed:
            return
        try:
            with contextlib.closing(self._connect()) as connection, connection:
                connection.execute("BEGIN IMMEDIATE")
                connection.executemany(
                    "REPLACE INTO runs VALUES (?, ?, ?)", [(run_id, *kept) for run_id, kept in rows.items()]
                )
                connection.executemany("DELETE FROM runs WHERE run_id = ?", removed)
        except sqlite3.DatabaseError as error:
            self._discard(error)

    def _connect(self) -> sqlite3.Connection:
        if self._path.is_symlink() or (self._path.exists() and not self._path.is_file()):
            raise sqlite3.OperationalError("is no regular file")
        connection = open_database(self._path, ("runs", "form"), self._busy_seconds)
        try:
            # After a power cut it is made anew.
            connection.execute("PRAGMA synchronous=OFF")
            if connection.execute("SELECT 1 FROM sqlite_master").fetchone() is None:
                with connection:
                    connection.execute("BEGIN IMMEDIATE")
                    connection.execute(
                        "CREATE TABLE IF NOT EXISTS runs "
                        "(run_id TEXT PRIMARY KEY, stamp TEXT NOT NULL, run TEXT NOT NULL)"
                    )
                    connection.execute("CREATE TABLE IF NOT EXISTS form (form TEXT PRIMARY KEY)")
                    connection.execute("REPLACE INTO form VALUES (?)", (FORM,))
            if connection.execute("SELECT form FROM form").fetchall() != [(FORM,)]:
                raise sqlite3.DatabaseError("was written by another version")
        except BaseException:
            connection.close()
            raise
        return connection

    def _discard(self, error: Exception) -> None:
        """Remove a file that cannot be used; a lock or a full disk is no reason to."""
        name = getattr(error, "sqlite_errorname", "SQLITE_ERROR")
        log.debug("the index of runs %s is not used: %s", self._path, error)
        if name.startswith(NO_DAMAGE):
            return
        for path in (self._path, self._path.with_name(f"{INDEX}-journal")):
            if path.is_symlink() or path.is_file():
                with contextlib.suppress(OSError):
                    path.unlink()
