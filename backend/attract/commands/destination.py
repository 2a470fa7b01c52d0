"""Output files and folders of a command: checked before the work, written one way, named when they fail."""

import contextlib
import errno
import os
from collections.abc import Generator
from pathlib import Path

from attract.errors import ConfigurationError
from attract.files import check_inside, copy_file, write_atomically
from attract.games.project import find_project_dir


def check_writable(path: Path) -> None:
    """Refuse what cannot be written, before minutes are spent on what belongs into it; makes nothing.

    Args:
        path: a file or a folder, there or not; folders above it may be missing too.

    Raises: ConfigurationError: as `writing`.
    """
    with writing(path):
        place = path.absolute()
        while not place.exists() or (place.is_symlink() and not place.is_dir()):
            place = place.parent
        if place != path.absolute() and not place.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        if not os.access(place, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def write_output(path: Path, content: bytes | Path, folder: Path | None = None) -> Path:
    """Write a command's file, the only way in which commands write: a link that is there is replaced.

    Args:
        path: folders above it are made.
        content: its bytes, or the file that they are copied from.
        folder: the output folder that the file lies in, which no link may lead out of; None: its own.

    Returns: `path`.
    Raises: ConfigurationError: as `writing`. FileError: a link leads out of `folder`; `content` is no file.
    """
    with writing(path):
        if folder is not None:
            check_inside(path.parent, folder)
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, Path):
            return copy_file(content, path)
        write_atomically(path, content)
    return path


@contextlib.contextmanager
def writing(path: Path) -> Generator[None]:
    """Name `path`, as a user would type it, when the block cannot write it.

    Raises: ConfigurationError: its folder leads out of the project by a link, which may be a stranger's; in
        place of any OSError but one about a reader that left.
    """
    try:
        _check_links(path if path.is_dir() else path.parent)
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise ConfigurationError(f"{shown_path(path)} cannot be written: {error.strerror or error}") from None


def _check_links(folder: Path) -> None:
    target, project = folder.resolve(), find_project_dir(Path(os.path.normpath(folder.absolute())) / "file")
    if not target.is_relative_to(project.resolve()):
        raise ConfigurationError(
            f"{shown_path(folder)} is a link that leads out of {project}",
            fix=f"name the folder that it leads to, if you mean it: {target}",
        )


def shown_path(path: Path) -> str:
    """The path as a user would type it here."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)
