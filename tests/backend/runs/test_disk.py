import errno
import sqlite3
from pathlib import Path

import pytest

from attract.runs.disk import refusal


def test_a_full_disk_is_told_from_other_errors():
    with Path("/dev/full").open("wb", buffering=0) as full, pytest.raises(OSError) as caught:
        full.write(b"x")
    assert refusal(caught.value) == "No space left on device"
    assert refusal(OSError(errno.EIO, "Input/output error")) == "Input/output error"
    assert refusal(FileNotFoundError(errno.ENOENT, "No such file or directory")) is None
    assert refusal(ValueError("no space left on device")) is None


def test_sqlite_says_it_through_its_own_error(tmp_path: Path):
    connection = sqlite3.connect(tmp_path / "a.db")
    connection.execute("PRAGMA max_page_count=2")
    connection.execute("CREATE TABLE t (x)")
    with pytest.raises(sqlite3.OperationalError) as caught:
        connection.execute("INSERT INTO t VALUES (zeroblob(100000))")
    with pytest.raises(sqlite3.OperationalError) as other:
        connection.execute("INSERT INTO nowhere VALUES (1)")
    connection.close()
    assert "full" in str(refusal(caught.value))
    assert refusal(other.value) is None
