"""A large batch of recurrent segments: how near one pass comes to the device's peak, and what bounds it."""

import functools
from collections.abc import Mapping

import torch
from torch.profiler import ProfilerActivity, profile

from attract.benchmarks.harness.figure import Figure
from attract.benchmarks.harness.in_subprocess import run_apart
from attract.benchmarks.harness.measure import BenchOptions, Measure
from attract.benchmarks.speed.learning import check_device, median
from attract.benchmarks.speed.matmul import matmul_gflops
from attract.benchmarks.speed.ready_update import ReadyUpdate, Work
from attract.policy.recurrent import RecurrentName
from attract.settings.run import PolicySettings, PpoSettings

SEGMENTS, QUICK_SEGMENTS = 8192, 256
HORIZON = 64
NUM_INPUTS, NUM_ACTIONS = 64, 8
RECURRENT_SIZE = 128
NUM_GATES: Mapping[RecurrentName, int] = {"lstm": 4, "gru": 3}
FIGURES: Mapping[RecurrentName, str] = {
    "lstm": "learner/segments_8192x64",
    "gru": "learner/segments_gru_8192x64",
}
MINIBATCH_SEGMENTS = 256
MAX_ROUNDS = 3
PRODUCTS = ("aten::mm", "aten::addmm", "aten::addmm_")
"""Operators that are matrix products; all others move numbers or work on them one by one."""


def _segments(recurrent: RecurrentName, options: BenchOptions) -> Mapping[str, Figure]:
    check_device(options.device)
    segments = QUICK_SEGMENTS if options.quick else SEGMENTS
    rounds = run_apart(_rounds, recurrent, segments, options.device, min(options.rounds, MAX_ROUNDS))
    flops = flops_per_sample(recurrent)
    gflops = [rate * flops / 1e9 for rate, _, _ in rounds]
    shares = [reached / peak for reached, (_, peak, _) in zip(gflops, rounds, strict=True)]
    product_time = median([share for _, _, share in rounds])
    return {
        FIGURES[recurrent]: Figure.of(
            [rate for rate, _, _ in rounds],
            "samples/s",
            ratios=shares,
            against=f"peak of the float32 product, {options.device}",
            detail={
                "gflops": median(gflops),
                "peak_gflops": median([peak for _, peak, _ in rounds]),
                "flops_per_sample": flops,
                "time_share_of_products": product_time,
                "share_of_peak_within_products": median(shares) / product_time,
            },
        )
    }


def segments_work(segments: int, recurrent: RecurrentName = "lstm") -> Work:
    """64 inputs, LSTM or GRU of 128, heads on its output; one pass in minibatches of 256 segments."""
    ppo = PpoSettings(
        horizon=HORIZON, num_minibatches=max(1, segments // MINIBATCH_SEGMENTS), n_epochs=1, target_kl=None
    )
    policy = PolicySettings(hidden_sizes=(), recurrent=recurrent, recurrent_size=RECURRENT_SIZE)
    return Work(NUM_INPUTS, NUM_ACTIONS, segments, policy, ppo)


def flops_per_sample(recurrent: RecurrentName = "lstm") -> float:
    """Of the matrix products of one step, forward and backward: each product of n x m weights is 2 n m.

    Backward takes two products for each forward one: for the weights, and for what went in; the
    observations' own gradient is not needed.
    """
    of_inputs = 2 * NUM_INPUTS * NUM_GATES[recurrent] * RECURRENT_SIZE
    of_state = 2 * RECURRENT_SIZE * NUM_GATES[recurrent] * RECURRENT_SIZE
    of_heads = 2 * RECURRENT_SIZE * (NUM_ACTIONS + 1)
    return 2.0 * of_inputs + 3.0 * (of_state + of_heads)


def _rounds(
    recurrent: RecurrentName, segments: int, device: str, rounds: int
) -> list[tuple[float, float, float]]:
    """Samples/s, the peak in GFLOP/s and the products' share of the time, round by round."""
    on = torch.device(device)
    work = segments_work(segments, recurrent)
    ready = ReadyUpdate(work, on)
    small = ReadyUpdate(segments_work(MINIBATCH_SEGMENTS, recurrent), on)
    small.run()
    return [
        (work.num_samples / ready.run(), matmul_gflops(on), _product_share(small, on)) for _ in range(rounds)
    ]


def _product_share(ready: ReadyUpdate, device: torch.device) -> float:
    """Share of the time of one update that is spent inside matrix products, on the device that does them."""
    on_gpu = device.type == "cuda"
    activities = [ProfilerActivity.CPU, ProfilerActivity.CUDA] if on_gpu else [ProfilerActivity.CPU]
    with profile(activities=activities) as recorded:
        ready.run()
    products = every = 0.0
    for event in recorded.key_averages():
        if on_gpu and not event.key.startswith("aten::"):
            # The kernels themselves are listed as well; their time is that of the operators that ran them.
            continue
        own = event.self_device_time_total if on_gpu else event.self_cpu_time_total
        every += own
        products += own if event.key in PRODUCTS else 0.0
    return products / every


SEGMENT_LEARNER: tuple[Measure, ...] = tuple(
    Measure(
        names=(name,),
        about=f"one pass over 8,192 segments of 64 steps, 64 inputs, {recurrent.upper()} 128, "
        "against the matrix product's peak",
        run=functools.partial(_segments, recurrent),
    )
    for recurrent, name in FIGURES.items()
)
