"""One page of the list of runs: searched, sorted and cut."""

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from attract.errors import ConfigurationError, QueryError
from attract.run.index import Indexed
from attract.run.indexed_run import DEFAULTS, IndexedRun, changed_settings, setting_value
from attract.run.query import Query, parse_query, sort_key
from attract.schema.run_list import RunList, RunRow, SettingValue
from attract.settings.given import LayeredSettings

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


def list_runs(
    indexed: Indexed,
    own_of: Callable[[str], Mapping[str, SettingValue]],
    *,
    query: Query | str = "",
    sort: str = NEWEST_FIRST,
    limit: int = 100,
    after: str | None = None,
    now: datetime | None = None,
) -> RunList:
    """One page of the runs that a search finds.

    Args:
        indexed: all runs.
        own_of: as `OwnSettings`.
        query: one, or the text of one as `query.parse_query`.
        sort: a field or setting, with `-` before it from the largest; runs that have none come last.
        limit: rows of a page, at least 1.
        after: `next` of the page before; None: the first page.
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
        runs=[row_of(run, own_of(run.summary.game), columns) for run in page],
        num_found=len(found),
        num_hidden=len(matching) - len(found),
        num_unread=indexed.num_unread,
        next=page[-1].summary.run_id if page and begin + limit < len(found) else None,
        settings=columns,
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


def row_of(run: IndexedRun, own: Mapping[str, SettingValue], columns: Sequence[str]) -> RunRow:
    """A run as a row with the settings in `columns` and those that are not as in `own`."""
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
