"""Console lines of a game: the newest ones, of one worker at a time."""

from collections import deque
from collections.abc import Callable

from attract.schema.api import LogLine

MAX_LINES = 200
HANDOVER_SECONDS = 5.0
"""A worker that was quiet for so long may be gone: another's lines are taken then."""


class GameLogKeeper:
    """Owned by the active run. Each host sends what its first worker hears; the lines of two would mix."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lines: deque[LogLine] = deque(maxlen=MAX_LINES)
        self._worker_id: int | None = None
        self._last_line_at = 0.0

    def take(self, worker_id: int, line: LogLine) -> bool:
        """Keep a line; False when it is not of the worker that is listened to."""
        now = self._clock()
        if self._worker_id not in (None, worker_id) and now - self._last_line_at < HANDOVER_SECONDS:
            return False
        self._worker_id, self._last_line_at = worker_id, now
        self._lines.append(line)
        return True

    def lines(self) -> list[LogLine]:
        """The newest lines, oldest first."""
        return list(self._lines)
