"""Waits for what happens on the same event loop."""

import asyncio
from collections.abc import Callable

WAIT_SECONDS = 120.0
"""Limit of a wait for what takes a moment on a quiet machine. Only a failure takes as long."""


async def until(condition: Callable[[], bool], seconds: float) -> None:
    """Return once `condition` holds. Raises: TimeoutError: when it does not in time."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - the condition has no event
            await asyncio.sleep(0.01)
