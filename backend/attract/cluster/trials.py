"""Trials of a study on the nodes of a cluster."""

import asyncio
import contextlib
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from attract.cluster.engine import RayActor, RayCluster
from attract.cluster.member import COMMAND
from attract.cluster.plan import TRAINER_CPUS
from attract.errors import ClusterError, TrialError
from attract.tuning.process_runner import ProcessRunner, TrialOrder, TrialProgress, TrialResult, log_of

NEWS_SECONDS: Final = 5.0
"""How long a reader waits for news before it gets none."""
MAX_LOSSES: Final = 3
"""How often one trial may lose its node before the trial counts as failed."""


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
    """Trains one trial by the runner of one machine, in an actor of its own.

    Owner: its caller, on one event loop. When it is gone, its trial ends.
    """

    def __init__(self, folder: Path | None = None, command: Sequence[str] = COMMAND) -> None:
        """`folder`: empty, by default one of the node's, gone after the trial; `command` takes the words."""
        self._folder = folder or Path(tempfile.mkdtemp(prefix="attract-trial-"))
        self._runner = ProcessRunner(self._folder, command)
        self._progress: list[TrialProgress] = []
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

    async def progress(self) -> list[TrialProgress]:
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

    def _goes_on(self, progress: TrialProgress) -> bool:
        self._progress.append(progress)
        self._news.set()
        return self._is_wanted

    def _log(self, order: TrialOrder) -> str:
        path = log_of(self._folder, order)
        return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""


class ClusterRunner:
    """A `TrialRunner` that has each trial in an actor, which Ray starts anew where its node is lost.

    Owner: the tune command.
    """

    def __init__(self, folder: Path, cluster: RayCluster) -> None:
        """`folder`: the study's, here."""
        self._folder = folder
        self._cluster = cluster

    async def run(self, order: TrialOrder, goes_on: Callable[[TrialProgress], bool]) -> TrialResult:
        workers = int(order.settings["collection"]["num_workers"])
        trial = self._cluster.start(TrialKeeper, restarts=MAX_LOSSES - 1, num_cpus=cpus_for(workers))
        try:
            report = await _watched(trial, order, goes_on)
        except ClusterError as error:
            raise TrialError(order.run_id, str(error)) from None
        finally:
            trial.kill()
        log = log_of(self._folder, order)
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(report.log, encoding="utf-8")
        if report.result is None:
            raise TrialError(order.run_id, report.said, refused=report.is_refused)
        return report.result


async def _watched(
    trial: RayActor, order: TrialOrder, goes_on: Callable[[TrialProgress], bool]
) -> TrialReport:
    running = asyncio.create_task(trial.call("run", order))
    is_placed, is_ended = False, False
    try:
        while not running.done():
            news: list[TrialProgress] = await trial.call("progress")
            is_placed = True
            for step in news:
                # Told again after each update: a trial that began anew does not know of it.
                if is_ended or not goes_on(step):
                    is_ended = True
                    await trial.call("end")
        return await running
    except asyncio.CancelledError:
        # The answer confirms that it has ended. A trial that waits for a node sends none: nothing is to end.
        with contextlib.suppress(ClusterError):
            if is_placed:
                await trial.call("cancel")
        raise
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


def cpus_for(workers: int) -> int:
    return workers + TRAINER_CPUS


def parallel_on(node_cpus: Sequence[int], workers: int) -> int:
    """How many trials fit at once on nodes with these CPUs; at least one, which may have to wait."""
    return max(1, sum(cpus // cpus_for(workers) for cpus in node_cpus))
