"""The learner's own speed: `ppo_update` against the bare loop, and what size does to it."""

from collections.abc import Callable, Mapping, Sequence

import torch

from attract.errors import ConfigurationError
from attract_benchmarks.harness.figure import Figure
from attract_benchmarks.harness.in_subprocess import run_apart
from attract_benchmarks.harness.measure import BenchOptions, Measure
from attract_benchmarks.speed.bare_fused_ppo import BareFusedPpo
from attract_benchmarks.speed.bare_ppo import BarePpo
from attract_benchmarks.speed.ready_update import ReadyUpdate, Work, cartpole_work

UPDATES_PER_ROUND = 5
QUICK_STEPS = 8192


def _cpu(options: BenchOptions) -> Mapping[str, Figure]:
    return _against_bare({"learner/cpu": True, "learner/cpu_separate": False}, options, "cpu")


def _cuda(options: BenchOptions) -> Mapping[str, Figure]:
    check_device("cuda")
    return _against_bare({"learner/cuda": True}, options, "cuda")


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


LEARNER: tuple[Measure, ...] = (
    Measure(
        names=("learner/cpu", "learner/cpu_separate"),
        about="ppo_update on a ready batch of CartPole's size, one trunk and two, against a bare loop",
        run=_cpu,
    ),
    Measure(names=("learner/cuda",), about="the same on a GPU, shared trunk", run=_cuda, by_default=False),
)
