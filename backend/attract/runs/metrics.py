"""The metrics store: one transaction per update in SQLite, and the queries that read it."""

import bisect
import contextlib
import itertools
import json
import math
import sqlite3
import threading
from collections.abc import Collection, Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attract.errors import FileError
from attract.files import can_write, parse_json
from attract.runs.disk import READ_SECONDS, limit_time, open_database
from attract.runs.thinning import HIGH, LOW, metric_names, thin
from attract.schema.metrics import ClockStart, MetricSeries, MetricsView

SCHEMA = (
    'CREATE TABLE IF NOT EXISTS updates ("update" INTEGER PRIMARY KEY, agent_steps INTEGER NOT NULL, '
    "collected_steps INTEGER NOT NULL, seconds REAL NOT NULL, policy_version INTEGER NOT NULL, "
    "checkpoint TEXT NOT NULL, weights_sha256 TEXT NOT NULL)",
    # A point of one update has count 1 and no `low` and `high`, which would repeat its mean;
    # `attract.runs.thinning` merges old points.
    'CREATE TABLE IF NOT EXISTS points (name TEXT, "update" INTEGER, count INTEGER NOT NULL, '
    'mean REAL NOT NULL, low REAL, high REAL, PRIMARY KEY (name, "update")) WITHOUT ROWID',
    # Merged updates, each by the number of its last.
    'CREATE TABLE IF NOT EXISTS buckets ("update" INTEGER PRIMARY KEY, level INTEGER NOT NULL)',
    "CREATE TABLE IF NOT EXISTS events "
    "(id INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, data TEXT NOT NULL)",
    # Current values, such as the run's view.
    "CREATE TABLE IF NOT EXISTS facts (key TEXT PRIMARY KEY, data TEXT NOT NULL)",
)
TABLES = ("updates", "points", "buckets", "events", "facts")
_INSERT_POINT = "INSERT INTO points VALUES (?, ?, 1, ?, NULL, NULL)"
_MERGE_POINT = (
    ' ON CONFLICT (name, "update") DO UPDATE SET '
    "mean = iif(count = 1, excluded.mean, (count * mean + excluded.mean) / (count + 1)), "
    "low = iif(count = 1, NULL, min(low, excluded.mean)), "
    "high = iif(count = 1, NULL, max(high, excluded.mean)), count = count + (count > 1)"
)
"""Replaces the point of one update, joins the point of a bucket."""
_RANGE = (
    'SELECT min("update"), max("update"), max(agent_steps) FROM updates '
    "WHERE agent_steps BETWEEN :from_steps AND :to_steps"
)
_WHOLE_RANGE = 'SELECT (SELECT min("update") FROM updates), (SELECT max("update") FROM updates)'
_BUCKET = '("update" - :first) * :most / :span'
_AXIS = (
    f'SELECT {_BUCKET} AS bucket, avg(agent_steps), avg(seconds), avg("update"), max("update") FROM updates '
    "WHERE agent_steps BETWEEN :from_steps AND :to_steps GROUP BY bucket"
)
_SERIES = (
    f"SELECT {_BUCKET} AS bucket, sum(count), sum(count * mean) / sum(count), {LOW}, {HIGH} "
    'FROM points WHERE name = :name AND "update" BETWEEN :first AND :last GROUP BY bucket ORDER BY bucket'
)
_LAST_VALUE = 'SELECT mean FROM points WHERE name = ? ORDER BY "update" DESC LIMIT 1'
_EPISODES = 'SELECT "update", count * mean FROM points WHERE name = ? ORDER BY "update"'
EPISODES = "rollout/episodes"
CLOCK = "clock"
"""The fact that has `MetricsView.clock`."""
_VERSION_ROWS = (
    'SELECT "update", agent_steps, seconds, policy_version, '
    '(SELECT min(buckets."update") FROM buckets WHERE buckets."update" >= updates."update") '
    "FROM updates WHERE policy_version IN (SELECT value FROM json_each(?)) ORDER BY policy_version"
)
_VERSION_POINTS = (
    'SELECT name, mean FROM points WHERE "update" = ? AND name IN (SELECT value FROM json_each(?))'
)
BUSY_SECONDS = 5.0
MAX_VALUE_BYTES = 64 << 20
"""Size limit of one value in the database."""
_DAMAGED = (
    "SQLITE_CANTOPEN",
    "SQLITE_CONSTRAINT_NOTNULL",
    "SQLITE_CORRUPT",
    "SQLITE_ERROR",
    "SQLITE_FORMAT",
    "SQLITE_MISMATCH",
    "SQLITE_NOTADB",
    "SQLITE_TOOBIG",
)
"""SQLite's errors for a file that is no database of this form; a full disk and a lock are no damage."""


