"""The `labels.json` of a run's folder: name, note, tags, star, archived."""

from pathlib import Path
from typing import Final

from attract.files import parse_json, parse_model, read_optional_file, write_atomically
from attract.runs.directory import RunDirectory
from attract.schema.run_list import RunLabels

LABELS: Final = "labels.json"
MAX_BYTES: Final = 64 << 10


def labels_path(folder: Path) -> Path:
    """The file of the run in `folder`."""
    return folder / LABELS


def read_labels(folder: Path) -> RunLabels:
    """The labels of the run in `folder`; those of a run without the file are empty.

    Raises: FileError: the file is damaged, too large, or a link out of the folder.
    """
    path = labels_path(folder)
    data = read_optional_file(path, MAX_BYTES, folder)
    return RunLabels() if data is None else parse_model(parse_json(data, path), RunLabels, path)


def write_labels(directory: RunDirectory, labels: RunLabels) -> None:
    """Replace the labels of a run, which another process may be writing."""
    write_atomically(labels_path(directory.path), labels.model_dump_json(indent=1).encode())
