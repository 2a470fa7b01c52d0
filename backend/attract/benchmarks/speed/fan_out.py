"""Publication to hundreds of workers: encoded once, and no slower for each where there are more."""

import asyncio
import secrets
import statistics
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from attract.benchmarks.harness.child import running
from attract.benchmarks.harness.figure import Figure
from attract.benchmarks.harness.measure import BenchOptions, Measure
from attract.benchmarks.harness.publication import PublicationLog
from attract.benchmarks.harness.served import ServerRequest, serving
from attract.benchmarks.harness.socket_clients import Burst, Fleet, Joined, Outcome
from attract.server.app import PACKAGE_DIR, read_build

SIZES, QUICK_SIZES = (50, 100, 200), (4, 8)
"""Workers; each size is a run of its own, and the sizes take turns in every round."""
BURST_SECONDS = 1.0
MOST_SECONDS = 120.0
NAMES = ("publish/fan_out_200",)


def measure(options: BenchOptions) -> Mapping[str, Figure]:
    """The figure of `NAMES`; `quick` has fewer workers and keeps the name."""
    sizes = QUICK_SIZES if options.quick else SIZES
    versions = 5 if options.quick else 60
    rounds = [{size: asyncio.run(_fan_out(size, versions)) for size in sizes} for _ in range(options.rounds)]
    smallest, largest = sizes[0], sizes[-1]
    p99s = [_p99_ms(a_round[largest]) for a_round in rounds]
    # As many times the workers may take as many times the time.
    growth = [
        _last_ms(a_round[largest]) / _last_ms(a_round[smallest]) / (largest / smallest) for a_round in rounds
    ]
    last = {
        f"last_of_{size}_ms": statistics.median(_last_ms(a_round[size]) for a_round in rounds)
        for size in sizes
    }
    encodings = max(report.most_encodings for a_round in rounds for report in a_round.values())
    return {
        NAMES[0]: Figure.of(
            p99s,
            "ms",
            ratios=[1 / factor for factor in growth],
            against=f"growing with the workers from {smallest} to {largest}",
            better="lower",
            detail={**last, "encodings_per_version": float(encodings)},
        )
    }


async def _fan_out(num_workers: int, versions: int) -> PublicationLog:
    """Publish so many versions to so many sockets."""
    token = secrets.token_hex(32)
    settings = {
        "collection": {"num_workers": num_workers, "instances_per_worker": 1, "warmup_steps": 0},
        "ppo": {"horizon": 8, "rollout_steps": 64},
    }
    log = PublicationLog(num_workers)
    with tempfile.TemporaryDirectory(prefix="attract-bench-") as folder:
        order = ServerRequest(game="cartpole", settings=settings, runs_dir=Path(folder), token=token)
        async with serving(order) as served, running("attract.benchmarks.harness.socket_clients") as clients:
            fleet = Fleet(
                url=f"{served.url.replace('http', 'ws', 1)}/ws",
                token=token,
                build=read_build(PACKAGE_DIR / "web") or "none",
                num_workers=num_workers,
            )
            await clients.ask(fleet, Joined)
            burst = Burst(to="gateway", seconds=BURST_SECONDS, in_flight=num_workers)
            async with asyncio.timeout(MOST_SECONDS):
                while len(log.reached()) < versions:
                    await clients.ask(burst, Outcome)
                    log.take(await served.report())
    return log


def _p99_ms(log: PublicationLog) -> float:
    """Of every delivery: from the first of the fleet being sent a version to one's acknowledgement."""
    first_sent: dict[int, float] = {}
    for sending in log.sent:
        first_sent[sending.version] = min(sending.when, first_sent.get(sending.version, sending.when))
    times = [
        acknowledgement.when - first_sent[acknowledgement.version]
        for acknowledgement in log.acknowledged
        if acknowledgement.version in first_sent
    ]
    return 1e3 * float(np.percentile(times, 99))


def _last_ms(log: PublicationLog) -> float:
    return 1e3 * statistics.median(publication.last - publication.sent for publication in log.reached())


FAN_OUT = Measure(
    NAMES, "from a version's first sending to its acknowledgement by 200 sockets", measure, by_default=False
)