@dataclass(frozen=True)
class UpdateRow:
    """One committed update: the row that makes a version announceable (rule D1)."""

    update: int
    agent_steps: int
    collected_steps: int
    seconds: float
    policy_version: int
    checkpoint: str
    weights_sha256: str
    values: dict[str, float]
    """Metric name to value; a value that is not finite is left out."""


@dataclass(frozen=True)
class VersionRow:
    """What the store has of the update that made a version."""

    update: int
    agent_steps: int
    seconds: float
    policy_version: int
    values: dict[str, float]
    is_merged: bool
    """The values are means of several updates, among them this one."""


@dataclass(frozen=True)
class Event:
    """One server-sent event; `data` is JSON text."""

    id: int
    kind: str
    data: str


class MetricsStore:
    """One run's `metrics.db`. Written by the gateway alone; each thread gets a connection of its own."""

    def __init__(self, path: Path) -> None:
        """Open `path`, creating it when missing.

        Raises: FileError: here and in every method, when it is no database of this form.
        """
        self._path = path
        self._connections: list[sqlite3.Connection] = []
        self._local = threading.local()
        with self._connected():
            pass

    def close(self) -> None:
        """Close the connections of all threads; may be called again."""
        connections, self._connections, self._local = self._connections, [], threading.local()
        for connection in connections:
            connection.close()

    @contextlib.contextmanager
    def _connected(self) -> Generator[sqlite3.Connection]:
        """The thread's connection. Raises: FileError: for a damaged or read-only database."""
        try:
            if not hasattr(self._local, "connection"):
                self._local.connection = _connect(self._path)
                self._connections.append(self._local.connection)
            limit_time(self._local.connection)
            yield self._local.connection
        except sqlite3.DatabaseError as error:
            name = _error_name(error)
            if name == "SQLITE_INTERRUPT":
                raise FileError(self._path, f"takes longer than {READ_SECONDS:g} s to read") from None
            if name.startswith(_DAMAGED):
                raise FileError(self._path, f"is no database of a run's metrics: {error}") from None
            if name.startswith("SQLITE_READONLY"):
                raise FileError(self._path, f"cannot be opened: {error}") from None
            raise

    @contextlib.contextmanager
    def _transaction(self) -> Generator[sqlite3.Connection]:
        """Commit what the block writes, or none of it when it raises."""
        with self._connected() as connection, connection:
            limit_time(connection, None)
            connection.execute("BEGIN IMMEDIATE")
            yield connection

    def _rows(self, query: str, parameters: Sequence[Any] | Mapping[str, Any] = ()) -> list[Any]:
        with self._connected() as connection:
            return connection.execute(query, parameters).fetchall()

    def commit_update(
        self, row: UpdateRow, facts: dict[str, Any], events: Sequence[tuple[str, str]] = ()
    ) -> list[Event]:
        """Write one update's row, metrics, facts and events (kind, JSON text) in one transaction."""
        with self._transaction() as connection:
            connection.execute(
                "INSERT INTO updates VALUES (:update, :agent_steps, :collected_steps, :seconds, "
                ":policy_version, :checkpoint, :weights_sha256)",
                vars(row),
            )
            connection.executemany(_INSERT_POINT, _fresh_points(row.update, row.values))
            for key, data in facts.items():
                _put_fact(connection, key, data)
            return [_add_event(connection, kind, data) for kind, data in events]

    def clock_with(self, seconds: float, unix_seconds: float) -> list[dict[str, float]]:
        """`MetricsView.clock` as the fact `CLOCK` keeps it, with the start of another session."""
        return [*(self.fact(CLOCK) or []), {"seconds": seconds, "unix_seconds": unix_seconds}]

    def thin(self, versions: Collection[int]) -> None:
        """Merge old updates, as `thinning.thin`; rows of `versions` stay."""
        with self._transaction() as connection:
            thin(connection, versions)

    def add_metrics(self, update: int, values: dict[str, float]) -> None:
        """Add (or replace) metrics of an update that is already there; an evaluation's, for instance.

        When the update has been merged into a bucket, its metrics join the bucket.
        """
        with self._transaction() as connection:
            query = 'SELECT min("update") FROM updates WHERE "update" >= ?'
            at = connection.execute(query, (update,)).fetchone()[0] or update
            connection.executemany(_INSERT_POINT + _MERGE_POINT, _fresh_points(at, values))

    def put_fact(self, key: str, data: Any) -> None:
        """Keep `data` (plain JSON) under `key`, replacing what was there."""
        with self._transaction() as connection:
            _put_fact(connection, key, data)

    def fact(self, key: str) -> Any:
        """What `put_fact` kept, or None."""
        for (text,) in self._rows("SELECT data FROM facts WHERE key = ?", (key,)):
            return parse_json(str(text), self._path)
        return None

    def add_event(self, kind: str, data: str) -> Event:
        """Append an event; its id is larger than every earlier one's."""
        with self._transaction() as connection:
            return _add_event(connection, kind, data)

    def events_after(self, event_id: int, *, limit: int = 1000) -> list[Event]:
        """Events with a larger id, oldest first, at most the newest `limit`."""
        query = "SELECT id, kind, data FROM events WHERE id > ? ORDER BY id DESC LIMIT ?"
        return [Event(*row) for row in reversed(self._rows(query, (event_id, limit)))]

    def last_event_id(self) -> int:
        """Id of the newest event; 0 when there is none."""
        return self._rows("SELECT max(id) FROM events")[0][0] or 0

    def last_update(self) -> int:
        """Number of the newest committed update; 0 when there is none."""
        return self._rows('SELECT max("update") FROM updates')[0][0] or 0

    def last_version(self) -> int | None:
        """Newest policy version with a row; None when there is none."""
        return self._rows("SELECT max(policy_version) FROM updates")[0][0]

    def last_seconds(self) -> float:
        """Run time of the newest committed update, in seconds; 0.0 when there is none."""
        return self._rows("SELECT max(seconds) FROM updates")[0][0] or 0.0

    def rewind(self, update: int) -> None:
        """Forget all updates after `update`: a resumed run does them anew."""
        with self._transaction() as connection:
            for table in ("updates", "points", "buckets"):
                connection.execute(f'DELETE FROM {table} WHERE "update" > ?', (update,))

    def rows(self) -> list[tuple[int, int, dict[str, float]]]:
        """Update, agent steps and metrics of every row that has any, in order; buckets have means."""
        query = (
            'SELECT "update", agent_steps, name, mean FROM points JOIN updates USING ("update") '
            'ORDER BY "update"'
        )
        found: dict[int, tuple[int, int, dict[str, float]]] = {}
        with self._connected() as connection:
            for update, agent_steps, name, mean in connection.execute(query):
                found.setdefault(update, (update, agent_steps, {}))[2][name] = mean
        return list(found.values())

    def table(self) -> list[dict[str, float]]:
        """`update`, `agent_steps`, `seconds`, `policy_version` and each metric, of every update in order."""
        columns = ("update", "agent_steps", "seconds", "policy_version")
        metrics = {update: values for update, _, values in self.rows()}
        rows = self._rows('SELECT "update", agent_steps, seconds, policy_version FROM updates ORDER BY 1')
        return [{**dict(zip(columns, row, strict=True)), **metrics.get(row[0], {})} for row in rows]

    def of_versions(self, versions: Sequence[int], names: Sequence[str]) -> list[VersionRow]:
        """The rows of those of these versions that have one, ascending, with their metrics of these names."""
        found: list[VersionRow] = []
        rows = self._rows(_VERSION_ROWS, (json.dumps(list(versions)),))
        for update, agent_steps, seconds, version, bucket in rows:
            at = update if bucket is None else bucket
            points = self._rows(_VERSION_POINTS, (at, json.dumps(list(names))))
            found.append(VersionRow(update, agent_steps, seconds, version, dict(points), bucket is not None))
        return found

    def names(self) -> list[str]:
        """All metric names, sorted."""
        with self._connected() as connection:
            return metric_names(connection)

    def last_values(self, most: int) -> dict[str, float]:
        """The last value of each metric, by name; of the first `most` metrics."""
        with self._connected() as connection:
            # Each is one look into the table's own order: a thousand runs are read in seconds.
            last = [
                (name, *connection.execute(_LAST_VALUE, (name,)).fetchone())
                for name in metric_names(connection)[:most]
            ]
        return {name: _short(value) for name, value in last if isinstance(value, float)}

    def query(
        self,
        run_id: str,
        names: Sequence[str] | None = None,
        *,
        from_steps: float | None = None,
        to_steps: float | None = None,
        max_points: int = 500,
    ) -> MetricsView:
        """Series over [from_steps, to_steps] of agent steps, at most `max_points` (>= 1) each, on one axis.

        Updates are put into buckets of equal count. Each point is its bucket's mean; `low` and `high` are its
        extremes, so that no spike is lost. Unknown names give empty series.
        """
        known = self.names()
        wanted = known if names is None else list(dict.fromkeys(names))
        span: dict[str, Any] = {
            "from_steps": -math.inf if from_steps is None else from_steps,
            "to_steps": math.inf if to_steps is None else to_steps,
        }
        ((first, last, last_steps),) = self._rows(_RANGE, span)
        if first is None:
            first, last = 0, -1
        num_updates = max(last - first + 1, 1)
        span |= {"first": first, "last": last, "span": num_updates, "most": min(max_points, num_updates)}
        axis = {bucket: place for bucket, *place in self._rows(_AXIS, span)}
        # By name, so that SQLite reads each in the order it lies in: half the time of one query for all.
        found = [(name, self._rows(_SERIES, {**span, "name": name})) for name in wanted]
        # A bucket is on the axis when any series has a value in it.
        used = sorted({point[0] for _, points in found for point in points})
        place = {bucket: index for index, bucket in enumerate(used)}
        ended = self._episodes_by([int(axis[bucket][3]) for bucket in used])
        return MetricsView(
            run_id=run_id,
            names=known,
            last_steps=last_steps,
            agent_steps=[axis[bucket][0] for bucket in used],
            seconds=[axis[bucket][1] for bucket in used],
            updates=[axis[bucket][2] for bucket in used],
            episodes=ended,
            clock=[ClockStart.model_validate(start) for start in self.fact(CLOCK) or []],
            series=[_series(name, points, place) for name, points in found],
        )

    def curve(self, name: str, max_points: int) -> MetricSeries:
        """One series over the whole run, as `query` has it, without its axis: a tenth of the time."""
        ((first, last),) = self._rows(_WHOLE_RANGE)
        if first is None:
            return _series(name, [], {})
        num_updates = last - first + 1
        most = min(max_points, num_updates)
        span = {"name": name, "first": first, "last": last, "span": num_updates, "most": most}
        points = self._rows(_SERIES, span)
        return _series(name, points, {point[0]: place for place, point in enumerate(points)})

    def _episodes_by(self, updates: Sequence[int]) -> list[float]:
        """Episodes that had ended by each of these updates, which ascend."""
        rows = self._rows(_EPISODES, (EPISODES,))
        ended, counts = [0.0, *itertools.accumulate(count for _, count in rows)], [at for at, _ in rows]
        return [ended[bisect.bisect_right(counts, update)] for update in updates]


