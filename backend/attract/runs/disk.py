"""Recognises writes that the disk refuses now and may take later."""

import errno
import sqlite3

REFUSALS = (errno.ENOSPC, errno.EDQUOT, errno.EIO)
SQLITE_REFUSALS = ("SQLITE_FULL", "SQLITE_IOERR")


def refusal(error: BaseException) -> str | None:
    """In words, when `error` means a full or failing disk, from a file or from SQLite; None for any other."""
    if isinstance(error, OSError) and error.errno in REFUSALS:
        return str(error.strerror)
    # SQLAlchemy keeps what SQLite said in `orig`.
    cause = getattr(error, "orig", error)
    if isinstance(cause, sqlite3.Error):
        name = getattr(cause, "sqlite_errorname", None)
        if isinstance(name, str) and name.startswith(SQLITE_REFUSALS):
            return str(cause)
    return None
