"""The labels of a run are a small file in its folder."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from attract.errors import FileError
from attract.runs.directory import RunDirectory
from attract.runs.labels import LABELS, MAX_BYTES, labels_path, read_labels, write_labels
from attract.schema.run_list import RunLabels


@pytest.fixture
def directory(tmp_path: Path) -> RunDirectory:
    (tmp_path / "run").mkdir()
    return RunDirectory(tmp_path / "run", None)


def test_labels_come_back_and_a_run_without_the_file_has_none(directory: RunDirectory):
    assert read_labels(directory.path) == RunLabels()
    labels = RunLabels(name="Größer", note="a\nb", tags=["x", "y"], starred=True, archived=True)
    write_labels(directory, labels)
    assert read_labels(directory.path) == labels
    assert [path.name for path in directory.path.iterdir()] == [LABELS]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"{",
        b"\xff",
        b'{"name": 1}',
        b'{"tags": ["a b"]}',
        b'{"other": 1}',
        b" " * (MAX_BYTES + 1),
    ],
)
def test_hostile_a_damaged_file_is_named(directory: RunDirectory, data: bytes):
    labels_path(directory.path).write_bytes(data)
    with pytest.raises(FileError, match=LABELS):
        read_labels(directory.path)


def test_hostile_a_link_out_of_the_folder_is_not_followed(directory: RunDirectory, tmp_path: Path):
    (tmp_path / "outside.json").write_text('{"name": "secret"}')
    labels_path(directory.path).symlink_to(tmp_path / "outside.json")
    with pytest.raises(FileError, match="link"):
        read_labels(directory.path)
    write_labels(directory, RunLabels(name="own"))
    assert (tmp_path / "outside.json").read_text() == '{"name": "secret"}'


@pytest.mark.parametrize(
    "given",
    [{"name": "x" * 121}, {"name": "two\nlines"}, {"note": "x" * 4001}, {"tags": ["x"] * 21}, {"tags": [""]},
     {"tags": ["x" * 41]}, {"tags": ['a"b']}, {"tags": ["a,b"]}],
)  # fmt: skip
def test_labels_are_bounded(given: dict[str, object]):
    with pytest.raises(ValidationError):
        RunLabels.model_validate(given)