def _series(name: str, points: Sequence[Any], place: Mapping[int, int]) -> MetricSeries:
    at = [place[bucket] for bucket, *_ in points]
    thinned = any(count > 1 for _, count, *_ in points)
    return MetricSeries(
        name=name,
        at=None if len(at) == len(place) else at,
        values=[_short(mean) if thinned else float(mean) for _, _, mean, _, _ in points],
        low=[_short(low) for *_, low, _ in points] if thinned else None,
        high=[_short(high) for *_, high in points] if thinned else None,
    )


def _short(value: float) -> float:
    """The digits that a chart can show: the other ten would be most of the answer's bytes."""
    return float(f"{value:.6g}")


def _fresh_points(update: int, values: Mapping[str, float]) -> list[tuple[Any, ...]]:
    return [(name, update, value) for name, value in values.items() if math.isfinite(value)]


def _add_event(connection: sqlite3.Connection, kind: str, data: str) -> Event:
    key = connection.execute("INSERT INTO events (kind, data) VALUES (?, ?)", (kind, data)).lastrowid
    if key is None:
        raise RuntimeError("SQLite gave no event id")
    return Event(key, kind, data)


def _put_fact(connection: sqlite3.Connection, key: str, data: Any) -> None:
    connection.execute("REPLACE INTO facts VALUES (?, ?)", (key, json.dumps(data)))


