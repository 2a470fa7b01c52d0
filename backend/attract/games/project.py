"""Finds the project directory of a game: the folder that its module may import from."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

MARKERS: Final = (".git", "package.json")
"""Files that mark the top folder of a project."""


def find_project_dir(module: Path, current: Path | None = None) -> Path:
    """The folder whose files a game module may import, where none was named.

    The outermost of these that hold the module: the current folder, the nearest folder above it with a
    `.git`, the nearest with a `package.json`, its own folder. The first three are never the home directory, a
    folder above that, or the root of the file system.

    Args:
        module: absolute and resolved; it need not exist.
        current: the current folder; None: that of the process.
    """
    above = module.parents
    found = [_nearest_with(marker, above) for marker in MARKERS]
    current = (current or Path.cwd()).resolve()
    if current in above and not _is_too_wide(current):
        found.append(current)
    return min(filter(None, found), key=lambda folder: len(folder.parts), default=module.parent)


def shared_folder(one: Path, other: Path) -> Path | None:
    """The innermost folder that holds both, where it may be a project directory; None: it is too wide."""
    folder = Path(os.path.commonpath((one, other)))
    return None if _is_too_wide(folder) else folder


def _nearest_with(marker: str, folders: Sequence[Path]) -> Path | None:
    near = (folder for folder in folders if not _is_too_wide(folder) and (folder / marker).exists())
    return next(near, None)


def _is_too_wide(folder: Path) -> bool:
    """Whether it is the root of the file system, the home directory, or a folder above that."""
    if folder.parent == folder:
        return True
    try:
        return Path.home().resolve().is_relative_to(folder)
    except RuntimeError:  # an account without a home directory
        return False
