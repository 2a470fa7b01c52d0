"""Keeps a run's metrics of bounded size: old updates become buckets with mean, extremes and number.

The newest `WHOLE_UPDATES` stay as they are. Of those before, every `WIDTH` become one bucket of level 0;
where a level has more than `PER_LEVEL` buckets, its two oldest become one of the next level. So the past is
drawn with at least `PER_LEVEL` buckets for each doubling of its age, no spike is lost, and a million
updates take about `WHOLE_UPDATES + 8 * PER_LEVEL` rows a metric.
"""

from collections.abc import Callable, Collection, Iterator
from typing import Any

from sqlalchemy import Connection

WHOLE_UPDATES = 8192
WIDTH = 16
"""Updates that a bucket of level 0 stands for."""
PER_LEVEL = 1024
WHOLE_EVENTS = 2000
"""Twice as many as a page that was away is ever told."""
FOLDS = 8
"""At most so many buckets are made at once: an announcement may wait for this thread."""

Run = Callable[..., Any]


def thin(
    connection: Connection,
    versions: Collection[int],
    *,
    whole: int | None = None,
    width: int | None = None,
    per_level: int | None = None,
) -> None:
    """Make what has grown old smaller, a little at each call; within the caller's transaction.

    Args:
        connection: to a metrics store.
        versions: whose rows stay, since their checkpoints are there (rule D1).
        whole, width, per_level: for tests; None: the constants.
    """
    run = connection.exec_driver_sql
    whole, width = whole or WHOLE_UPDATES, width or WIDTH
    newest = run('SELECT max("update") FROM updates').scalar() or 0
    for _ in range(FOLDS):
        after = run('SELECT max("update") FROM buckets').scalar() or 0
        found = run(
            'SELECT "update" FROM updates WHERE "update" > ? AND "update" <= ? ORDER BY "update" LIMIT ?',
            (after, newest - whole, width),
        ).all()
        if len(found) < width:
            break
        _fold(run, found[0][0], found[-1][0])
        _forget_rows(run, found[0][0], found[-1][0], versions)
    _merge_levels(run, versions, per_level or PER_LEVEL)
    last_event = run("SELECT max(id) FROM events").scalar() or 0
    run("DELETE FROM events WHERE id <= ?", (last_event - WHOLE_EVENTS,))


def _fold(run: Run, first: int, last: int) -> None:
    """Rows of metrics become one bucket of level 0, called by its last update."""
    for name in _names(run):
        span = (name, first, last)
        run(
            'INSERT INTO spreads (name, "update", number, mean, low, high) '
            "SELECT name, ?, count(*), avg(value), min(value), max(value) FROM metrics "
            'WHERE name = ? AND "update" BETWEEN ? AND ? GROUP BY name',
            (last, *span),
        )
        run('DELETE FROM metrics WHERE name = ? AND "update" BETWEEN ? AND ?', span)
    run('INSERT INTO buckets ("update", level) VALUES (?, 0)', (last,))


def _merge_levels(run: Run, versions: Collection[int], per_level: int) -> None:
    counts = run("SELECT level, count(*) FROM buckets GROUP BY level ORDER BY level").all()
    carried = 0
    for level, count in counts:
        carried = _merge_level(run, level, count + carried - per_level, versions)


def _merge_level(run: Run, level: int, surplus: int, versions: Collection[int]) -> int:
    """Merge the oldest pairs of a level while it has too many; how many buckets the next level got."""
    made = 0
    while surplus > 0:
        (first,), (last,) = run(
            'SELECT "update" FROM buckets WHERE level = ? ORDER BY "update" LIMIT 2', (level,)
        ).all()
        for name in _names(run):
            pair = (name, first, last)
            run(
                'REPLACE INTO spreads (name, "update", number, mean, low, high) '
                "SELECT name, ?, sum(number), sum(number * mean) / sum(number), min(low), max(high) "
                'FROM spreads WHERE name = ? AND "update" IN (?, ?) GROUP BY name',
                (last, *pair),
            )
            run('DELETE FROM spreads WHERE name = ? AND "update" = ?', (name, first))
        run('DELETE FROM buckets WHERE "update" = ?', (first,))
        run('UPDATE buckets SET level = ? WHERE "update" = ?', (level + 1, last))
        _forget_rows(run, first, last, versions)
        surplus -= 2
        made += 1
    return made


def _forget_rows(run: Run, first: int, last: int, versions: Collection[int]) -> None:
    """All updates of a bucket but its last, which names it, lose their rows; those of `versions` do not."""
    rows = run(
        'SELECT "update", policy_version FROM updates WHERE "update" >= ? AND "update" < ?', (first, last)
    ).all()
    old = [(update,) for update, version in rows if version not in versions]
    if old:
        run('DELETE FROM updates WHERE "update" = ?', old)


def _names(run: Run) -> Iterator[str]:
    """Every metric's name; each by one look into the index, for reading all rows would take long."""
    name = ""
    while True:
        found = [
            following
            for table in ("metrics", "spreads")
            if (following := run(f"SELECT min(name) FROM {table} WHERE name > ?", (name,)).scalar())
            is not None
        ]
        if not found:
            return
        name = min(found)
        yield name
