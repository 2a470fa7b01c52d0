"""The trash of a runs folder: deleted and replaced runs, each under its id and the time of its removal."""

import os
import re
import secrets
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from attract.errors import ConfigurationError
from attract.runs.config_file import CONFIG
from attract.runs.disk import lock_folder

TRASH: Final = ".trash"
TRASH_ID: Final = re.compile(r"(?P<run_id>[A-Za-z0-9][A-Za-z0-9._-]{0,119})-\d{8}-\d{6}-[0-9a-f]{4}")


def move_to_trash(path: Path) -> Path:
    """Move the run in `path` to the trash beside it; its place there."""
    trash = path.parent / TRASH
    trash.mkdir(exist_ok=True)
    place = trash / f"{path.name}-{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
    return path.rename(place)


def delete_run(path: Path) -> str:
    """Move the run in folder `path` to the trash, from where `restore` brings it back; its name there.

    Raises: ConfigurationError: some process writes the run.
    """
    lock = lock_folder(path)
    try:
        return move_to_trash(path).name
    finally:
        os.close(lock)


def deleted_runs(runs_dir: Path) -> list[str]:
    """Names of the runs in the trash, in no order."""
    trash = runs_dir / TRASH
    if trash.is_symlink() or not trash.is_dir():
        return []
    return [path.name for path in trash.iterdir() if _is_deleted_run(path)]


def erase(runs_dir: Path, trash_id: str) -> str:
    """Remove a run in the trash from the disk; the id that it had.

    Raises:
        ConfigurationError: there is no such run in the trash.
        OSError: the disk refuses it; part of the run may be left.
    """
    place, run_id = _deleted_run(runs_dir, trash_id)
    shutil.rmtree(place)
    return run_id


def restore(runs_dir: Path, trash_id: str) -> str:
    """Move a run out of the trash, back to its old id; that id.

    Raises: ConfigurationError: there is no such run in the trash, or its id is taken again.
    """
    place, run_id = _deleted_run(runs_dir, trash_id)
    target = runs_dir / run_id
    if os.path.lexists(target):
        raise ConfigurationError(
            f"run {run_id} exists again in {runs_dir}",
            setting="run_id",
            fix="delete or rename that one first",
        )
    place.rename(target)
    return run_id


def _deleted_run(runs_dir: Path, trash_id: str) -> tuple[Path, str]:
    """Its folder, and the id that it had. Raises: ConfigurationError: there is no such run in the trash."""
    found, place = TRASH_ID.fullmatch(trash_id), runs_dir / TRASH / trash_id
    if found is None or place.parent.is_symlink() or not _is_deleted_run(place):
        raise ConfigurationError(f"there is no run {trash_id[:200]!r} in the trash of {runs_dir}")
    return place, found["run_id"]


def _is_deleted_run(path: Path) -> bool:
    is_named = TRASH_ID.fullmatch(path.name) is not None
    return is_named and not path.is_symlink() and os.path.lexists(path / CONFIG)
