"""The file of the index is a copy: whatever happens to it, the runs' folders are read again."""

import os
import sqlite3
from pathlib import Path

import pytest

from attract.run.index_file import INDEX, IndexFile

ROWS = {"a": ("1 2", "{}"), "b": ("3 4", '{"x": 1}')}


def test_rows_come_back_as_they_were_written_and_go_when_their_run_has(tmp_path: Path):
    file = IndexFile(tmp_path)
    assert file.read() == {}
    file.write(ROWS, [])
    file.write({"a": ("5 6", "{}")}, ["b", "never"])
    assert IndexFile(tmp_path).read() == {"a": ("5 6", "{}")}


def execute(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path)
    with connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()


DAMAGE = {
    "garbage": lambda path: path.write_bytes(b"garbage" * 1000),
    "cut": lambda path: path.write_bytes(path.read_bytes()[:5000]),
    "another version": lambda path: execute(path, "UPDATE form SET form = 'old'"),
    "a trigger": lambda path: execute(path, "CREATE TRIGGER t AFTER INSERT ON runs BEGIN SELECT 1; END"),
    "no table": lambda path: execute(path, "DROP TABLE runs"),
    "text that is no UTF-8": lambda path: execute(
        path, "INSERT INTO runs VALUES ('c', CAST(x'ff' AS TEXT), '')"
    ),
    "a link": lambda path: (path.rename(path.with_name("moved")), path.symlink_to(path.with_name("moved"))),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_hostile_a_file_that_cannot_be_used_is_made_anew(tmp_path: Path, kind: str):
    IndexFile(tmp_path).write(ROWS, [])
    DAMAGE[kind](tmp_path / INDEX)
    file = IndexFile(tmp_path)
    assert file.read() == {}
    file.write({"a": ("7 8", "{}")}, [])
    assert IndexFile(tmp_path).read() == {"a": ("7 8", "{}")}
    assert not (tmp_path / INDEX).is_symlink()


def test_a_folder_or_a_pipe_in_its_place_is_left_alone(tmp_path: Path):
    for name, make in (("folder", Path.mkdir), ("pipe", os.mkfifo)):
        runs_dir = tmp_path / name
        runs_dir.mkdir()
        make(runs_dir / INDEX)
        file = IndexFile(runs_dir)
        file.write(ROWS, [])
        assert file.read() == {}
        assert (runs_dir / INDEX).exists() and not (runs_dir / INDEX).is_file()


def test_a_lock_of_another_process_loses_no_row(tmp_path: Path):
    IndexFile(tmp_path).write(ROWS, [])
    other = sqlite3.connect(tmp_path / INDEX, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    file = IndexFile(tmp_path, busy_seconds=0.0)
    file.write({"c": ("9", "{}")}, [])
    assert file.read() == {}
    other.execute("ROLLBACK")
    other.close()
    assert IndexFile(tmp_path).read() == ROWS
