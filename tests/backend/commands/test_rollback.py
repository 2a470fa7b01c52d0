"""A run back at an earlier version."""

from pathlib import Path

import pytest

from attract.commands.rollback import roll_back
from attract.errors import ConfigurationError
from attract.runs.directory import RunDirectory


def test_C10_a_run_goes_back_and_is_free_again_afterwards(tmp_path: Path) -> None:
    directory = RunDirectory.create(tmp_path, "a")
    directory.write_config("cartpole", {})
    for version in range(4):
        (directory.checkpoints / str(version)).mkdir()
    directory.mark("latest", 3)
    with pytest.raises(ConfigurationError):
        roll_back("a", 1, tmp_path)
    directory.close()
    assert roll_back("latest", 1, tmp_path) == ("a", 1)
    assert directory.versions() == [0, 1]
    assert roll_back("a", 0, tmp_path) == ("a", 0)
