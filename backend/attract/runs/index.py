"""The list of all runs, without opening the database of each again and again.

What was read of the runs' folders is kept in one SQLite database beside them, so that a server need not open
each of them when it starts; it is made anew whenever it cannot be used.
"""

import contextlib
import hashlib
import json
import logging
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Any, Final, NamedTuple

from pydantic import ValidationError

from attract import __version__
from attract.errors import ConfigurationError, DamagedRunError, FileError
from attract.files import parse_json, parse_model, read_optional_file, write_atomically
from attract.runs.archive import UNFINISHED, RunArchive, damage_named, state_now
from attract.runs.directory import DATABASE, RunDirectory
from attract.runs.disk import open_database
from attract.runs.indexed_run import DEFAULTS, IndexedRun, indexed_run
from attract.schema.api import RunSummary, RunView
from attract.schema.run_list import RunLabels

LABELS: Final = "labels.json"
MAX_BYTES: Final = 64 << 10


def labels_path(folder: Path) -> Path:
    """The file of the run in `folder`."""
    return folder / LABELS


def read_labels(folder: Path) -> RunLabels:
    """The labels of the run in `folder`; those of a run without the file are empty.

    Raises: FileError: the file is damaged, too large, or a link out of the folder.
    """
    path = labels_path(folder)
    data = read_optional_file(path, MAX_BYTES, folder)
    return RunLabels() if data is None else parse_model(parse_json(data, path), RunLabels, path)


def write_labels(directory: RunDirectory, labels: RunLabels) -> None:
    """Replace the labels of a run, which another process may be writing."""
    write_atomically(labels_path(directory.path), labels.model_dump_json(indent=1).encode())


log = logging.getLogger(__name__)
ANSWER_SECONDS: Final = 0.1
"""Time that one request spends on reading runs that are not in the index."""
MIN_READ: Final = 50
"""Runs that each request reads, however long that takes."""
INDEX: Final = ".index.db"
BUSY_SECONDS: Final = 1.0
FORM: Final = hashlib.sha256(
    json.dumps([__version__, DEFAULTS, IndexedRun.model_json_schema()], sort_keys=True).encode()
).hexdigest()
"""What the rows depend on; rows of another form are not read."""
NO_DAMAGE: Final = ("SQLITE_BUSY", "SQLITE_FULL", "SQLITE_READONLY", "SQLITE_IOERR", "SQLITE_CANTOPEN")
"""SQLite's errors for which the file itself is not to blame."""

Kept = tuple[str, str]
"""The stamp of a run's files when they were read, and the run as JSON."""


class _Known(NamedTuple):
    stamp: str
    run: IndexedRun | None
    """None: it cannot be read as it is."""


class Indexed(NamedTuple):
    """All runs, newest first, and how many were not read in the time."""

    runs: list[IndexedRun]
    num_unread: int


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


