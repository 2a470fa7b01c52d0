"""The learner's own speed: `ppo_update` against the bare loop, and what size does to it."""

import resource
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import torch

from attract.benchmarks.harness.figure import Figure
from attract.benchmarks.harness.in_subprocess import run_apart
from attract.benchmarks.harness.measure import BenchOptions, Measure
from attract.benchmarks.speed.bare_fused_ppo import BareFusedPpo
from attract.benchmarks.speed.bare_ppo import BarePpo
from attract.benchmarks.speed.ready_update import ReadyUpdate, Work, cartpole_work
from attract.errors import ConfigurationError

UPDATES_PER_ROUND = 5
QUICK_STEPS = 8192
SIZES = (1_024, 10_240, 102_400, 1_048_576, 10_485_760)
"""Steps of one batch, about 10^3 to 10^7."""
QUICK_SIZES = (1_024, 10_240)
STEPS_PER_ROUND = 200_000
"""Smaller batches are trained on more often, so that a round of any size takes long enough to be timed."""


def _cpu(options: BenchOptions) -> Mapping[str, Figure]:
    return _against_bare({"learner/cpu": True, "learner/cpu_separate": False}, options, "cpu")


def _cuda(options: BenchOptions) -> Mapping[str, Figure]:
    check_device("cuda")
    return _against_bare({"learner/cuda": True}, options, "cuda")


def _sizes(options: BenchOptions) -> Mapping[str, Figure]:
    check_device(options.device)
    sizes = QUICK_SIZES if options.quick else SIZES
    rounds = [_by_size(sizes, options.device) for _ in range(options.rounds)]
    detail: dict[str, float] = {}
    for place, size in enumerate(sizes):
        rates = sorted(sizes[place][0] for sizes in rounds)
        detail[f"samples_per_s_{size}"] = rates[len(rates) // 2]
        detail[f"peak_mib_{size}"] = max(sizes[place][1] for sizes in rounds)
    largest = [sizes[-1][0] for sizes in rounds]
    ratios = [sizes[-1][0] / max(rate for rate, _ in sizes[:-1]) for sizes in rounds]
    against = f"the best smaller batch, {options.device}"
    return {"scaling/learner": Figure.of(largest, "samples/s", ratios=ratios, against=against, detail=detail)}


def check_device(name: str) -> torch.device:
    """The device of that name.

    Raises: ConfigurationError: when this machine, or its torch, has none.
    """
    if name == "cuda" and not torch.cuda.is_available():
        raise ConfigurationError(
            "torch finds no CUDA device", setting="attract bench --device", fix="measure with --device cpu"
        )
    return torch.device(name)


def _against_bare(trunks: dict[str, bool], options: BenchOptions, device: str) -> dict[str, Figure]:
    figures: dict[str, Figure] = {}
    for name, shared in trunks.items():
        work = cartpole_work(shared_trunk=shared, num_steps=QUICK_STEPS if options.quick else 32_768)
        updates = 1 if options.quick else UPDATES_PER_ROUND
        rounds = run_apart(_rounds, work, device, options.rounds, updates)
        ours, bare, autograd, plain = ([rates[place] for rates in rounds] for place in range(4))
        figures[name] = Figure.of(
            ours,
            "samples/s",
            ratios=[rate / best for rate, best in zip(ours, bare, strict=True)],
            against=f"a bare PPO loop with the same arithmetic, {device}",
            detail={
                "bare_samples_per_s": median(bare),
                "bare_autograd_samples_per_s": median(autograd),
                "bare_plain_layers_samples_per_s": median(plain),
            },
        )
    return figures


def median(numbers: Sequence[float]) -> float:
    """The middle one; of two the upper."""
    return sorted(numbers)[len(numbers) // 2]


def _rounds(work: Work, device: str, rounds: int, updates: int) -> list[tuple[float, ...]]:
    """Samples/s of the update and of three bare loops, round by round.

    These are: with the arithmetic that the update takes there, with autograd, and that with torch's layers.
    """
    ready = ReadyUpdate(work, check_device(device))
    autograd = BarePpo(ready)
    best = BareFusedPpo(ready) if device == "cpu" else autograd
    runs: tuple[Callable[[], float], ...] = (
        ready.run,
        best.run,
        autograd.run,
        BarePpo(ready, plain=True).run,
    )
    for run in runs:
        run()
    found: list[tuple[float, ...]] = []
    for _ in range(rounds):
        seconds = [0.0] * len(runs)
        for _ in range(updates):
            for place, run in enumerate(runs):
                seconds[place] += run()
        found.append(tuple(updates * work.num_samples / spent for spent in seconds))
    return found


def _by_size(sizes: Sequence[int], device: str) -> list[tuple[float, float]]:
    """Samples/s and the process's peak memory in MiB at each size, each in a fresh process."""
    return [run_apart(_one_size, size, device) for size in sizes]


def _one_size(num_steps: int, device: str) -> tuple[float, float]:
    work = cartpole_work(num_steps=num_steps)
    ready = ReadyUpdate(work, check_device(device))
    ready.run()
    updates = max(1, STEPS_PER_ROUND // num_steps)
    seconds = sum(ready.run() for _ in range(updates))
    return updates * work.num_samples / seconds, _peak_mib(device)


def _peak_mib(device: str) -> float:
    if device == "cuda":
        return torch.cuda.max_memory_allocated() / 2**20
    status = Path("/proc/self/status")
    if status.exists():
        # Not `getrusage`, whose peak on Linux counts the process that started this one.
        return int(status.read_text().split("VmHWM:")[1].split()[0]) / 2**10
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10


LEARNER: tuple[Measure, ...] = (
    Measure(
        names=("learner/cpu", "learner/cpu_separate"),
        about="ppo_update on a ready batch of CartPole's size, one trunk and two, against a bare loop",
        run=_cpu,
    ),
    Measure(names=("learner/cuda",), about="the same on a GPU, shared trunk", run=_cuda, by_default=False),
    Measure(
        names=("scaling/learner",),
        about="ppo_update on 10^3 to 10^7 steps: the largest batch against the best of the others; memory",
        run=_sizes,
        by_default=False,
    ),
)
