"""Output files and folders of a command: checked before the work, named when they fail."""

import contextlib
import errno
import os
from collections.abc import Generator
from pathlib import Path

from attract.errors import ConfigurationError


def check_writable(path: Path) -> None:
    """Refuse what cannot be written, before minutes are spent on what belongs into it; makes nothing.

    Args:
        path: a file or a folder, there or not; folders above it may be missing too.

    Raises: ConfigurationError: as `writing`.
    """
    with writing(path):
        place = path.absolute()
        while not os.path.lexists(place):
            place = place.parent
        if place != path.absolute() and not place.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        if not os.access(place, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


@contextlib.contextmanager
def writing(path: Path) -> Generator[None]:
    """Name `path`, as a user would type it, when the block cannot write it.

    Raises: ConfigurationError: in place of any OSError but one about a reader that left.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise ConfigurationError(f"{shown_path(path)} cannot be written: {error.strerror or error}") from None


def shown_path(path: Path) -> str:
    """The path as a user would type it here."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)
