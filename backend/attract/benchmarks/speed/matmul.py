"""The device's peak: float32 matrix products, the fastest of a few sizes."""

import time
from collections.abc import Mapping

import torch

from attract.benchmarks.harness.figure import Figure
from attract.benchmarks.harness.in_subprocess import run_apart
from attract.benchmarks.harness.measure import BenchOptions, Measure

SIZES = (256, 512, 1024)
"""Side of the square matrices, from what fits into a core's cache to what does not."""
QUICK_SIZES = (256,)
FLOPS_PER_TRIAL = 2e9
TRIALS = 3


def _matmul(options: BenchOptions) -> Mapping[str, Figure]:
    rounds = run_apart(_rounds, options.rounds, QUICK_SIZES if options.quick else SIZES)
    return {"parts/matmul_gflops": Figure.of(rounds, "GFLOP/s")}


def matmul_gflops(device: torch.device, sizes: tuple[int, ...] = SIZES) -> float:
    """The fastest rate of float32 products of n x n matrices, 2 n^3 operations each, in GFLOP/s.

    With as many threads as torch has now.
    """
    return max(_rate(size, device) for size in sizes)


def synchronise(device: torch.device) -> None:
    """Wait until the device has done all it was given; nothing to wait for on a CPU."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def _rounds(rounds: int, sizes: tuple[int, ...]) -> list[float]:
    torch.set_num_threads(1)
    return [matmul_gflops(torch.device("cpu"), sizes) for _ in range(rounds)]


def _rate(size: int, device: torch.device) -> float:
    first = torch.randn((size, size), device=device)
    second = torch.randn((size, size), device=device)
    product = torch.empty((size, size), device=device)
    flops = 2.0 * size**3
    repeats = max(1, round(FLOPS_PER_TRIAL / flops))
    best = 0.0
    for _ in range(TRIALS):
        torch.mm(first, second, out=product)
        synchronise(device)
        started = time.perf_counter()
        for _ in range(repeats):
            torch.mm(first, second, out=product)
        synchronise(device)
        best = max(best, flops * repeats / (time.perf_counter() - started))
    return best / 1e9


MATMUL = Measure(
    names=("parts/matmul_gflops",),
    about="the peak of torch's float32 matrix product, one thread of the CPU",
    run=_matmul,
)
