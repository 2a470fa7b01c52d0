"""Publication: from the end of an update until the last of eight workers in a real browser can play it."""

import asyncio
import secrets
import statistics
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from attract.browser.host import join_url
from attract.browser.process import HostProcess
from attract.processes.cores import usable_cores
from attract_benchmarks.harness.common_work import cartpole_settings
from attract_benchmarks.harness.figure import Figure
from attract_benchmarks.harness.measure import BenchOptions, Measure
from attract_benchmarks.harness.publication import PublicationLog
from attract_benchmarks.harness.served import ServerRequest, serving

WORKERS = 8
LOOK_SECONDS = 0.5
SECONDS_PER_VERSION = 2.0
"""Patience: five to ten times what a version takes on two cores."""
NAMES = ("publish/p50_ms", "publish/p99_ms")


def measure(options: BenchOptions) -> Mapping[str, Figure]:
    """Both figures of `NAMES`, from one fleet; and one worker alone, for what creating a session costs."""
    versions = 20 if options.quick else 120
    alone = asyncio.run(_publish(1, versions))
    fleet = asyncio.run(_publish(WORKERS, versions * options.rounds))
    return _figures(alone, fleet, options.rounds)


async def _publish(num_workers: int, versions: int) -> PublicationLog:
    """Train CartPole in one browser until `versions` versions have reached all of its workers."""
    token = secrets.token_hex(32)
    # Training goes on until enough of it was published.
    settings = cartpole_settings(100 * versions, num_workers=num_workers, shared_trunk=True)
    log = PublicationLog(num_workers)
    with tempfile.TemporaryDirectory(prefix="attract-bench-") as folder:
        runs_dir = Path(folder)
        order = ServerRequest(game="cartpole", settings=settings, runs_dir=runs_dir, token=token, trains=True)
        async with serving(order) as served:
            host = await HostProcess.start(join_url(served.url, token, num_workers), lambda _event: None)
            try:
                async with asyncio.timeout(60 + SECONDS_PER_VERSION * versions):
                    while len(log.ready) < PublicationLog.SETTLED + versions or len(log.reached()) < versions:
                        await asyncio.sleep(LOOK_SECONDS)
                        log.take(await served.report())
            finally:
                await host.stop()
    return log


def _figures(alone: PublicationLog, fleet: PublicationLog, num_rounds: int) -> dict[str, Figure]:
    create_ms = statistics.median(
        session.create_ms for session in alone.acknowledged if session.version > PublicationLog.SETTLED
    )
    # Each worker makes a session of its own; so many cores make them at once.
    bare_ms = create_ms * WORKERS / min(WORKERS, usable_cores())
    versions = fleet.reached()
    size = len(versions) // num_rounds
    rounds = [versions[start : start + size] for start in range(0, size * num_rounds, size)]
    detail = {
        "until_durable_ms": _median_ms([version.durable for version in versions]),
        "until_sent_ms": _median_ms([version.sent for version in versions]),
        "until_first_worker_ms": _median_ms([version.first for version in versions]),
        "one_worker_create_ms": create_ms,
        "create_ms": statistics.median(session.create_ms for session in fleet.acknowledged),
        "encodings_per_version": float(fleet.max_encodings),
    }
    figures: dict[str, Figure] = {}
    for name, percent in zip(NAMES, (50, 99), strict=True):
        values = [1e3 * float(np.percentile([version.last for version in part], percent)) for part in rounds]
        figures[name] = Figure.of(
            values,
            "ms",
            ratios=[bare_ms / value for value in values],
            against="creating the sessions",
            better="lower",
            detail=detail,
        )
    return figures


def _median_ms(seconds: Sequence[float]) -> float:
    return 1e3 * statistics.median(seconds)


PUBLISH = Measure(
    NAMES, "from the end of an update to the last of 8 browser workers that can play it", measure
)
