"""Tasks that belong to something with a beginning and an end: none is lost, none outlives it."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any


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
