"""Limits of time that a busy machine stretches: what is late there says nothing about a page."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar

Answer = TypeVar("Answer")

WORK_SECONDS: Final = 0.1
"""Processor time of one measurement."""
MIN_SLOWDOWN: Final = 1.3
"""A machine that slows a thread down by less is not busy."""
MAX_SLOWDOWN: Final = 20.0
"""One that slows it down by more is waited for no longer."""


class LateError(Exception):
    """Something took too long."""

    def __init__(self, seconds: float, factor: float) -> None:
        self.seconds = seconds
        """How long it was waited for."""
        self.busy = (
            f", on a machine so busy that a thread takes {factor:.1f} times as long" if factor > 1 else ""
        )
        """The end of a sentence about it; empty where the machine is not busy."""
        super().__init__(f"late after {seconds:.0f} s{self.busy}")


def slowdown() -> float:
    """How many times as long as by itself work takes in a thread of this machine now; 1: it is not busy."""
    began, worked = time.monotonic(), time.thread_time()
    while time.thread_time() - worked < WORK_SECONDS:
        sum(range(1_000))
    factor = (time.monotonic() - began) / WORK_SECONDS
    return 1.0 if factor < MIN_SLOWDOWN else min(factor, MAX_SLOWDOWN)


async def within(
    seconds: float, work: Coroutine[Any, Any, Answer], measure: Callable[[], float] = slowdown
) -> Answer:
    """What `work` returns; it is cancelled after `seconds`, or as much later as the machine is slower.

    Raises: LateError: it did not return in time.
    """
    task = asyncio.ensure_future(work)
    loop = asyncio.get_running_loop()
    began, limit = loop.time(), seconds
    try:
        while not (await asyncio.wait({task}, timeout=began + limit - loop.time()))[0]:
            factor = await asyncio.to_thread(measure)
            limit = seconds * factor
            if loop.time() - began >= limit and not task.done():
                raise LateError(loop.time() - began, factor)
        return task.result()
    finally:
        task.cancel()
