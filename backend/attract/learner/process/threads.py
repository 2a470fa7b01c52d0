"""Chooses the number of threads for the learner: more than one only if measured to be faster."""

import statistics
import time
from collections.abc import Callable
from pathlib import Path

import torch

STAT = Path("/proc/stat")
WINDOW_SECONDS = 0.1
ROWS, WIDTH = 4096, 64
"""Shape of the product that is timed: a large minibatch of a small network, where threads pay least."""
PAIRS = 9
PRODUCTS_A_TURN = 4
WORTHWHILE = 1.3
"""Minimum speedup: threads speed up only the products, and they take cores from the rest."""


def measured_threads(
    cores: int,
    num_workers: int,
    *,
    idle_cores: Callable[[], float] | None = None,
    gain: Callable[[int], float] | None = None,
) -> int:
    """Torch threads for a learner beside `num_workers` workers. Takes 0.1 to 0.2 s.

    Workers, which mostly have not started yet, get a core each. The learner gets at most half of the rest.

    Args:
        cores: that may be used.
        num_workers: that play on this machine.
        idle_cores: how many of the machine's cores do nothing; by default `idle_cores_now`.
        gain: speedup of a number of threads over one; by default `gain_of_threads`.
    """
    wanted = min(cores - num_workers, cores // 2)
    if wanted < 2:
        return 1
    free = int((idle_cores or idle_cores_now)()) - num_workers
    threads = min(wanted, free)
    if threads < 2:
        return 1
    return threads if (gain or gain_of_threads)(threads) >= WORTHWHILE else 1


def idle_cores_now(stat: Path = STAT, wait: Callable[[float], None] = time.sleep) -> float:
    """Cores of the machine that did nothing over a tenth of a second; 0 if the system does not report it."""
    try:
        before = _ticks(stat)
        wait(WINDOW_SECONDS)
        after = _ticks(stat)
    except OSError:
        return 0.0
    shares = [
        (idle - idle_before) / (total - total_before)
        for (idle_before, total_before), (idle, total) in zip(before, after, strict=True)
        if total > total_before
    ]
    return sum(shares)


def gain_of_threads(threads: int) -> float:
    """Median of pairs of turns, by the wall clock; torch has as many threads as before afterwards."""
    rows, weights = torch.ones(ROWS, WIDTH), torch.ones(WIDTH, WIDTH)
    outputs = torch.empty(ROWS, WIDTH)

    def seconds(number: int) -> float:
        torch.set_num_threads(number)
        torch.mm(rows, weights, out=outputs)
        started = time.perf_counter()
        for _ in range(PRODUCTS_A_TURN):
            torch.mm(rows, weights, out=outputs)
        return time.perf_counter() - started

    earlier = torch.get_num_threads()
    try:
        return statistics.median(seconds(1) / seconds(threads) for _ in range(PAIRS))
    finally:
        torch.set_num_threads(earlier)


def _ticks(stat: Path) -> list[tuple[int, int]]:
    """(idle, all) ticks of each core so far; one that waits for a disk is idle."""
    found: list[tuple[int, int]] = []
    for line in stat.read_text().splitlines():
        name, *words = line.split()
        if name.startswith("cpu") and name != "cpu":
            numbers = [int(word) for word in words[:8]]
            found.append((numbers[3] + numbers[4], sum(numbers)))
    return found
