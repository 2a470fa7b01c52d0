"""Keeps a run's metrics of bounded size: merges old updates into buckets with count, mean and extremes.

The newest `WHOLE_UPDATES` stay as they are. Every `WIDTH` older ones become one bucket of level 0. Where a
level has more than `PER_LEVEL` buckets, its two oldest become one of the next level. So a chart has at least
`PER_LEVEL` buckets for each doubling of age, no spike is lost, and a million updates take about
`WHOLE_UPDATES + 8 * PER_LEVEL` rows a metric.
"""

import sqlite3
from collections.abc import Collection

WHOLE_UPDATES = 8192
WIDTH = 16
"""Number of updates in a bucket of level 0."""
PER_LEVEL = 1024
WHOLE_EVENTS = 2000
"""Twice the number of events that a page gets when it reconnects."""
FOLDS = 8
"""Maximum number of new buckets per call: an announcement may wait for this thread."""
# One look into the index per name: reading all rows would take long.
_NAMES = """
WITH RECURSIVE names (name) AS (
  SELECT min(name) FROM points
  UNION ALL
  SELECT (SELECT min(points.name) FROM points WHERE points.name > names.name) FROM names WHERE name NOTNULL
)
SELECT name FROM names WHERE name NOTNULL
"""
LOW, HIGH = "min(coalesce(low, mean))", "max(coalesce(high, mean))"
"""Extremes of several points: a point of one update has its mean alone."""
_MERGE = f"""
REPLACE INTO points SELECT name, :last, sum(count), sum(count * mean) / sum(count), {LOW}, {HIGH}
FROM points WHERE name = :name AND "update" BETWEEN :first AND :last GROUP BY name
"""


def metric_names(connection: sqlite3.Connection) -> list[str]:
    """All metric names of a metrics store, sorted."""
    return [name for (name,) in connection.execute(_NAMES)]


def thin(
    connection: sqlite3.Connection,
    versions: Collection[int],
    *,
    whole: int = WHOLE_UPDATES,
    width: int = WIDTH,
    per_level: int = PER_LEVEL,
) -> None:
    """Merge some old updates, within the caller's transaction.

    Args:
        connection: to a metrics store.
        versions: versions with a checkpoint, whose rows stay (rule D1).
        whole, width, per_level: as the constants; tests give smaller ones.
    """
    newest = _number(connection, 'SELECT max("update") FROM updates')
    for _ in range(FOLDS):
        after = _number(connection, 'SELECT max("update") FROM buckets')
        found = connection.execute(
            'SELECT "update" FROM updates WHERE "update" > ? AND "update" <= ? ORDER BY "update" LIMIT ?',
            (after, newest - whole, width),
        ).fetchall()
        if len(found) < width:
            break
        _merge(connection, found[0][0], found[-1][0], 0, versions)
    _merge_levels(connection, versions, per_level)
    last_event = _number(connection, "SELECT max(id) FROM events")
    connection.execute("DELETE FROM events WHERE id <= ?", (last_event - WHOLE_EVENTS,))


def _merge_levels(connection: sqlite3.Connection, versions: Collection[int], per_level: int) -> None:
    """Merge the two oldest buckets of each level while it has too many."""
    levels = connection.execute(
        "SELECT level, count(*) FROM buckets GROUP BY level ORDER BY level"
    ).fetchall()
    merged = 0
    for level, count in levels:
        surplus = count + merged - per_level
        merged = max(0, (surplus + 1) // 2)
        for _ in range(merged):
            (first,), (last,) = connection.execute(
                'SELECT "update" FROM buckets WHERE level = ? ORDER BY "update" LIMIT 2', (level,)
            )
            _merge(connection, first, last, level + 1, versions)


def _merge(
    connection: sqlite3.Connection, first: int, last: int, level: int, versions: Collection[int]
) -> None:
    """Make one bucket of updates `first` to `last`, named by the last; rows of `versions` stay."""
    names, span = metric_names(connection), (first, last)
    connection.executemany(_MERGE, [{"name": name, "first": first, "last": last} for name in names])
    old = 'DELETE FROM points WHERE name = ? AND "update" >= ? AND "update" < ?'
    connection.executemany(old, [(name, *span) for name in names])
    connection.execute('DELETE FROM buckets WHERE "update" >= ? AND "update" < ?', span)
    connection.execute("REPLACE INTO buckets VALUES (?, ?)", (last, level))
    rows = connection.execute(
        'SELECT "update", policy_version FROM updates WHERE "update" >= ? AND "update" < ?', span
    ).fetchall()
    gone = [(update,) for update, version in rows if version not in versions]
    connection.executemany('DELETE FROM updates WHERE "update" = ?', gone)


def _number(connection: sqlite3.Connection, query: str) -> int:
    return connection.execute(query).fetchone()[0] or 0
