"""The trash of a runs folder: deleted and replaced runs, each under its id and the time of its removal."""

import os
import re
import secrets
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from attract.errors import ConfigurationError
from attract.runs.config_file import CONFIG
from attract.runs.lock import lock_folder

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


def restore(runs_dir: Path, trash_id: str) -> str:
    """Move a run out of the trash, back to its old id; that id.

    Raises: ConfigurationError: there is no such run in the trash, or its id is taken again.
    """
    found = TRASH_ID.fullmatch(trash_id)
    place = runs_dir / TRASH / trash_id
    if (
        found is None
        or place.is_symlink()
        or place.parent.is_symlink()
        or not os.path.lexists(place / CONFIG)
    ):
        raise ConfigurationError(f"there is no run {trash_id[:200]!r} in the trash of {runs_dir}")
    run_id = found["run_id"]
    target = runs_dir / run_id
    if os.path.lexists(target):
        raise ConfigurationError(
            f"run {run_id} exists again in {runs_dir}",
            setting="run_id",
            fix="delete or rename that one first",
        )
    place.rename(target)
    return run_id