def _connect(path: Path) -> sqlite3.Connection:
    # A database with a log beside it is read where that log can be created, or as one that nothing changes.
    is_writable = can_write(path.parent)
    if not is_writable and _has_open_log(path):
        raise FileError(
            path, "was not closed and its folder is read-only: copy the run's folder to one that is not"
        )
    name = str(path) if is_writable else f"{path.absolute().as_uri()}?mode=ro&immutable=1"
    connection = open_database(name, TABLES, BUSY_SECONDS, MAX_VALUE_BYTES, is_uri=not is_writable)
    try:
        if is_writable:
            connection.execute("PRAGMA journal_mode=WAL")
        # A commit survives the death of the process (D1) without an fsync that would delay the announcement.
        connection.execute("PRAGMA synchronous=NORMAL")
        # KiB per connection; the system caches the rest, and a server's memory does not grow with its runs.
        connection.execute("PRAGMA cache_size=-64")
        _create_tables(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _has_open_log(path: Path) -> bool:
    try:
        return path.with_name(path.name + "-wal").stat().st_size > 0
    except OSError:
        return False


def _create_tables(connection: sqlite3.Connection) -> None:
    """Create the tables, unless they are there."""
    if "points" in _tables(connection):
        return
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        for statement in SCHEMA:
            connection.execute(statement)


def _tables(connection: sqlite3.Connection) -> set[str]:
    return {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def _error_name(error: sqlite3.Error) -> str:
    # Errors of Python's module have no name, for instance that of text that is no UTF-8.
    return getattr(error, "sqlite_errorname", "SQLITE_ERROR")
