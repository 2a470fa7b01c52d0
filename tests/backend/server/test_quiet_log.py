import ast
import asyncio
import inspect
import logging

import uvicorn.server

from attract.server.quiet_log import STREAMS_CANCELLED, QuietFilter, quieten


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def record(level: int, text: str, *args: object) -> logging.LogRecord:
    return logging.LogRecord("x", level, __file__, 1, text, args, None)


def test_hostile_06_ten_lines_at_once_then_one_in_ten_seconds_with_the_count_of_what_was_left_out():
    clock = Clock()
    quiet = QuietFilter(clock)
    assert sum(quiet.filter(record(logging.WARNING, "%s", n)) for n in range(110)) == 10
    clock.now = 9.9
    assert not quiet.filter(record(logging.WARNING, "early"))
    clock.now = 10.0
    next_one = record(logging.WARNING, "refused: %s", "\x1b[31m")
    assert quiet.filter(next_one)
    assert next_one.getMessage() == r"refused: \x1b[31m (101 similar lines were omitted before this one)"
    clock.now = 20.0
    last = record(logging.WARNING, "again")
    assert quiet.filter(last)
    assert last.getMessage() == "again"


def test_lines_are_short_and_errors_of_our_own_always_pass():
    quiet = QuietFilter(Clock())
    long = record(logging.WARNING, "x" * 10_000)
    assert quiet.filter(long)
    assert len(long.getMessage()) == 303
    assert all(quiet.filter(record(logging.ERROR, "fault")) for _ in range(100))


def test_hostile_a_second_ctrl_c_leaves_no_traceback():
    quiet = QuietFilter(Clock())
    text = "Traceback (most recent call last):\n  ...\nasyncio.exceptions.CancelledError\n"
    assert not quiet.filter(record(logging.ERROR, text))
    cancelled = record(logging.ERROR, "Exception in 'lifespan' protocol")
    cancelled.exc_info = (asyncio.CancelledError, asyncio.CancelledError(), None)
    assert not quiet.filter(cancelled)
    broken = record(logging.ERROR, "Exception in 'lifespan' protocol")
    broken.exc_info = (ValueError, ValueError("x"), None)
    assert quiet.filter(broken)


def test_a_page_that_does_not_read_leaves_no_line_when_the_server_ends():
    (written,) = (
        text
        for text in inspect.getsource(uvicorn.server).splitlines()
        if "timeout graceful shutdown exceeded" in text and "%s" in text
    )
    assert ast.literal_eval(written.strip().rstrip(",")) == STREAMS_CANCELLED
    assert not QuietFilter(Clock()).filter(record(logging.ERROR, STREAMS_CANCELLED, 1))


def test_a_logger_is_made_quiet_once():
    logger = logging.getLogger("attract.test_quiet_log")
    quieten(logger.name)
    quieten(logger.name)
    assert len(logger.filters) == 1
    logger.filters.clear()