class RunIndex:
    """What is listed of each run, read again only when its files have changed; owned by the run service.

    May be called from several threads at once. `clock` is monotonic seconds.
    """

    def __init__(self, archive: RunArchive, clock: Callable[[], float] = time.monotonic) -> None:
        self._archive = archive
        self._clock = clock
        self._file = IndexFile(archive.runs_dir)
        self._known: dict[str, _Known] | None = None
        """None: the file of the index has not been read."""
        self._lock = Lock()

    def runs(self, active: RunView | None = None, *, seconds: float | None = None) -> Indexed:
        """All runs that can be read, newest first; `active` as it stands now.

        Args:
            seconds: time to spend on runs that have changed, after `MIN_READ` of them; None: read all.
        """
        with self._lock:
            known, num_unread = self._refreshed(seconds)
        shown = [self._shown(entry.run, active) for entry in known.values() if entry.run is not None]
        return Indexed(shown, num_unread)

    def run(self, run_id: str, active: RunView | None = None) -> IndexedRun | None:
        """One run as `runs` has it, without a look at others; None: there is none that can be read."""
        directory = self._directory(run_id)
        with self._lock:
            old, stamp = (self._known or {}).get(run_id), _stamp(str(directory.path))
            known = old if old is not None and old.stamp == stamp else self._read(directory, stamp)
        return None if known.run is None else self._shown(known.run, active)

    def _shown(self, run: IndexedRun, active: RunView | None) -> IndexedRun:
        summary = run.summary
        state = state_now(self._directory(summary.run_id), summary.state)
        if state != summary.state:
            run = run.model_copy(update={"summary": summary.model_copy(update={"state": state})})
        return run if active is None or active.run_id != summary.run_id else _as_now(run, active)

    def _refreshed(self, seconds: float | None) -> tuple[dict[str, _Known], int]:
        if self._known is None:
            self._known = {
                run_id: known for run_id, kept in self._file.read().items() if (known := _of(kept))
            }
        deadline = None if seconds is None else self._clock() + seconds
        # Taken before the reading: what is written meanwhile changes them.
        stamps = {run_id: _stamp(f"{self._archive.runs_dir}/{run_id}") for run_id in self._archive.run_ids()}
        before, fresh = self._known, dict[str, Kept]()
        found = {run_id: before[run_id] for run_id in stamps if run_id in before}
        stale = [
            run_id for run_id, stamp in stamps.items() if run_id not in found or found[run_id].stamp != stamp
        ]
        # Damaged runs are read each time: last, so that they keep no other from being read.
        stale.sort(key=lambda run_id: run_id in found and not found[run_id].stamp)
        num_read = 0
        for run_id in stale:
            if num_read >= MIN_READ and deadline is not None and self._clock() > deadline:
                break
            num_read += 1
            found[run_id] = kept = self._read(self._directory(run_id), stamps[run_id])
            # A run that goes on changes at once: it is written when it is over.
            if kept.stamp and kept.run is not None and kept.run.summary.state not in UNFINISHED:
                fresh[run_id] = (kept.stamp, kept.run.model_dump_json())
        num_unread = sum(run_id not in found or bool(found[run_id].stamp) for run_id in stale[num_read:])
        self._known = {run_id: found[run_id] for run_id in stamps if run_id in found}
        self._file.write(fresh, [] if num_unread else before.keys() - stamps.keys())
        return self._known, num_unread

    def _read(self, directory: RunDirectory, stamp: str) -> _Known:
        run_id = directory.run_id
        labels, problem = _labels_of(directory)
        try:
            with damage_named(run_id), self._archive.opened(directory) as (store, data):
                known = {name: data[name] for name in RunSummary.model_fields if name in data}
                summary = parse_model(known, RunSummary, directory.path / DATABASE)
                run = indexed_run(summary, data, labels, store)
        except DamagedRunError as error:
            # Looked at again each time: another process may only have held it up.
            return _Known("", _damaged(run_id, error.reason, directory, labels))
        except ConfigurationError as error:
            log.debug("run %s cannot be read: %s", run_id, error)
            return _Known(stamp, None)
        if problem is not None and summary.error is None:
            run = run.model_copy(update={"summary": summary.model_copy(update={"error": problem})})
        return _Known(stamp, run)

    def _directory(self, run_id: str) -> RunDirectory:
        # Not looked up: a run may be moved away while the list is made.
        return RunDirectory(self._archive.runs_dir / run_id, None)


def _of(kept: Kept) -> _Known | None:
    try:
        return _Known(kept[0], IndexedRun.model_validate_json(kept[1]))
    except ValidationError:
        return None


def _labels_of(directory: RunDirectory) -> tuple[RunLabels, str | None]:
    """The run's labels, or none and what is wrong with their file."""
    try:
        return read_labels(directory.path), None
    except FileError as error:
        return RunLabels(), f"{error.path.name}: {error.problem}"[:1_000]


def _as_now(run: IndexedRun, active: RunView) -> IndexedRun:
    now = RunSummary.model_validate(active.model_dump(include=set(RunSummary.model_fields)))
    evaluation = active.evaluation
    changes: dict[str, Any] = {"summary": now}
    if evaluation is not None:
        changes["return_eval"] = evaluation.return_mean
    if now.episode_return_mean is not None and run.return_best is None:
        changes["return_best"] = now.episode_return_mean
    return run.model_copy(update=changes)


def _damaged(run_id: str, reason: str, directory: RunDirectory, labels: RunLabels) -> IndexedRun:
    """A row of the list for a run whose folder's name alone is known."""
    changed_ns, _ = _times(f"{directory.path}/{DATABASE}")
    try:
        changed = datetime.fromtimestamp(changed_ns / 1e9, UTC)
    except (ValueError, OverflowError, OSError):
        # A file from elsewhere may be of the year 40000.
        changed = datetime.fromtimestamp(0, UTC)
    summary = RunSummary(
        run_id=run_id,
        game="unknown",
        title=run_id,
        state="damaged",
        created=changed.isoformat(timespec="seconds"),
        seed=0,
        policy_version=0,
        agent_steps=0,
        collected_steps=0,
        updates=0,
        episodes=0,
        elapsed_seconds=0.0,
        steps_per_second=0.0,
        episode_return_mean=None,
        goal=None,
        total_steps=None,
        error=reason,
    )
    return IndexedRun(summary=summary, labels=labels)


def _stamp(folder: str) -> str:
    """Changes whenever a file that the list depends on does."""
    # Texts: a list of a thousand runs makes three paths of each.
    paths = (f"{folder}/{DATABASE}", f"{folder}/{DATABASE}-wal", f"{folder}/{LABELS}")
    return " ".join(f"{changed_ns} {size}" for changed_ns, size in map(_times, paths))


def _times(path: str) -> tuple[int, int]:
    try:
        found = os.stat(path)  # noqa: PTH116
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_size
