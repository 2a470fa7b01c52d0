"""Output of `attract train` before the first update: no worker, warm-up, first batch."""

from collections.abc import Callable

from attract.commands.train_display import Display, duration
from attract.schema.api import RunView

STARTING_SECONDS = 30.0
"""A browser of our own may take so long to start on a busy machine."""

FIRST_LINE_SECONDS = 5.0
"""So long may nothing be said before the first update ..."""
NEXT_LINE_SECONDS = 10.0
"""... and so long between two lines of that."""


class BeforeFirstUpdate:
    """Prints the progress of a run before its first update, at intervals."""

    def __init__(self, display: Display, now: float) -> None:
        """`now`: monotonic seconds, as in `update`."""
        self._display = display
        self._due = now + FIRST_LINE_SECONDS

    def update(self, run: RunView, now: float) -> None:
        """Takes the run's present state. A run without workers has another line."""
        if run.beginning is None or run.waiting_seconds is not None or now < self._due:
            return
        self._due = now + NEXT_LINE_SECONDS
        self._display.say(run.beginning.text)


class WaitingForWorkers:
    """Prints once that a run waits for workers, with the join link, and when they have joined."""

    def __init__(self, display: Display, join_link: Callable[[], str], *, has_own: bool) -> None:
        """`join_link` makes a link when one is to be shown; `has_own`: a browser was started with the run."""
        self._display = display
        self._join_link = join_link
        self._has_own = has_own
        self._had_workers = False
        self._waited: float | None = None

    def update(self, run: RunView, *, last_left_seconds: float | None, has_workers: bool) -> None:
        """The run as it stands now; `last_left_seconds` of its fleet, and whether it has workers now."""
        self._had_workers = self._had_workers or last_left_seconds is not None
        seconds = run.waiting_seconds
        if seconds is None:
            # A run that is about to end does not wait either.
            if self._waited is not None and has_workers:
                self._display.say(f"workers joined after {duration(self._waited)}")
            self._waited = None
            return
        if self._waited is None:
            if self._has_own and not self._had_workers and seconds < STARTING_SECONDS:
                return
            ago = f"the last one left {seconds:.0f} s ago" if self._had_workers else "none has joined yet"
            link = self._join_link()
            self._display.say(f"waiting for workers: {ago}\n  join: {link}\n  or: attract join '{link}'")
        self._waited = seconds
