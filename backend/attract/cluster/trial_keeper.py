"""Runs one trial of a study on its own node, and reports its progress."""

import asyncio
import contextlib
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from attract.errors import TrialError
from attract.tuning.process_runner import ProcessRunner, log_of
from attract.tuning.runner import Progress, TrialOrder, TrialResult

NEWS_SECONDS: Final = 5.0
"""How long a reader waits for news before it gets none."""
COMMAND: Final = (sys.executable, "-m", "attract.cluster.child")


@dataclass(frozen=True)
class TrialReport:
    """Result of a trial as plain data: our exceptions cannot be pickled."""

    log: str
    """Output of its run."""
    result: TrialResult | None = None
    """None: it failed."""
    said: str = ""
    is_refused: bool = False


class TrialKeeper:
    """Trains by the runner of one machine; a Ray actor is made of it.

    Owner: its caller, on one event loop. When it is gone, its trial ends.
    """

    def __init__(self, folder: Path, command: Sequence[str] = COMMAND) -> None:
        """`folder`: empty, and gone after the trial; `command`: what takes the words of a command line."""
        self._folder = folder
        self._runner = ProcessRunner(folder, command)
        self._progress: list[Progress] = []
        self._news = asyncio.Event()
        self._is_wanted = True
        self._task: asyncio.Task[TrialResult] | None = None

    async def run(self, order: TrialOrder) -> TrialReport:
        """Train until the end, an early one where that was asked for."""
        self._task = asyncio.create_task(self._runner.run(order, self._goes_on))
        try:
            result = await self._task
        except TrialError as error:
            return TrialReport(self._log(order), None, error.said, error.refused)
        finally:
            self._news.set()
            log = self._log(order)
            shutil.rmtree(self._folder, ignore_errors=True)
        return TrialReport(log, result)

    async def progress(self) -> list[Progress]:
        """Its updates since the last call; waits a while for the first of them, or for the end."""
        if not self._progress and (self._task is None or not self._task.done()):
            self._news.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._news.wait(), NEWS_SECONDS)
        news, self._progress = self._progress, []
        return news

    async def end(self) -> None:
        """End the trial early, after its next update."""
        self._is_wanted = False

    async def cancel(self) -> None:
        """End the trial now; it has gone when this returns."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    def _goes_on(self, progress: Progress) -> bool:
        self._progress.append(progress)
        self._news.set()
        return self._is_wanted

    def _log(self, order: TrialOrder) -> str:
        path = log_of(self._folder, order)
        return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
