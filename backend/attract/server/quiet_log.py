"""Limits the rate of log lines that any client can cause."""

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Final

from typing_extensions import override

from attract.runs.plain_text import plain


class TokenBucket:
    """Holds at most `burst` tokens, gains `per_second` of them. Owned by one socket; time is an argument."""

    def __init__(self, per_second: float, burst: float, now: float) -> None:
        """Full at `now`, monotonic seconds."""
        self._per_second = per_second
        self._burst = burst
        self._tokens = burst
        self._filled_at = now

    def take(self, tokens: float, now: float) -> bool:
        """Take `tokens`; False if there are fewer, and then nothing is taken."""
        self._tokens = min(self._burst, self._tokens + (now - self._filled_at) * self._per_second)
        self._filled_at = now
        if tokens > self._tokens:
            return False
        self._tokens -= tokens
        return True


LINES_AT_ONCE: Final = 10
LINES_PER_SECOND: Final = 0.1
MAX_CHARACTERS: Final = 300
STREAMS_CANCELLED: Final = "Cancel %s running task(s), timeout graceful shutdown exceeded"
CUT_OFF: Final = ("asyncio.exceptions.CancelledError", "KeyboardInterrupt")
"""Ends of tracebacks that starlette passes to uvicorn as text."""


class QuietFilter(logging.Filter):
    """Lets some lines through at once and then a few a minute, each with how many were left out before it.

    What a line says is made plain and short. Errors, which only faults of our own are, pass, unless
    they tell of what is cut off when the server ends. One filter belongs to one logger.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._bucket = TokenBucket(LINES_PER_SECOND, LINES_AT_ONCE, clock())
        self._left_out = 0

    @override
    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno >= logging.ERROR:
            return not _is_cut_off(record)
        if not self._bucket.take(1, self._clock()):
            self._left_out += 1
            return False
        text = plain(record.getMessage(), MAX_CHARACTERS)
        if self._left_out:
            text += f" ({self._left_out} similar lines were omitted before this one)"
            self._left_out = 0
        record.msg, record.args = text, ()
        return True


def _is_cut_off(record: logging.LogRecord) -> bool:
    """Whether it is about a task that was cancelled, for example by a second Ctrl-C: not a fault."""
    kind = record.exc_info[0] if record.exc_info else None
    is_cancelled = kind is not None and issubclass(kind, (asyncio.CancelledError, KeyboardInterrupt))
    # uvicorn ends the streams of pages that do not read, such as a frozen tab's, once it has waited for them.
    is_cancelled = is_cancelled or record.msg == STREAMS_CANCELLED
    return is_cancelled or record.getMessage().rstrip().endswith(CUT_OFF)


def quieten(*names: str) -> None:
    """Put a `QuietFilter` on the loggers of these names, which log input of any client."""
    for name in names:
        logger = logging.getLogger(name)
        if not any(isinstance(known, QuietFilter) for known in logger.filters):
            logger.addFilter(QuietFilter())
