"""The runs of a runs folder as a list that people search, label, delete and restore."""

import contextlib
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Lock
from typing import Any, Final

from attract.errors import ConfigurationError, FileError, QueryError, RunActiveError, UnknownRunError
from attract.runs.archive import RunArchive, TrashArchive
from attract.runs.disk import is_locked
from attract.runs.index import ANSWER_SECONDS, Indexed, RunIndex, labels_path, read_labels, write_labels
from attract.runs.indexed_run import DEFAULTS, IndexedRun, changed_settings, setting_value
from attract.runs.query import Query, parse_query, sort_key
from attract.runs.trash import TRASH, delete_run, erase, restore
from attract.schema.api import RunView
from attract.schema.run_list import DeletedRun, EditLabels, RunLabels, RunList, RunRow, SettingValue
from attract.settings.given import LayeredSettings

PAGE: Final = 100
"""Rows of a page."""
NEWEST_FIRST: Final = "-created"
"""The usual order; runs that failed in the last `FIRST_HOURS` come before all others."""
FIRST_HOURS: Final = 24.0
KEEP_SECONDS: Final = 10.0
"""How long the settings that a game comes with are not read again."""
WITH_COLUMN: Final = ("seed", "preset")
"""Settings that have a field of their own in a row."""


class OwnSettings:
    """The settings that games come with now, by path, where they differ from the defaults.

    May be called from several threads at once. `clock` is monotonic seconds.
    """

    def __init__(
        self, settings_of: Callable[[str], LayeredSettings], clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`settings_of`: of a new run of a game. Raises: ConfigurationError."""
        self._settings_of = settings_of
        self._clock = clock
        self._known: dict[str, tuple[float, Mapping[str, SettingValue]]] = {}

    def __call__(self, game: str) -> Mapping[str, SettingValue]:
        """The settings of a game. Without a readable game they are the defaults: an empty mapping."""
        now = self._clock()
        known = self._known.get(game)
        if known is None or now - known[0] > KEEP_SECONDS:
            try:
                own = changed_settings(self._settings_of(game).run.model_dump(mode="json"))
            except (ConfigurationError, OSError, ValueError):
                # The name comes from a run's folder: it may be anything.
                own = {}
            known = self._known[game] = (now, own)
        return known[1]


class RunCatalogue:
    """Lists, labels, deletes and restores runs; owned by the run service, called from several threads."""

    def __init__(
        self,
        archive: RunArchive,
        settings_of: Callable[[str], LayeredSettings],
        active: Callable[[], RunView | None] = lambda: None,
    ) -> None:
        """`settings_of`: as `OwnSettings`; `active`: the run that this process trains, as it stands now."""
        self._archive = archive
        self.index = RunIndex(archive)
        self._trash = RunIndex(TrashArchive(archive.runs_dir))
        self._own_of = OwnSettings(settings_of)
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
        metrics: Sequence[str] = (),
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
        return list_runs(
            indexed, self._own_of, query=asked, sort=sort, limit=limit, after=after, metrics=metrics
        )

    def edit(self, run_id: str, change: EditLabels) -> RunRow:
        """Change a run's labels; its row then.

        Raises: UnknownRunError: no such run. FileError: they cannot be written.
        """
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


def list_runs(
    indexed: Indexed,
    own_of: Callable[[str], Mapping[str, SettingValue]],
    *,
    query: Query | str = "",
    sort: str = NEWEST_FIRST,
    limit: int = 100,
    after: str | None = None,
    metrics: Sequence[str] = (),
    now: datetime | None = None,
) -> RunList:
    """One page of the runs that a search finds.

    Args:
        indexed: all runs.
        own_of: as `OwnSettings`.
        query: one, or the text of one as `parse_query`.
        sort: a field or setting, with `-` before it from the largest; runs that have none come last.
        limit: rows of a page, at least 1.
        after: `next` of the page before; None: the first page.
        metrics: names of those whose last values the rows have.
        now: with a zone; None: asked.

    Raises: QueryError: query, sort or after cannot be read.
    """
    asked = query if isinstance(query, Query) else parse_query(query)
    matching = [run for run in indexed.runs if asked.matches(run)]
    found = _sorted([run for run in matching if not asked.hides(run)], sort)
    if sort == NEWEST_FIRST:
        asked_at = now or datetime.now(UTC)
        found.sort(key=lambda run: not _has_just_failed(run, asked_at))
    begin = 0
    if after is not None:
        ids = [run.summary.run_id for run in found]
        if after not in ids:
            raise QueryError(
                f"there is no row {after[:200]!r} in this list",
                None,
                setting="after",
                fix="begin at the first page",
            )
        begin = ids.index(after) + 1
    page = found[begin : begin + limit]
    columns = differing(found)
    return RunList(
        runs=[row_of(run, own_of(run.summary.game), columns, metrics) for run in page],
        num_found=len(found),
        num_hidden=len(matching) - len(found),
        num_unread=indexed.num_unread,
        next=page[-1].summary.run_id if page and begin + limit < len(found) else None,
        settings=columns,
        metrics=sorted({name for run in found for name in run.metrics}),
    )


def differing(runs: Sequence[IndexedRun]) -> list[str]:
    """Paths of the settings that are not the same in all of these runs, in the order of the form."""
    paths = {path for run in runs for path in run.settings} - set(WITH_COLUMN)
    order = {path: place for place, path in enumerate(DEFAULTS)}
    first = runs[0] if runs else None
    found = [
        path
        for path in paths
        if first is not None and any(setting_value(run, path) != setting_value(first, path) for run in runs)
    ]
    return sorted(found, key=lambda path: (order.get(path, len(order)), path))


def row_of(
    run: IndexedRun, own: Mapping[str, SettingValue], columns: Sequence[str], metrics: Sequence[str] = ()
) -> RunRow:
    """A run as a row with the settings in `columns` and those that are not as in `own`, and `metrics`."""
    changed = [
        path
        for path in dict.fromkeys((*run.settings, *own))
        if path not in WITH_COLUMN and setting_value(run, path) != own.get(path, DEFAULTS.get(path))
    ]
    return RunRow(
        **(run.summary.model_dump() | {"steps_per_second": run.speed}),
        **run.labels.model_dump(),
        is_deleted=run.is_deleted,
        preset=run.preset,
        progress=run.progress,
        return_best=run.return_best,
        return_eval=run.return_eval,
        sparkline=run.sparkline,
        settings={path: setting_value(run, path) for path in dict.fromkeys((*columns, *changed))},
        changed=changed,
        metrics={name: run.metrics[name] for name in metrics if name in run.metrics},
    )


def _sorted(runs: Sequence[IndexedRun], sort: str) -> list[IndexedRun]:
    """Sorted; runs without a value last, numbers before texts, equal ones newest first."""
    key = sort_key(sort.removeprefix("-"))
    newest_first = sorted(runs, key=lambda run: run.summary.created, reverse=True)
    with_value: list[tuple[Any, IndexedRun]] = []
    without: list[IndexedRun] = []
    for run in newest_first:
        value = key(run)
        if value is None or value in ("", []):
            without.append(run)
        else:
            with_value.append((_comparable(value), run))
    with_value.sort(key=lambda pair: pair[0], reverse=sort.startswith("-"))
    return [run for _, run in with_value] + without


def _has_just_failed(run: IndexedRun, now: datetime) -> bool:
    if run.summary.state != "failed":
        return False
    try:
        ended = datetime.fromisoformat(run.summary.created) + timedelta(seconds=run.summary.elapsed_seconds)
        return now - ended < timedelta(hours=FIRST_HOURS)
    except (ValueError, TypeError, OverflowError):
        # A run from elsewhere may have any text and number there.
        return False


def _comparable(value: Any) -> tuple[int, float, str]:
    if isinstance(value, int | float):
        # As it is: an integer of a run from elsewhere may be larger than any float.
        return 0, value, ""
    return 1, 0.0, ",".join(value).casefold() if isinstance(value, list) else str(value).casefold()
