"""The limit of open files of this process, which browsers, sockets and the record share with its children."""

import resource
from typing import Final

from attract.errors import ConfigurationError

MIN_OPEN_FILES: Final = 256
"""With 200 a training of one browser runs, with 128 Chromium does not start."""
WANTED_OPEN_FILES: Final = 4096
"""Each visitor's browser takes some sockets."""


def raise_open_files() -> int:
    """Raise the soft limit of open files towards what is allowed; returns the limit from now on.

    Raises: ConfigurationError: the hard limit is too low for a server and a browser.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= WANTED_OPEN_FILES:
        return WANTED_OPEN_FILES
    allowed = WANTED_OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, WANTED_OPEN_FILES)
    if allowed < MIN_OPEN_FILES:
        raise ConfigurationError(
            f"this shell allows {allowed} open files, a server and a browser need {MIN_OPEN_FILES}",
            fix=f"raise it: ulimit -n {WANTED_OPEN_FILES}",
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    return allowed
