"""`end_to_end/cartpole`: a real training, against the most that this machine's cores could do."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch

from attract.processes.cores import usable_cores
from attract.settings.run import PolicySettings
from attract_benchmarks.harness.common_work import (
    GAMES,
    INSTANCES,
    PHASES,
    SHARES,
    SKIPPED_UPDATES,
    train_cartpole,
    updates_of,
)
from attract_benchmarks.harness.figure import Figure
from attract_benchmarks.harness.in_subprocess import run_apart
from attract_benchmarks.harness.measure import BenchOptions, Measure
from attract_benchmarks.harness.page import open_page
from attract_benchmarks.harness.training import Training
from attract_benchmarks.speed.bare_fused_ppo import BareFusedPpo
from attract_benchmarks.speed.collection import Seconds, Task, prepare, rates_of
from attract_benchmarks.speed.ready_update import ReadyUpdate, cartpole_work

BARE_UPDATES = 5


@dataclass(frozen=True)
class Bare:
    """Minimum cost of a step in seconds of one core, and the rate that follows for all cores.

    Attributes:
        learner: the bare PPO loop's with the learner's arithmetic, all epochs of it.
        collection: `session.run` and the game's tick alone.
        cores: that there are.
    """

    learner: float
    collection: float
    cores: int

    @property
    def steps_per_second(self) -> float:
        """Steps per second if the cores shared all work evenly and never idled: an upper bound."""
        return self.cores / (self.learner + self.collection)


def _end_to_end(options: BenchOptions) -> Mapping[str, Figure]:
    trainings: list[Training] = []
    bare: list[Bare] = []
    for number in range(1, options.rounds + 1):
        bare.append(_measure_bare(options))
        trainings.append(train_cartpole(updates_of(options), seed=number, shared_trunk=True))
    rates = [training.steady_rate(SKIPPED_UPDATES) for training in trainings]
    figure = Figure.of(
        rates,
        "steps/s",
        ratios=[rate / bound.steps_per_second for rate, bound in zip(rates, bare, strict=True)],
        against="(learner + collection) / cores, bare",
        detail={
            "bare_learner_us_per_step": statistics.median(1e6 * figures.learner for figures in bare),
            "bare_collection_us_per_step": statistics.median(1e6 * figures.collection for figures in bare),
            "bound_steps_per_second": statistics.median(figures.steps_per_second for figures in bare),
            "cores": bare[0].cores,
            "instances": GAMES,
            **time_of_an_update(trainings),
        },
    )
    return {"end_to_end/cartpole": figure}


def time_of_an_update(trainings: Sequence[Training]) -> dict[str, float]:
    """Parts of one update's time, in ms, medians over the runs.

    `update_ms` is from one committed update to the next. Of it the learner's thread loads for `load_ms`,
    computes for `compute_ms`, and has no batch for `handover_ms`, each by its own clock; the rest it hands
    over what it has done. The checkpoint's `checkpoint_ms` are another thread's.
    """
    every: list[dict[str, float]] = []
    for training in trainings:
        steady = training.updates[SKIPPED_UPDATES:]
        mean = 1e3 * (steady[-1].seconds - steady[0].seconds) / (len(steady) - 1)
        parts = {short: 1e3 * training.mean(name, SKIPPED_UPDATES) for short, name in PHASES.items()}
        shares = {short: training.mean(name, SKIPPED_UPDATES) for short, name in SHARES.items()}
        every.append({"update_ms": mean, **parts, **shares})
    return {name: statistics.median(figures[name] for figures in every) for name in every[0]}


def _measure_bare(options: BenchOptions) -> Bare:
    seconds = Seconds(options)
    task = Task("cartpole", PolicySettings(shared_trunk=True), num_instances=INSTANCES)
    with open_page() as page:
        prepare(page, task)
        for part in ("inference", "tick"):
            rates_of(page, part, seconds.warm_up)
        inference, tick = (rates_of(page, part, seconds.part)[0] for part in ("inference", "tick"))
    learner = run_apart(_bare_learner, 1 if options.quick else BARE_UPDATES)
    return Bare(learner, 1 / inference + 1 / tick, usable_cores())


def _bare_learner(updates: int) -> float:
    """Seconds per step of the bare loop, after one update that does not count."""
    work = cartpole_work()
    bare = BareFusedPpo(ReadyUpdate(work, torch.device("cpu")))
    bare.run()
    return sum(bare.run() for _ in range(updates)) / (updates * work.num_steps)


END_TO_END = Measure(
    names=("end_to_end/cartpole",),
    about="`attract train cartpole --headless` once it is under way, against all work shared by all cores",
    run=_end_to_end,
)
