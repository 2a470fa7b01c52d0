"""A database of a stranger's folder: what computes is refused, what takes long is interrupted."""

import contextlib
import sqlite3
import time
from pathlib import Path

import pytest

from attract.errors import FileError
from attract.runs.disk import limit_time, open_database
from attract.runs.metrics import MetricsStore

SLOW = "length(replace(hex(zeroblob(30000000 + x)), '0', '1'))"
FACTS = "CREATE TABLE facts (x INTEGER, data TEXT"


@pytest.mark.parametrize(
    "schema",
    [
        f"{FACTS}, key TEXT GENERATED ALWAYS AS (CASE WHEN {SLOW} > x THEN 'n' ELSE 'view' END) VIRTUAL)",
        f"{FACTS}, key TEXT/**/AS({SLOW}) STORED)",
        f"{FACTS}, key TEXT CHECK ({SLOW} > 1))",
        f"{FACTS}, key TEXT DEFAULT ({SLOW.replace('x', '1')}))",
        f"{FACTS}, key TEXT); CREATE INDEX i ON facts (x) WHERE length(data) > 1",
        f"{FACTS}, key TEXT); CREATE TRIGGER t AFTER INSERT ON facts BEGIN SELECT 1; END",
        "CREATE VIEW facts AS SELECT 1 AS key, 2 AS data",
        "CREATE VIRTUAL TABLE facts USING fts5(key, data)",
        "CREATE TABLE other (x)",
    ],
)
def test_hostile_what_computes_is_refused_before_it_does(tmp_path: Path, schema: str):
    path = tmp_path / "metrics.db"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript(schema)
    with pytest.raises(FileError, match=r"has a (table|index|trigger|view) of another form"):
        MetricsStore(path)


def test_hostile_a_reading_query_is_interrupted_and_a_commit_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    with contextlib.closing(MetricsStore(tmp_path / "metrics.db")) as store:
        store.put_fact("view", {})
        monkeypatch.setattr(
            "attract.runs.metrics.limit_time", lambda connection, seconds=0.0: limit_time(connection, seconds)
        )
        endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
        began = time.monotonic()
        with pytest.raises(FileError, match="takes longer than 10 s to read"):
            store._rows(endless)  # pyright: ignore[reportPrivateUsage]
        assert time.monotonic() - began < 5
        store.put_fact("view", {"n": 1})


def test_a_file_of_ours_is_opened_again(tmp_path: Path):
    for _ in range(2):
        with contextlib.closing(open_database(tmp_path / "a.db", ("runs",), 1.0)) as connection:
            connection.execute(
                "CREATE TABLE IF NOT EXISTS runs (id INTEGER PRIMARY KEY AUTOINCREMENT, b TEXT UNIQUE)"
            )
