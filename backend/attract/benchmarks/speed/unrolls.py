"""The unrolls of LSTM and GRU against cells one after the other by autograd: CPU time, in turns."""

import functools
import statistics
import time
from collections.abc import Callable, Mapping

import torch

from attract.benchmarks.harness.figure import Figure
from attract.benchmarks.harness.in_subprocess import run_apart
from attract.benchmarks.harness.measure import BenchOptions, Measure
from attract.benchmarks.speed.ready_update import TERMINATED, ReadyUpdate, Work
from attract.benchmarks.speed.segments import NUM_ACTIONS, NUM_INPUTS, RECURRENT_SIZE
from attract.policy.recurrent import RecurrentCore, RecurrentName, create_core
from attract.settings.run import PolicySettings, PpoSettings

SIZES = ((256, 64), (64, 32), (16, 32), (8, 16))
"""Segments of a minibatch, and steps of each."""
QUICK_SIZES = ((8, 16),)
PAIRS_PER_ROUND = 3
MINIBATCHES = 4
"""Of a whole update, one epoch."""
STEPS_PER_TURN, QUICK_STEPS_PER_TURN = 16_384, 256
"""Smaller minibatches are taken more often, so that a turn of any size takes long enough to be timed."""

Turn = Callable[[], object]
Ratios = dict[str, list[float]]
"""CPU time of cells / that of the unroll, pair by pair, by what was done."""


def _measured(recurrent: RecurrentName, options: BenchOptions) -> Mapping[str, Figure]:
    sizes = QUICK_SIZES if options.quick else SIZES
    steps = QUICK_STEPS_PER_TURN if options.quick else STEPS_PER_TURN
    rates, ratios = run_apart(_all_sizes, recurrent, sizes, steps, options.rounds * PAIRS_PER_ROUND)
    detail: dict[str, float] = {}
    for name, found in ratios.items():
        low, middle, high = statistics.quantiles(found, n=4, method="inclusive")
        detail |= {name: middle, f"{name}_low": low, f"{name}_high": high}
    return {
        f"learner/unroll_{recurrent}": Figure.of(
            rates,
            "samples/s",
            ratios=next(iter(ratios.values())),
            against="cells one after the other by autograd, cpu",
            detail=detail,
        )
    }


def _all_sizes(
    recurrent: RecurrentName, sizes: tuple[tuple[int, int], ...], steps: int, pairs: int
) -> tuple[list[float], Ratios]:
    """Samples/s of a pass of the first size, and the ratios of passes and whole updates of all."""
    rates: list[float] = []
    ratios: Ratios = {}
    for segments, horizon in sizes:
        size = f"{segments}x{horizon}"
        repeats = max(1, steps // (segments * horizon))
        passes = _in_turns(*_passes(recurrent, segments, horizon), pairs, repeats)
        updates = _in_turns(*_updates(recurrent, segments, horizon), pairs, max(1, repeats // MINIBATCHES))
        rates = rates or [repeats * segments * horizon / seconds for seconds, _ in passes]
        ratios[f"pass_{size}"] = [theirs / ours for ours, theirs in passes]
        ratios[f"update_{size}"] = [theirs / ours for ours, theirs in updates]
    return rates, ratios


def _passes(recurrent: RecurrentName, segments: int, horizon: int) -> tuple[Turn, Turn]:
    """Forward and backward of a core: with its own unroll, and by its cells."""
    generator = torch.Generator().manual_seed(1)
    core = create_core(recurrent, NUM_INPUTS, RECURRENT_SIZE, generator)
    inputs = torch.randn(horizon, segments, NUM_INPUTS, generator=generator)
    state = 0.1 * torch.randn(segments, core.state_size, generator=generator)
    reset_after = torch.rand(horizon, segments, generator=generator) < TERMINATED
    gradient = torch.randn(horizon, segments, core.state_size, generator=generator)

    def run(kind: type[RecurrentCore]) -> None:
        kind.unroll(core, inputs, state, reset_after).backward(gradient)
        core.zero_grad()

    return functools.partial(run, type(core)), functools.partial(run, RecurrentCore)


def _updates(recurrent: RecurrentName, segments: int, horizon: int) -> tuple[Turn, Turn]:
    """A whole PPO update of four such minibatches: with the core's own unroll, and by its cells."""
    ppo = PpoSettings(horizon=horizon, num_minibatches=MINIBATCHES, n_epochs=1, target_kl=None)
    policy = PolicySettings(hidden_sizes=(), recurrent=recurrent, recurrent_size=RECURRENT_SIZE)
    work = Work(NUM_INPUTS, NUM_ACTIONS, MINIBATCHES * segments, policy, ppo)
    own, by_cells = (ReadyUpdate(work, torch.device("cpu")) for _ in range(2))
    core = by_cells.policy.core
    assert core is not None
    core.unroll = functools.partial(RecurrentCore.unroll, core)
    return own.run, by_cells.run


def _in_turns(ours: Turn, theirs: Turn, pairs: int, repeats: int) -> list[tuple[float, float]]:
    """CPU seconds of `repeats` calls of each, pair by pair; each is first as often as the other."""
    ours()
    theirs()
    found: list[tuple[float, float]] = []
    for pair in range(pairs):
        if pair % 2 == 0:
            seconds = _cpu_seconds(ours, repeats)
            found.append((seconds, _cpu_seconds(theirs, repeats)))
        else:
            seconds = _cpu_seconds(theirs, repeats)
            found.append((_cpu_seconds(ours, repeats), seconds))
    return found


def _cpu_seconds(function: Turn, repeats: int) -> float:
    started = time.process_time()
    for _ in range(repeats):
        function()
    return time.process_time() - started


def _measure(recurrent: RecurrentName) -> Measure:
    return Measure(
        names=(f"learner/unroll_{recurrent}",),
        about=f"the {recurrent.upper()}'s unroll against cells by autograd: passes and updates, CPU time",
        run=functools.partial(_measured, recurrent),
        by_default=False,
    )


UNROLLS: tuple[Measure, ...] = (_measure("lstm"), _measure("gru"))
