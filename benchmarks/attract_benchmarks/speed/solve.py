"""`solve/cartpole_vs_sb3`: how long it takes from nothing to a pole that stands."""

import statistics
from collections.abc import Mapping
from dataclasses import dataclass

from attract_benchmarks.baselines.order import BaselineRequest, run_baseline
from attract_benchmarks.harness.figure import Figure
from attract_benchmarks.harness.measure import BenchOptions, Measure
from attract_benchmarks.harness.training import train
from attract_benchmarks.learning.plan import CARTPOLE_BASELINE

GOAL = 475.0
MAX_STEPS = 1_000_000
"""Limit of our runs; the baseline ends with its schedules."""
BASELINE_STEPS = 100_000
"""As in RL Baselines3 Zoo: its schedules fall to 0 over them."""
RETURN_MEAN = "rollout/ep_rew_mean"


@dataclass(frozen=True)
class Solved:
    """Time that one seed took.

    Attributes:
        seconds: from the first lease, or from the start of `learn()`, until the last 100 training episodes
            averaged the goal; without that all the seconds there were, and `reached` is False.
        steps: collected until then.
        evaluation: mean return of the 100 evaluation episodes after it; None for the baseline.
    """

    seconds: float
    steps: int
    reached: bool
    evaluation: float | None = None


def measure_solve(options: BenchOptions, *, goal: float = GOAL) -> Mapping[str, Figure]:
    """`solve/cartpole_vs_sb3`: seed by seed, the baseline and Attract in turns; seeds are 1 to `rounds`."""
    ours: list[Solved] = []
    theirs: list[Solved] = []
    for seed in range(1, options.rounds + 1):
        theirs.append(_baseline(seed, goal))
        ours.append(_attract(seed, goal))
        options.say(f"  seed {seed}: {ours[-1].seconds:.2f} s, Stable-Baselines3 {theirs[-1].seconds:.2f} s")
    seconds = [run.seconds for run in ours]
    figure = Figure.of(
        seconds,
        "s",
        ratios=[other.seconds / own.seconds for other, own in zip(theirs, ours, strict=True)],
        against="Stable-Baselines3 at its Zoo settings; above 1 is sooner than it",
        better="lower",
        detail={
            "steps": statistics.median(run.steps for run in ours),
            "not_reached": sum(not run.reached for run in ours),
            "worst_evaluation": min(run.evaluation or 0.0 for run in ours),
            "sb3_seconds": statistics.median(run.seconds for run in theirs),
            "sb3_steps": statistics.median(run.steps for run in theirs),
            "sb3_not_reached": sum(not run.reached for run in theirs),
            "ratio_of_medians": statistics.median(run.seconds for run in theirs) / statistics.median(seconds),
        },
    )
    return {"solve/cartpole_vs_sb3": figure}


def _attract(seed: int, goal: float) -> Solved:
    settings = {"until_return": goal, "total_steps": MAX_STEPS}
    training = train("cartpole", seed=seed, settings=settings, metrics=(RETURN_MEAN,))
    # An evaluation that does not hold lets the training go on: the last crossing is the one that held.
    last = training.updates[-1]
    return Solved(
        last.seconds,
        last.collected_steps,
        reached=bool(training.result["goal_reached"]),
        evaluation=float(training.result["episode_return_mean"] or 0.0),
    )


def _baseline(seed: int, goal: float) -> Solved:
    count = CARTPOLE_BASELINE.num_environments
    order = BaselineRequest(
        count,
        CARTPOLE_BASELINE.settings,
        -(-BASELINE_STEPS // (count * CARTPOLE_BASELINE.settings["n_steps"])),
        seed=seed,
        linear=CARTPOLE_BASELINE.linear,
        until_return=goal,
    )
    report = run_baseline("sb3", order)
    reached = report.solved_seconds is not None
    seconds = report.seconds if report.solved_seconds is None else report.solved_seconds
    return Solved(seconds, report.marks[-1][1], reached)


SOLVE = Measure(
    names=("solve/cartpole_vs_sb3",),
    about=f"seconds until the last 100 training episodes average {GOAL:g}, with an evaluation that holds",
    run=measure_solve,
    needs=("stable_baselines3", "gymnasium"),
    by_default=False,
)
