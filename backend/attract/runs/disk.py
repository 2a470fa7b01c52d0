"""Recognises writes that the disk refuses now and may take later."""

import errno

REFUSALS = (errno.ENOSPC, errno.EDQUOT, errno.EIO)
SQLITE_REFUSALS = ("SQLITE_FULL", "SQLITE_IOERR")


def refusal(error: BaseException) -> str | None:
    """What a full or failing disk said, when `error` is its error from a file or SQLite; else None."""
    if isinstance(error, OSError) and error.errno in REFUSALS:
        return str(error.strerror)
    # Errors that Python's module raises by itself have no name.
    name = getattr(error, "sqlite_errorname", "")
    return str(error) if name.startswith(SQLITE_REFUSALS) else None
