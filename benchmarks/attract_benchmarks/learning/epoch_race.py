"""How soon plain games are solved with fewer epochs, other rates and minibatches, raced against the defaults.

A combination leaves the race once its time to the goal is clearly longer than the defaults' in the same
blocks. A block is a game with a seed: all combinations that are left run in it one after the other, in a
random order, so that what else the machine does hits all alike. A run that misses its goal counts twice.

    python -m attract_benchmarks.learning.epoch_race RECORD.jsonl [--minutes 60] [--only 2x0.0025x256 ...]

Goes on with the record of an earlier call, and prints the table of it. It takes two quiet cores for hours,
less with `--only` the defaults and those named.
"""

import argparse
import json
import math
import random
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable
from itertools import product
from pathlib import Path
from typing import NamedTuple

from attract.processes.exit_codes import DONE, GOAL_MISSED
from attract_benchmarks.harness.command_line import attract
from attract_benchmarks.learning.suite import SUITE_DIR

GOALS = {
    "cart-pole": (475.0, 400_000),
    "jumper": (200.0, 600_000),
    "acrobot": (-85.0, 700_000),
    "mountain-car-continuous": (88.3, 400_000),
    "thruster": (150.0, 700_000),
    "merge": (500.0, 1_000_000),
    "exit": (-10.0, 1_500_000),
    "mountain-car": (-115.0, 1_500_000),
}
"""Per game: the mean return that ends a run, and the agent steps after which the goal is missed."""
SEEDS = (1, 2, 3, 4, 5)
SCHEDULE_STEPS = 1_000_000
"""What the rate falls over where a user names no end; the cap of steps must not change it."""
MIN_BLOCKS = 4


class Combination(NamedTuple):
    """What is raced."""

    epochs: int
    rate: float
    minibatch: int

    def __str__(self) -> str:
        return f"{self.epochs}x{self.rate:g}x{self.minibatch}"


DEFAULTS = Combination(4, 2.5e-3, 256)
FIELD = tuple(Combination(*each) for each in product((1, 2, 4), (1.25e-3, 2.5e-3, 5e-3), (128, 256, 512)))
Times = dict[tuple[str, int], dict[Combination, float]]
"""Seconds per block and combination, doubled where the goal was missed."""


def measure(combination: Combination, game: str, seed: int, folder: Path) -> dict[str, object]:
    """Train until the goal; what the record keeps of it."""
    goal, most = GOALS[game]
    ended = attract(
        "train", str(SUITE_DIR / f"{game}.ts"), "--headless", "--no-check", "--json", "--force",
        "--run-id", "race", "--seed", str(seed), "--until-return", str(goal), "--total-steps", str(most),
        "--ppo.schedule-steps", str(SCHEDULE_STEPS), "--ppo.n-epochs", str(combination.epochs),
        "--ppo.learning-rate", str(combination.rate), "--ppo.minibatch-steps", str(combination.minibatch),
        runs_dir=folder, accepted=(DONE, GOAL_MISSED),
    )  # fmt: skip
    return {
        "game": game,
        "seed": seed,
        **combination._asdict(),
        "seconds": ended["wall_seconds"],
        "steps": ended["agent_steps"],
        "reached": ended["goal_reached"],
    }


def times_of(rows: Iterable[dict[str, object]]) -> Times:
    """The record by blocks."""
    times: Times = defaultdict(dict)
    for row in rows:
        combination = Combination(int(row["epochs"]), float(row["rate"]), int(row["minibatch"]))  # pyright: ignore[reportArgumentType]
        seconds = float(row["seconds"]) * (1 if row["reached"] else 2)  # pyright: ignore[reportArgumentType]
        times[str(row["game"]), int(row["seed"])][combination] = seconds  # pyright: ignore[reportArgumentType]
    return times


def log_ratios(times: Times, combination: Combination) -> list[float]:
    """Log ratio of the time to that of the defaults, for each block that both have run."""
    return [
        math.log(block[combination] / block[DEFAULTS])
        for block in times.values()
        if combination in block and DEFAULTS in block
    ]


def is_left_behind(ratios: list[float]) -> bool:
    """Whether a combination is slower than the defaults by more than one standard error."""
    if len(ratios) < MIN_BLOCKS:
        return False
    return statistics.mean(ratios) > statistics.stdev(ratios) / math.sqrt(len(ratios))


def table(times: Times) -> str:
    """A line a combination, the soonest first: blocks, time beside the defaults', its error, and by game."""
    lines: list[tuple[float, str]] = []
    for combination in FIELD:
        ratios = log_ratios(times, combination)
        if not ratios:
            continue
        mean = statistics.mean(ratios)
        error = statistics.stdev(ratios) / math.sqrt(len(ratios)) if len(ratios) > 1 else 0.0
        games = {
            game: [
                math.log(block[combination] / block[DEFAULTS])
                for (name, _), block in times.items()
                if name == game and combination in block and DEFAULTS in block
            ]
            for game in GOALS
        }
        by_game = "  ".join(
            f"{game} {math.exp(statistics.mean(each)):.2f}" for game, each in games.items() if each
        )
        lines.append(
            (
                mean,
                f"{combination!s:14} {len(ratios):3} blocks"
                f"  {math.exp(mean):.2f} (x/: {math.exp(error):.2f})  {by_game}",
            )
        )
    return "\n".join(line for _, line in sorted(lines))


def main() -> None:
    """Race until the minutes are over or every block is run."""
    parser = argparse.ArgumentParser()
    parser.add_argument("record", type=Path)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--only", nargs="*", choices=[str(each) for each in FIELD])
    order = parser.parse_args()
    record: Path = order.record
    rows = [json.loads(line) for line in record.read_text().splitlines()] if record.exists() else []
    ends = time.monotonic() + 60 * order.minutes
    with tempfile.TemporaryDirectory() as folder, record.open("a", encoding="utf-8") as out:
        for seed, game in product(SEEDS, GOALS):
            times = times_of(rows)
            racing = [
                each
                for each in FIELD
                if each == DEFAULTS
                or (str(each) in order.only if order.only else not is_left_behind(log_ratios(times, each)))
            ]
            open_runs = [each for each in racing if each not in times[game, seed]]
            random.Random(f"{seed} {game}").shuffle(open_runs)
            for combination in open_runs:
                if time.monotonic() > ends:
                    break
                rows.append(measure(combination, game, seed, Path(folder)))
                print(json.dumps(rows[-1]), file=out, flush=True)
    print(table(times_of(rows)))


if __name__ == "__main__":
    main()
