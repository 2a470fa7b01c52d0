"""The exit codes of every command; docs/commands.md has the table."""

import signal
from typing import Final

DONE: Final = 0
FAILED: Final = 1
"""It was tried and did not work: a run or an export that failed, no answer."""
USAGE: Final = 2
"""Invalid request: refused before anything was trained."""
GOAL_MISSED: Final = 3
"""The run ended in order, but not with the return that `--until-return` asked for."""
GAVE_UP: Final = 4
"""`attract join --until-gone`: the trainer was away for longer than that."""
INTERRUPTED: Final = 130
"""Ctrl-C."""
TERMINATED: Final = 143
OUTPUT_GONE: Final = 141
"""The reader of the output is gone, as after `| head`."""


def of_signal(number: int) -> int:
    """The code after an end that was asked for by a signal, as shells count it."""
    return 128 + signal.Signals(number)
