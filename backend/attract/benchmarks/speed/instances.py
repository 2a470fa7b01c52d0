"""Speed and memory of a worker, with one instance of a game to thousands."""

import statistics
from collections.abc import Mapping

from attract.benchmarks.harness.figure import Figure
from attract.benchmarks.harness.measure import BenchOptions, Measure
from attract.benchmarks.harness.page import open_page
from attract.benchmarks.speed.collection import CARTPOLE, UNIT, Seconds, Task, prepare, rates_of

INSTANCES = (1, 4, 16, 64, 256, 1024, 4096)
NAMES = tuple(f"scaling/instances_{num_instances}" for num_instances in INSTANCES)


def _scaling(options: BenchOptions) -> Mapping[str, Figure]:
    seconds = Seconds(options)
    figures: dict[str, Figure] = {}
    best = 0.0
    with open_page() as page:
        for name, num_instances in zip(NAMES, INSTANCES, strict=True):
            options.say(f"  {num_instances} instances")
            page.stop_workers()
            prepare(page, Task(CARTPOLE.game, CARTPOLE.policy, num_instances, CARTPOLE.horizon))
            rates_of(page, "rollout", seconds.warm_up)
            rates = [rates_of(page, "rollout", seconds.part)[0] for _ in range(options.rounds)]
            resident = page.renderer_bytes()
            figures[name] = Figure.of(
                rates,
                UNIT,
                ratios=[rate / best for rate in rates] if best > 0 else None,
                against="the best with fewer instances" if best > 0 else "",
                detail={} if resident is None else {"renderer_mib": resident / 2**20},
            )
            best = max(best, statistics.median(rates))
    return figures


INSTANCE_SCALING = Measure(
    names=NAMES,
    about="one worker with 1 to 4,096 CartPoles: steps per second and memory",
    run=_scaling,
    by_default=False,
)
