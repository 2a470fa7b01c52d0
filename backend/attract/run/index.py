"""The list of all runs, without opening the database of each again and again."""

import logging
import os
import time
from collections.abc import Callable
from datetime import UTC, datetime
from threading import Lock
from typing import Any, Final, NamedTuple, TypeVar

from pydantic import ValidationError

from attract.errors import ConfigurationError, DamagedRunError, FileError
from attract.files import parse_model
from attract.run.archive import UNFINISHED, RunArchive, damage_named, state_now
from attract.run.index_file import IndexFile, Kept
from attract.run.indexed_run import IndexedRun, indexed_run
from attract.runs.directory import DATABASE, RunDirectory
from attract.runs.labels import LABELS, read_labels
from attract.schema.api import RunSummary, RunView
from attract.schema.run_list import RunLabels

log = logging.getLogger(__name__)
Run = TypeVar("Run", bound=RunSummary)
ANSWER_SECONDS: Final = 0.1
"""Time that one request spends on reading runs that are not in the index."""
MIN_READ: Final = 50
"""Runs that each request reads, however long that takes."""


class _Known(NamedTuple):
    stamp: str
    run: IndexedRun | None
    """None: it cannot be read as it is."""


class Indexed(NamedTuple):
    """All runs, newest first, and how many were not read in the time."""

    runs: list[IndexedRun]
    num_unread: int


class RunIndex:
    """What is listed of each run, read again only when its files have changed; owned by the run service.

    May be called from several threads at once. `clock` is monotonic seconds.
    """

    def __init__(
        self,
        archive: RunArchive,
        title_of: Callable[[str], str],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`title_of`: what a game is called on screen, for runs that were kept before they had titles."""
        self._archive = archive
        self._title_of = title_of
        self._clock = clock
        self._file = IndexFile(archive.runs_dir)
        self._known: dict[str, _Known] | None = None
        """None: the file of the index has not been read."""
        self._lock = Lock()

    def titled(self, run: Run) -> Run:
        """The run with its game's title."""
        return run if run.title else run.model_copy(update={"title": self._title_of(run.game)})

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
        summary = self.titled(run.summary)
        state = state_now(self._directory(summary.run_id), summary.state)
        if summary is not run.summary or state != summary.state:
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
