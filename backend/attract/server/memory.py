"""Keeps the garbage collector and page faults out of the gateway's way."""

import gc

from attract.processes.allocator import keep_freed_memory

YOUNG_OBJECTS = 50_000
"""Objects made and not yet freed that are looked at together; Python's own 700 are those of two blocks."""
KEEP_BYTES = 64 << 20
"""Freed memory that is not handed back: what the frames of all sockets take at a time."""


def settle_memory() -> None:
    """Set aside what the process holds now and will hold for ever, and look for garbage seldom.

    At Python's own thresholds half of what the gateway spends on a block is the collector's, and now and
    then a full look goes through every object of every library while all sockets wait. Nothing here makes
    cycles with each message; reference counts free the rest.
    For the gateway's own process only, once it has imported what it needs.
    """
    gc.collect()
    gc.freeze()
    keep_freed_memory(KEEP_BYTES)
    gc.set_threshold(YOUNG_OBJECTS, *gc.get_threshold()[1:])
