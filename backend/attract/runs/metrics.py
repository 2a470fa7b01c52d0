"""The metrics store: one transaction per update in SQLite, and what the dashboard asks of it."""

import json
import sqlite3
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import (
    Column,
    Connection,
    Float,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    bindparam,
    create_engine,
    delete,
    event,
    func,
    insert,
    literal,
    literal_column,
    select,
    union,
    union_all,
)
from sqlalchemy.dialects.sqlite import insert as upsert
from sqlalchemy.engine import ExceptionContext

from attract.errors import FileError
from attract.files import parse_json
from attract.runs.thinning import thin
from attract.schema.api import MetricSeries, MetricsView

SCHEMA = MetaData()
UPDATES = Table(
    "updates",
    SCHEMA,
    Column("update", Integer, primary_key=True),
    Column("agent_steps", Integer, nullable=False),
    Column("collected_steps", Integer, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("policy_version", Integer, nullable=False),
    Column("checkpoint", String, nullable=False),
    Column("weights_sha256", String, nullable=False),
)
METRICS = Table(
    "metrics",
    SCHEMA,
    Column("name", String, primary_key=True),
    Column("update", Integer, primary_key=True),
    Column("value", Float, nullable=False),
    sqlite_with_rowid=False,
)
BUCKETS = Table(
    "buckets",
    SCHEMA,
    Column("update", Integer, primary_key=True),
    Column("level", Integer, nullable=False),
)
"""Old updates, several in one, called by the last of them: see `attract.runs.thinning`."""
SPREADS = Table(
    "spreads",
    SCHEMA,
    Column("name", String, primary_key=True),
    Column("update", Integer, primary_key=True),
    Column("number", Integer, nullable=False),
    Column("mean", Float, nullable=False),
    Column("low", Float, nullable=False),
    Column("high", Float, nullable=False),
    sqlite_with_rowid=False,
)
"""What a bucket keeps of each metric."""
EVENTS = Table(
    "events",
    SCHEMA,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("kind", String, nullable=False),
    Column("data", Text, nullable=False),
    sqlite_autoincrement=True,
)
FACTS = Table(
    "facts",
    SCHEMA,
    Column("key", String, primary_key=True),
    Column("data", Text, nullable=False),
)
"""Small things kept as they now stand: the run's view, its counters."""

# Made once: an update's row stands in the way of its version's announcement, and making a statement takes
# longer than SQLite needs for it.
_INSERT_UPDATE, _INSERT_METRICS, _INSERT_EVENT = insert(UPDATES), insert(METRICS), insert(EVENTS)
_NEW_FACT = upsert(FACTS)
MAX_VALUE_BYTES = 64 << 20
"""Of a text in the database."""
_DAMAGED = (
    "SQLITE_CANTOPEN",
    "SQLITE_CORRUPT",
    "SQLITE_ERROR",
    "SQLITE_FORMAT",
    "SQLITE_MISMATCH",
    "SQLITE_NOTADB",
    "SQLITE_TOOBIG",
)
"""What SQLite says of a file that is no database of this form; a full disk and a lock are no damage."""
_PUT_FACT = _NEW_FACT.on_conflict_do_update(set_={"data": _NEW_FACT.excluded.data})


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
        self._engine = create_engine(f"sqlite:///{path}")
        event.listen(self._engine, "connect", self._configure)
        event.listen(self._engine, "handle_error", self._name_damage)
        SCHEMA.create_all(self._engine)

    def close(self) -> None:
        """Close the database; may be called again."""
        self._engine.dispose()

    def _configure(self, connection: Any, _record: Any) -> None:
        try:
            _configure(connection)
        except sqlite3.Error as error:
            if (named := self._damage(error)) is not None:
                raise named from None
            raise

    def _name_damage(self, context: ExceptionContext) -> None:
        if (named := self._damage(context.original_exception)) is not None:
            raise named from None

    def _damage(self, error: BaseException) -> FileError | None:
        name = getattr(error, "sqlite_errorname", None)
        # Of two kinds Python's module itself makes the error, which then has no name.
        if isinstance(error, sqlite3.DatabaseError) and (name or "SQLITE_ERROR").startswith(_DAMAGED):
            return FileError(self._path, f"is no database of a run's metrics: {error}")
        return None

    def commit_update(
        self, row: UpdateRow, facts: dict[str, Any], events: Sequence[tuple[str, str]] = ()
    ) -> list[Event]:
        """Write one update's row, metrics, facts and events (kind, JSON text) in one transaction."""
        with self._engine.begin() as connection:
            connection.execute(
                _INSERT_UPDATE,
                {
                    "update": row.update,
                    "agent_steps": row.agent_steps,
                    "collected_steps": row.collected_steps,
                    "seconds": row.seconds,
                    "policy_version": row.policy_version,
                    "checkpoint": row.checkpoint,
                    "weights_sha256": row.weights_sha256,
                },
            )
            values = [
                {"name": name, "update": row.update, "value": value}
                for name, value in row.values.items()
                if value - value == 0
            ]
            if values:
                connection.execute(_INSERT_METRICS, values)
            for key, data in facts.items():
                _put_fact(connection, key, data)
            return [_add_event(connection, kind, data) for kind, data in events]

    def thin(self, versions: Collection[int]) -> None:
        """Make what has grown old smaller, as `thinning.thin`; rows of `versions` stay."""
        with self._engine.begin() as connection:
            thin(connection, versions)

    def add_metrics(self, update: int, values: dict[str, float]) -> None:
        """Add (or replace) metrics of an update that is already there; an evaluation's, for instance.

        Those of one that has gone into a bucket since stand at the bucket.
        """
        query = select(func.min(UPDATES.c.update)).where(UPDATES.c.update >= update)
        with self._engine.connect() as connection:
            update = connection.execute(query).scalar() or update
        finite = [
            {"name": name, "update": update, "value": value}
            for name, value in values.items()
            if value - value == 0
        ]
        if not finite:
            return
        statement = upsert(METRICS).values(finite)
        with self._engine.begin() as connection:
            connection.execute(statement.on_conflict_do_update(set_={"value": statement.excluded.value}))

    def put_fact(self, key: str, data: Any) -> None:
        """Keep `data` (plain JSON) under `key`, replacing what was there."""
        with self._engine.begin() as connection:
            _put_fact(connection, key, data)

    def fact(self, key: str) -> Any:
        """What `put_fact` kept, or None."""
        with self._engine.connect() as connection:
            text = connection.execute(select(FACTS.c.data).where(FACTS.c.key == key)).scalar()
        return None if text is None else parse_json(str(text), self._path)

    def add_event(self, kind: str, data: str) -> Event:
        """Append an event; its id is larger than every earlier one's."""
        with self._engine.begin() as connection:
            return _add_event(connection, kind, data)

    def events_after(self, event_id: int, *, limit: int = 1000) -> list[Event]:
        """Events with a larger id, oldest first, at most the newest `limit`."""
        query = select(EVENTS).where(EVENTS.c.id > event_id).order_by(EVENTS.c.id.desc()).limit(limit)
        with self._engine.connect() as connection:
            rows = connection.execute(query).all()
        return [Event(row.id, row.kind, row.data) for row in reversed(rows)]

    def last_event_id(self) -> int:
        """Id of the newest event; 0 when there is none."""
        with self._engine.connect() as connection:
            return connection.execute(select(func.max(EVENTS.c.id))).scalar() or 0

    def last_update(self) -> int:
        """Number of the newest committed update; 0 when there is none."""
        with self._engine.connect() as connection:
            return connection.execute(select(func.max(UPDATES.c.update))).scalar() or 0

    def last_version(self) -> int | None:
        """Newest policy version with a row; None when there is none."""
        with self._engine.connect() as connection:
            return connection.execute(select(func.max(UPDATES.c.policy_version))).scalar()

    def last_seconds(self) -> float:
        """Run time of the newest committed update, in seconds; 0.0 when there is none."""
        with self._engine.connect() as connection:
            return connection.execute(select(func.max(UPDATES.c.seconds))).scalar() or 0.0

    def rewind(self, update: int) -> None:
        """Forget all updates after `update`: a resumed run does them anew."""
        with self._engine.begin() as connection:
            connection.execute(delete(METRICS).where(METRICS.c.update > update))
            connection.execute(delete(UPDATES).where(UPDATES.c.update > update))
            connection.execute(delete(SPREADS).where(SPREADS.c.update > update))
            connection.execute(delete(BUCKETS).where(BUCKETS.c.update > update))

    def rows(self) -> list[tuple[int, int, dict[str, float]]]:
        """Update, agent steps and metrics of every row that has any, in order; of a bucket its means."""
        whole = select(UPDATES.c.update, UPDATES.c.agent_steps, METRICS.c.name, METRICS.c.value).join(
            METRICS, UPDATES.c.update == METRICS.c.update
        )
        thinned = select(UPDATES.c.update, UPDATES.c.agent_steps, SPREADS.c.name, SPREADS.c.mean).join(
            SPREADS, UPDATES.c.update == SPREADS.c.update
        )
        query = union_all(thinned, whole).order_by(literal_column("1"))
        found: dict[int, tuple[int, int, dict[str, float]]] = {}
        with self._engine.connect() as connection:
            for update, agent_steps, name, value in connection.execute(query):
                found.setdefault(update, (update, agent_steps, {}))[2][name] = value
        return list(found.values())

    def table(self) -> list[dict[str, float]]:
        """`update`, `agent_steps`, `seconds`, `policy_version` and each metric, of every update in order."""
        metrics = {update: values for update, _, values in self.rows()}
        columns = (UPDATES.c.update, UPDATES.c.agent_steps, UPDATES.c.seconds, UPDATES.c.policy_version)
        with self._engine.connect() as connection:
            rows = connection.execute(select(*columns).order_by(UPDATES.c.update)).all()
        return [{**row._mapping, **metrics.get(row.update, {})} for row in rows]  # pyright: ignore[reportPrivateUsage]

    def names(self) -> list[str]:
        """All metric names, sorted."""
        with self._engine.connect() as connection:
            return list(connection.execute(union(select(METRICS.c.name), select(SPREADS.c.name))).scalars())

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
        query = select(UPDATES.c.update, UPDATES.c.agent_steps, UPDATES.c.seconds).order_by(UPDATES.c.update)
        if from_steps is not None:
            query = query.where(UPDATES.c.agent_steps >= from_steps)
        if to_steps is not None:
            query = query.where(UPDATES.c.agent_steps <= to_steps)
        with self._engine.connect() as connection:
            rows = connection.execute(query).all()
            buckets = _Buckets([row.update for row in rows], max_points)
            # By name, so that SQLite reads each in the order it lies in: half the time of one query for all.
            is_thinned = connection.execute(select(func.count()).select_from(BUCKETS)).scalar()
            points_of = _ALL_POINTS if is_thinned else _POINTS
            found = [(name, connection.execute(points_of, buckets.of(name)).all()) for name in wanted]
        # A bucket is on the axis when any series has a value in it.
        used = sorted({point.bucket for _, points in found for point in points})
        place = {bucket: index for index, bucket in enumerate(used)}
        return MetricsView(
            run_id=run_id,
            names=known,
            last_steps=rows[-1].agent_steps if rows else None,
            agent_steps=buckets.means([row.agent_steps for row in rows], used),
            seconds=buckets.means([row.seconds for row in rows], used),
            series=[_series(name, points, place) for name, points in found],
        )


class _Buckets:
    """`updates` (numbers, ascending) in at most `most` buckets of neighbours."""

    def __init__(self, updates: Sequence[int], most: int) -> None:
        self._first = updates[0] if updates else 0
        self._span = updates[-1] - self._first + 1 if updates else 1
        self._most = min(most, self._span)
        self._updates = updates

    def of(self, name: str) -> dict[str, Any]:
        """Parameters of `_POINTS`."""
        last = self._first + self._span - 1 if self._updates else -1
        return {"name": name, "first": self._first, "last": last, "most": self._most, "span": self._span}

    def means(self, values: Sequence[float], used: Sequence[int]) -> list[float]:
        """Mean of the values, one per update, in each bucket of `used`."""
        sums: dict[int, tuple[float, int]] = {}
        for update, value in zip(self._updates, values, strict=True):
            bucket = (update - self._first) * self._most // self._span
            total, count = sums.get(bucket, (0.0, 0))
            sums[bucket] = total + value, count + 1
        return [sums[bucket][0] / sums[bucket][1] for bucket in used]


_BUCKET = (METRICS.c.update - bindparam("first")) * bindparam("most") // bindparam("span")
_POINTS = (
    select(
        _BUCKET.label("bucket"),
        func.count().label("number"),
        func.avg(METRICS.c.value).label("mean"),
        func.min(METRICS.c.value).label("low"),
        func.max(METRICS.c.value).label("high"),
    )
    .where(METRICS.c.name == bindparam("name"))
    .where(METRICS.c.update.between(bindparam("first"), bindparam("last")))
    .group_by(literal_column("bucket"))
    .order_by(literal_column("bucket"))
)


_BOTH = union_all(
    select(
        _BUCKET.label("bucket"),
        literal(1).label("number"),
        METRICS.c.value.label("mean"),
        METRICS.c.value.label("low"),
        METRICS.c.value.label("high"),
    )
    .where(METRICS.c.name == bindparam("name"))
    .where(METRICS.c.update.between(bindparam("first"), bindparam("last"))),
    select(
        ((SPREADS.c.update - bindparam("first")) * bindparam("most") // bindparam("span")).label("bucket"),
        SPREADS.c.number,
        SPREADS.c.mean,
        SPREADS.c.low,
        SPREADS.c.high,
    )
    .where(SPREADS.c.name == bindparam("name"))
    .where(SPREADS.c.update.between(bindparam("first"), bindparam("last"))),
).subquery()
_ALL_POINTS = (
    select(
        _BOTH.c.bucket,
        func.sum(_BOTH.c.number).label("number"),
        (func.sum(_BOTH.c.number * _BOTH.c.mean) / func.sum(_BOTH.c.number)).label("mean"),
        func.min(_BOTH.c.low).label("low"),
        func.max(_BOTH.c.high).label("high"),
    )
    .group_by(_BOTH.c.bucket)
    .order_by(_BOTH.c.bucket)
)
"""As `_POINTS`, of a run that has grown old."""


def _series(name: str, points: Sequence[Any], place: Mapping[int, int]) -> MetricSeries:
    at = [place[point.bucket] for point in points]
    thinned = any(point.number > 1 for point in points)
    return MetricSeries(
        name=name,
        at=None if len(at) == len(place) else at,
        values=[_short(point.mean) if thinned else float(point.mean) for point in points],
        low=[_short(point.low) for point in points] if thinned else None,
        high=[_short(point.high) for point in points] if thinned else None,
    )


def _short(value: float) -> float:
    """What a chart can show of a thinned value: the other ten digits would be most of the answer."""
    return float(f"{value:.6g}")


def _add_event(connection: Connection, kind: str, data: str) -> Event:
    key = connection.execute(_INSERT_EVENT, {"kind": kind, "data": data}).inserted_primary_key
    if key is None:
        raise RuntimeError("SQLite gave no event id")
    return Event(int(key[0]), kind, data)


def _put_fact(connection: Connection, key: str, data: Any) -> None:
    connection.execute(_PUT_FACT, {"key": key, "data": json.dumps(data)})


def _configure(connection: sqlite3.Connection) -> None:
    # NORMAL: a commit survives the death of the process (D1) without an fsync in the announcement's way.
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA synchronous=NORMAL")
    cursor.execute("PRAGMA busy_timeout=5000")
    # KiB per connection; the system's own cache has the rest, and a long run's server does not grow.
    cursor.execute("PRAGMA cache_size=-64")
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES)
    # A view may compute for ever; a run's database has none.
    foreign = cursor.execute("SELECT name FROM sqlite_master WHERE type IN ('view', 'trigger')").fetchone()
    cursor.close()
    if foreign is not None:
        raise sqlite3.DatabaseError(f"has a view or trigger, {foreign[0]!r:.80}")
