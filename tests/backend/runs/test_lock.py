"""One process writes a run (rule D3)."""

import os
from pathlib import Path

import pytest

from attract.errors import ConfigurationError, FileError
from attract.runs.lock import LOCK, is_locked, lock_folder


def test_D3_a_folder_is_locked_once_until_the_lock_is_given_back(tmp_path: Path):
    assert not is_locked(tmp_path)
    lock = lock_folder(tmp_path)
    assert is_locked(tmp_path)
    with pytest.raises(ConfigurationError, match="another process"):
        lock_folder(tmp_path)
    os.close(lock)
    assert not is_locked(tmp_path)
    os.close(lock_folder(tmp_path))


def test_hostile_a_lock_file_that_is_a_link_is_refused(tmp_path: Path):
    (tmp_path / "outside").touch()
    (tmp_path / LOCK).symlink_to(tmp_path / "outside")
    with pytest.raises(FileError, match="cannot be opened"):
        lock_folder(tmp_path)
    assert not is_locked(tmp_path)
