"""Measures the lag of the event loop: while it is blocked, no socket is read and no request answered."""

import asyncio
from collections import deque

SAMPLE_SECONDS = 0.25
WINDOW_SAMPLES = 120
"""Half a minute: longer than most scrapers wait, so that none misses what happened between two scrapes."""


class LoopLag:
    """Sleeps and measures how much later it woke; owned by the app, whose lifespan runs `watch`."""

    def __init__(self) -> None:
        self._samples: deque[float] = deque([0.0], maxlen=WINDOW_SAMPLES)

    def add(self, seconds: float) -> None:
        """One wake-up came so late."""
        self._samples.append(max(0.0, seconds))

    @property
    def largest_seconds(self) -> float:
        """The largest of the last half minute."""
        return max(self._samples)

    async def watch(self) -> None:
        """Measure until cancelled."""
        now = asyncio.get_running_loop().time
        while True:
            due = now() + SAMPLE_SECONDS
            await asyncio.sleep(SAMPLE_SECONDS)
            self.add(now() - due)
