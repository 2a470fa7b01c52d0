"""A disk that refuses: who waits for it and why; what must be kept is tried again until there is room."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from attract.runs.disk import refusal

RETRY_SECONDS = 1.0
log = logging.getLogger(__name__)

Answer = TypeVar("Answer")


class DiskWatch:
    """Owned by a run's record, used on its event loop; one listener hears when waiting begins and ends."""

    def __init__(self) -> None:
        self._reasons: dict[str, str] = {}
        self._listener: Callable[[str | None], None] = _nobody
        self._refuses = asyncio.Event()

    def listen(self, listener: Callable[[str | None], None]) -> None:
        """Have `listener` called with the reason when the disk begins to refuse, with None when it ends."""
        self._listener = listener

    @property
    def reason(self) -> str | None:
        """Why the disk refuses writes; None when it accepts them."""
        return next(iter(self._reasons.values()), None)

    def report(self, who: str, reason: str | None) -> None:
        """`who` waits for the disk because of `reason`; None: no longer."""
        before = self.reason
        if reason is not None:
            self._reasons[who] = reason
            self._refuses.set()
        else:
            self._reasons.pop(who, None)
        if (self.reason is None) == (before is None):
            return
        if self.reason is None:
            self._refuses.clear()
            log.warning("the disk takes writes again")
        else:
            log.error("the disk refuses: %s", self.reason)
        self._listener(self.reason)

    async def retry_while_full(self, what: str, attempt: Callable[[], Awaitable[Answer]]) -> Answer:
        """The answer of `attempt`, tried again every second while the disk refuses.

        Raises: whatever else `attempt` raises.
        """
        try:
            while True:
                try:
                    return await attempt()
                except Exception as error:
                    reason = refusal(error)
                    if reason is None:
                        raise
                    self.report(what, f"{what} cannot be saved: {reason}")
                await asyncio.sleep(RETRY_SECONDS)
        finally:
            self.report(what, None)

    async def wait_unless_full(self, event: asyncio.Event) -> bool:
        """Wait for `event`; False as soon as the disk refuses, for then it may never come."""
        waits = [asyncio.ensure_future(event.wait()), asyncio.ensure_future(self._refuses.wait())]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
        return self.reason is None


def _nobody(reason: str | None) -> None:
    """Before anyone listens."""
