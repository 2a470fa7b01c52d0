"""How fast the player that ships decides, beside ONNX Runtime for the web at batch 1, in the same browser."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from attract.settings.run import PolicySettings
from attract_benchmarks.harness.figure import Figure
from attract_benchmarks.harness.measure import BenchOptions, Measure
from attract_benchmarks.harness.page import open_page
from attract_benchmarks.speed.collection import CARTPOLE, MLP256, Part, Seconds, Task, prepare, rates_of

PICTURE = Task("harvest", PolicySettings(hidden_sizes=(64,), cnn="small", shared_trunk=True))
TASKS: Mapping[str, Task] = {"play/cartpole": CARTPOLE, "play/mlp256": MLP256, "play/picture": PICTURE}
PARTS: tuple[Part, ...] = ("inference", "player")


def play_figure(rounds: Sequence[Mapping[Part, float]]) -> Figure:
    """Decisions per second of the player, against ONNX Runtime's.

    Args:
        rounds: decisions per second of each of `PARTS`, measured in turns.
    """
    return Figure.of(
        [rates["player"] for rates in rounds],
        "decisions/s",
        ratios=[rates["player"] / rates["inference"] for rates in rounds],
        against="session.run of ONNX Runtime for the web, one observation at a time",
        detail={
            "player_us": statistics.median(1e6 / rates["player"] for rates in rounds),
            "onnx_runtime_us": statistics.median(1e6 / rates["inference"] for rates in rounds),
        },
    )


def _play(options: BenchOptions) -> Mapping[str, Figure]:
    seconds = Seconds(options)
    figures: dict[str, Any] = {}
    with open_page() as page:
        for name, task in TASKS.items():
            page.stop_workers()
            prepare(page, replace(task, num_instances=1), is_shipped=True)
            for part in PARTS:
                rates_of(page, part, seconds.warm_up)
            figures[name] = play_figure(
                [
                    {part: rates_of(page, part, seconds.part)[0] for part in PARTS}
                    for _ in range(options.rounds)
                ]
            )
    return figures


PLAY = Measure(
    names=tuple(TASKS),
    about="decisions of agent.js, the player that ships, against ONNX Runtime for the web at batch 1",
    run=_play,
)
