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
    (directory.export / "policy.onnx").write_bytes(b"of version 3")
    with pytest.raises(ConfigurationError):
        roll_back("a", 1, tmp_path)
    directory.close()
    assert roll_back("latest", 1, tmp_path) == ("a", 1)
    assert directory.versions() == [0, 1]
    # What is on the dashboard's button, and would be shipped, is not of a version that was set aside.
    assert not list(directory.export.iterdir())
    (kept,) = directory.path.glob("export.broken-*")
    assert (kept / "policy.onnx").read_bytes() == b"of version 3"
    assert roll_back("a", 0, tmp_path) == ("a", 0)
