"""Trials of a study on the nodes of a cluster."""

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, Final, Protocol

from attract.cluster.plan import TRAINER_CPUS
from attract.cluster.trial_keeper import TrialReport
from attract.errors import AwayError, ClusterError, TrialError
from attract.tuning.process_runner import log_of
from attract.tuning.runner import Progress, TrialOrder, TrialResult

MAX_LOSSES: Final = 3
"""How often one trial may lose its node before the trial counts as failed."""


class RemoteTrial(Protocol):
    """A `TrialKeeper` elsewhere."""

    async def call(self, method: str, *arguments: Any) -> Any:
        """What its method returns. Raises: AwayError, ClusterError: its node or process is lost."""
        ...


class ClusterRunner:
    """Runs each trial in a keeper of its own, and restarts it where its node is lost.

    Owner: the tune command.
    """

    def __init__(
        self, folder: Path, keeper: Callable[[int], AbstractAsyncContextManager[RemoteTrial]]
    ) -> None:
        """`folder`: the study's, here; `keeper` creates a keeper with a number of CPUs."""
        self._folder = folder
        self._keeper = keeper

    async def run(self, order: TrialOrder, goes_on: Callable[[Progress], bool]) -> TrialResult:
        """See `TrialRunner`."""
        for losses in range(1, MAX_LOSSES + 1):
            try:
                async with self._keeper(cpus_of(order)) as trial:
                    report = await _watched(trial, order, goes_on)
                break
            except (AwayError, ClusterError) as error:
                if losses == MAX_LOSSES:
                    raise TrialError(order.run_id, str(error)) from None
        else:
            raise RuntimeError("expected the last loss to be raised")
        log = log_of(self._folder, order)
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(report.log, encoding="utf-8")
        if report.result is None:
            raise TrialError(order.run_id, report.said, refused=report.is_refused)
        return report.result


async def _watched(trial: RemoteTrial, order: TrialOrder, goes_on: Callable[[Progress], bool]) -> TrialReport:
    running = asyncio.create_task(trial.call("run", order))
    is_placed, is_ended = False, False
    try:
        while not running.done():
            news: list[Progress] = await trial.call("progress")
            is_placed = True
            for step in news:
                if not is_ended and not goes_on(step):
                    is_ended = True
                    await trial.call("end")
        return await running
    except asyncio.CancelledError:
        # The answer confirms that it has ended. A trial that waits for a node sends none: nothing is to end.
        with contextlib.suppress(AwayError, ClusterError):
            if is_placed:
                await trial.call("cancel")
        raise
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


def cpus_of(order: TrialOrder) -> int:
    """CPUs of one trial: for each worker and for the learner."""
    return cpus_for(int(order.settings["collection"]["num_workers"]))


def cpus_for(workers: int) -> int:
    """CPUs of a training with this number of workers."""
    return workers + TRAINER_CPUS


def parallel_on(node_cpus: Sequence[int], workers: int) -> int:
    """How many trials fit at once on nodes with these CPUs; at least one, which may have to wait."""
    return max(1, sum(cpus // cpus_for(workers) for cpus in node_cpus))
