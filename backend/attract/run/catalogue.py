"""The runs of a runs folder as a list that people search, label, delete and restore."""

import contextlib
from collections.abc import Callable, Generator
from pathlib import Path
from threading import Lock
from typing import Final

from attract.errors import ConfigurationError, FileError, RunActiveError, UnknownRunError
from attract.games.library import GameLibrary
from attract.run.archive import RunArchive, TrashArchive, known_run
from attract.run.index import ANSWER_SECONDS, RunIndex
from attract.run.query import parse_query
from attract.run.run_list import NEWEST_FIRST, OwnSettings, list_runs, row_of
from attract.run.settings_view import settings_of
from attract.runs.labels import labels_path, read_labels, write_labels
from attract.runs.lock import is_locked
from attract.runs.trash import TRASH, delete_run, erase, restore
from attract.schema.api import RunView
from attract.schema.run_list import DeletedRun, EditLabels, RunLabels, RunList, RunRow

PAGE: Final = 100
"""Rows of a page."""


class RunCatalogue:
    """Lists, labels, deletes and restores runs; owned by the run service, called from several threads."""

    def __init__(
        self,
        archive: RunArchive,
        games: GameLibrary,
        active: Callable[[], RunView | None],
    ) -> None:
        """`active`: the run that this process trains, as it stands now."""
        self._archive = archive
        self.index = RunIndex(archive, games.title_of)
        self._trash = RunIndex(TrashArchive(archive.runs_dir), games.title_of)
        self._own_of = OwnSettings(lambda game: settings_of(games, game, {}))
        self._active = active
        self._lock = Lock()

    def live(self) -> str | None:
        """Id of the newest running run, whichever process trains it; None if no run is running."""
        runs = self.list("is:live", limit=1).runs
        return runs[0].run_id if runs else None

    def list(
        self,
        query: str = "",
        sort: str = NEWEST_FIRST,
        *,
        limit: int = PAGE,
        after: str | None = None,
        seconds: float | None = ANSWER_SECONDS,
    ) -> RunList:
        """One page, as `list_runs`; `seconds` as `RunIndex.runs` has it. Raises: QueryError.

        A query with `is:deleted` searches the trash in place of the runs.
        """
        asked = parse_query(query)
        if "deleted" in asked.shows:
            found = self._trash.runs(seconds=seconds)
            deleted = [run.model_copy(update={"is_deleted": True}) for run in found.runs]
            indexed = found._replace(runs=deleted)
        else:
            indexed = self.index.runs(self._active(), seconds=seconds)
        return list_runs(indexed, self._own_of, query=asked, sort=sort, limit=limit, after=after)

    def edit(self, run_id: str, change: EditLabels) -> RunRow:
        """Change a run's labels; its row then.

        Raises: UnknownRunError: no such run. FileError: they cannot be written.
        """
        with known_run(run_id):
            directory = self._archive.directory(run_id)
        given = change.model_dump(exclude_none=True)
        if (tags := given.get("tags")) is not None:
            given["tags"] = list(dict.fromkeys(tags))
        if (name := given.get("name")) is not None:
            given["name"] = name.strip()
        # Two changes at once must not lose one of them.
        with self._lock:
            try:
                before = read_labels(directory.path)
            except ConfigurationError:
                # Nothing in it can be read, so nothing of it can be kept.
                before = RunLabels()
            with _not_refused(labels_path(directory.path), "written"):
                write_labels(directory, before.model_copy(update=given))
        return self._row(run_id)

    def delete(self, run_id: str) -> DeletedRun:
        """Move a run to the trash.

        Raises: UnknownRunError: no such run. RunActiveError: it goes on, here or in another process.
            FileError: the disk refuses it.
        """
        with known_run(run_id):
            directory = self._archive.directory(run_id)
        active = self._active()
        if (active is not None and active.run_id == run_id) or is_locked(directory.path):
            raise RunActiveError(run_id, "delete it")
        with _not_refused(directory.path, "moved to the trash"):
            trash_id = delete_run(directory.path)
        return DeletedRun(run_id=run_id, trash_id=trash_id)

    def restore(self, trash_id: str) -> RunRow:
        """Bring a run back from the trash; its row.

        Raises: UnknownRunError: it is not there, or another run has its id now.
            FileError: the disk refuses it.
        """
        with self._lock, _in_trash(self._trash_path(trash_id), "moved back"):
            run_id = restore(self._archive.runs_dir, trash_id)
        return self._row(run_id)

    def erase(self, trash_id: str) -> DeletedRun:
        """Remove a run in the trash from the disk, for good.

        Raises: UnknownRunError: it is not there. FileError: the disk refuses it.
        """
        with self._lock, _in_trash(self._trash_path(trash_id), "erased"):
            run_id = erase(self._archive.runs_dir, trash_id)
        return DeletedRun(run_id=run_id, trash_id=trash_id)

    def _trash_path(self, trash_id: str) -> Path:
        return self._archive.runs_dir / TRASH / trash_id

    def _row(self, run_id: str) -> RunRow:
        run = self.index.run(run_id, self._active())
        if run is None:
            raise UnknownRunError(f"run {run_id} has not begun")
        return row_of(run, self._own_of(run.summary.game), [])


@contextlib.contextmanager
def _not_refused(path: Path, done: str) -> Generator[None]:
    """Raises: FileError: in place of OSError, such as that of a folder that may only be read."""
    try:
        yield
    except OSError as error:
        raise FileError(path, f"cannot be {done}: {error.strerror}") from None


@contextlib.contextmanager
def _in_trash(path: Path, done: str) -> Generator[None]:
    """As `_not_refused`. Raises: UnknownRunError: in place of ConfigurationError."""
    try:
        with _not_refused(path, done):
            yield
    except FileError:
        raise
    except ConfigurationError as error:
        raise UnknownRunError(" ".join(str(error).split())) from None
