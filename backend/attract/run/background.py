"""Tasks that belong to something with a beginning and an end, and what threads read of what the loop owns."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final, TypeVar

T = TypeVar("T")
LOOP_SECONDS: Final = 60.0
"""For which a thread waits for the event loop."""


def read_on_loop(loop: asyncio.AbstractEventLoop, read: Callable[[], T]) -> T:
    """What `read` returns on the event loop, for which a thread waits: nothing changes there meanwhile.

    Raises: TimeoutError: it did not come to it.
    """
    try:
        is_here = asyncio.get_running_loop() is loop
    except RuntimeError:
        is_here = not loop.is_running()
    if is_here:
        return read()

    async def reading() -> T:
        return read()

    # A loop that is ending may never come to it.
    return asyncio.run_coroutine_threadsafe(reading(), loop).result(LOOP_SECONDS)


class BackgroundTasks:
    """Owned by the active run, used on its event loop; `on_error` hears of each task that broke."""

    def __init__(self, on_error: Callable[[BaseException], None]) -> None:
        self._on_error = on_error
        self._tasks: set[asyncio.Task[None]] = set()

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Run `work` beside everything else."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def cancel_others(self) -> None:
        """Cancel all tasks but the one that calls."""
        for task in self._tasks - {asyncio.current_task()}:
            task.cancel()

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._on_error(error)


class WorkInOrder:
    """Work that is done one after another, in the order in which it came; owned by the active run."""

    def __init__(self, background: BackgroundTasks, on_error: Callable[[BaseException], None]) -> None:
        """`on_error` hears of each piece of work that broke; the next is done all the same."""
        self.idle = asyncio.Event()
        """All that came is done."""
        self.idle.set()
        self._background = background
        self._on_error = on_error
        self._waiting: deque[Callable[[], Awaitable[None]]] = deque()

    def add(self, work: Callable[[], Awaitable[None]]) -> None:
        """Have `work` done after all that is there."""
        self._waiting.append(work)
        if self.idle.is_set():
            self.idle.clear()
            self._background.spawn(self._do_all())

    async def _do_all(self) -> None:
        try:
            while self._waiting:
                try:
                    await self._waiting.popleft()()
                except Exception as error:
                    self._on_error(error)
        finally:
            self.idle.set()
