"""The lock of a folder: held by the one process that writes the run or study in it (rule D3)."""

import fcntl
import os
import time
from pathlib import Path
from typing import Final

from attract.errors import ConfigurationError, FileError

LOCK: Final = ".lock"
LOCK_ATTEMPTS: Final = 5
LOCK_RETRY_SECONDS: Final = 0.02


def is_locked(path: Path) -> bool:
    """Whether some process, this one included, is writing the run in folder `path`."""
    try:
        fd = os.open(path / LOCK, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        # None is there, or what is there is none of ours: nothing is locked by it.
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    else:
        return False
    finally:
        os.close(fd)


def lock_folder(path: Path) -> int:
    """Lock the run in folder `path`; the file descriptor, whose closing gives the lock back.

    Raises:
        ConfigurationError: some process, this one included, writes the run.
        FileError: the folder's lock file cannot be opened.
    """
    try:
        fd = os.open(path / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise FileError(path / LOCK, f"cannot be opened: {error.strerror}") from None
    for _ in range(LOCK_ATTEMPTS):
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            # Perhaps only someone who looks whether the run is locked, which takes microseconds.
            time.sleep(LOCK_RETRY_SECONDS)
        else:
            return fd
    os.close(fd)
    raise ConfigurationError(
        f"run {path.name} is being written by another process (rule D3)",
        setting="run_id",
        fix="stop that process first, or choose another run",
    )
