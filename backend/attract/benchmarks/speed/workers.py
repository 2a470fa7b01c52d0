"""Speed with more workers on this machine: playing alone, and a whole training with its learner."""

import statistics
from collections.abc import Mapping

from attract.benchmarks.harness.common_work import GAMES, SKIPPED_UPDATES, train_cartpole, updates_of
from attract.benchmarks.harness.figure import Figure
from attract.benchmarks.harness.measure import BenchOptions, Measure
from attract.benchmarks.harness.page import open_page
from attract.benchmarks.speed.collection import UNIT, Seconds, Task, prepare, rates_of
from attract.settings.run import PolicySettings

NUM_WORKERS = (1, 2, 4, 8)
NAMES = tuple(f"scaling/workers_{count}" for count in NUM_WORKERS)


def _scaling(options: BenchOptions) -> Mapping[str, Figure]:
    figures: dict[str, Figure] = {}
    alone: list[float] = []
    for name, count in zip(NAMES, NUM_WORKERS, strict=True):
        options.say(f"  {count} workers")
        playing, memory = _playing(count, options)
        rates = [
            train_cartpole(
                updates_of(options),
                seed=number,
                shared_trunk=True,
                num_workers=count,
            ).steady_rate(SKIPPED_UPDATES)
            for number in range(1, options.rounds + 1)
        ]
        alone = alone or rates
        figures[name] = Figure.of(
            rates,
            UNIT,
            ratios=[rate / expected for rate, expected in zip(rates, alone, strict=True)],
            against="one worker",
            detail={"playing_alone_steps_per_second": playing}
            | ({} if memory is None else {"renderer_mib": memory}),
        )
    return figures


def _playing(count: int, options: BenchOptions) -> tuple[float, float | None]:
    """Steps/s of so many workers that play and nothing else, and the renderer's MiB meanwhile."""
    seconds = Seconds(options)
    task = Task(
        "cartpole", PolicySettings(hidden_sizes=(64, 64), shared_trunk=True), num_instances=GAMES // count
    )
    with open_page() as page:
        prepare(page, task, count)
        rates_of(page, "rollout", seconds.warm_up, count)
        rates = [sum(rates_of(page, "rollout", seconds.part, count)) for _ in range(options.rounds)]
        resident = page.renderer_bytes()
    return statistics.median(rates), None if resident is None else resident / 2**20


WORKER_SCALING = Measure(
    names=NAMES,
    about=f"a training of CartPole with 1 to 8 workers that share {GAMES} games: steps per second and memory",
    run=_scaling,
    by_default=False,
)
