"""`end_to_end/vs_*`: a real training beside what a user would train with instead, in turns."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from attract_benchmarks.baselines.order import (
    BaselineName,
    BaselineReport,
    BaselineRequest,
    Games,
    run_baseline,
)
from attract_benchmarks.harness.common_work import (
    BASELINE_ENVIRONMENTS,
    GAMES,
    SKIPPED_UPDATES,
    baseline_settings,
    train_cartpole,
    updates_of,
)
from attract_benchmarks.harness.figure import Figure
from attract_benchmarks.harness.measure import BenchOptions, Measure

QUICK_ROLLOUT_STEPS = 128
MANY_ENVIRONMENTS = 512
NEEDS: Mapping[BaselineName, tuple[str, ...]] = {
    "sb3": ("stable_baselines3", "gymnasium"),
    "minimal_ppo": ("gymnasium",),
    "puffer": ("pufferlib",),
}
PUFFERLIB_REASON = "PufferLib 3 is not installed; docs/notebook/performance.md says how to build it"


@dataclass(frozen=True)
class Baseline:
    """One baseline and how long it is watched.

    Attributes:
        figure: its figure's name, without `end_to_end/`.
        name: its program.
        games: whose games it plays.
        words: what the ratio is against.
        iterations: updates; one may be left out.
        skipped: those left out.
        max_rounds: limit for a slow baseline.
        shared_trunk: whether Attract is also measured with its shared trunk, printed beside.
        many: whether the baseline is also measured with 512 environments, printed beside.
    """

    figure: str
    name: BaselineName
    games: Games
    words: str
    iterations: int
    skipped: int = 1
    max_rounds: int = 1_000
    shared_trunk: bool = False
    many: bool = False

    def order(self, seed: int, environments: int, *, quick: bool) -> BaselineRequest:
        """The request of one round."""
        settings = baseline_settings(environments)
        if quick:
            settings["n_steps"] = min(settings["n_steps"], QUICK_ROLLOUT_STEPS)
        return BaselineRequest(environments, settings, self.iterations, games=self.games, seed=seed)


BASELINES = (
    Baseline("vs_sb3", "sb3", "gymnasium", "Stable-Baselines3 on native Gymnasium", 7, shared_trunk=True),
    Baseline(
        "vs_minimal_ppo",
        "minimal_ppo",
        "gymnasium",
        "a minimal PPO on numpy-vectorised Gymnasium",
        11,
        shared_trunk=True,
        many=True,
    ),
    Baseline(
        "vs_pufferlib",
        "puffer",
        "puffer",
        "PufferLib 3 with its CartPole in C",
        9,
        shared_trunk=True,
        many=True,
    ),
    # An update takes half a minute here: nothing is left out, and it need not be seen often.
    Baseline(
        "vs_page_evaluate",
        "sb3",
        "page_evaluate",
        "Stable-Baselines3 over page.evaluate, one game a call",
        1,
        skipped=0,
        max_rounds=3,
    ),
    Baseline("vs_node", "sb3", "node", "Stable-Baselines3 over a Node process, 16 games a line", 6),
)


def measure_versus(baseline: Baseline, options: BenchOptions) -> Mapping[str, Figure]:
    """`end_to_end/<baseline.figure>`: a training of the baseline, then one of Attract, round by round."""
    updates = updates_of(options)
    ours: list[float] = []
    shared: list[float] = []
    theirs: list[BaselineReport] = []
    many: list[float] = []
    for seed in range(1, min(options.rounds, baseline.max_rounds) + 1):
        ordered = baseline.order(seed, BASELINE_ENVIRONMENTS, quick=options.quick)
        theirs.append(run_baseline(baseline.name, ordered))
        ours.append(train_cartpole(updates, seed=seed, shared_trunk=False).steady_rate(SKIPPED_UPDATES))
        if baseline.many:
            report = run_baseline(baseline.name, baseline.order(seed, MANY_ENVIRONMENTS, quick=options.quick))
            many.append(report.steady_rate(baseline.skipped))
        if baseline.shared_trunk:
            training = train_cartpole(updates, seed=seed, shared_trunk=True)
            shared.append(training.steady_rate(SKIPPED_UPDATES))
    rates = [run.steady_rate(baseline.skipped) for run in theirs]
    detail = {
        "baseline_steps_per_second": statistics.median(rates),
        "baseline_environments": BASELINE_ENVIRONMENTS,
        "instances": GAMES,
    }
    for part in ("games", "inference", "learning"):
        detail[f"baseline_{part}_share"] = statistics.median(run.share_of(part) for run in theirs)
    if shared:
        detail["shared_trunk_steps_per_second"] = statistics.median(shared)
        detail["shared_trunk_ratio"] = _ratio(shared, rates)
    if many:
        detail[f"baseline_{MANY_ENVIRONMENTS}_steps_per_second"] = statistics.median(many)
        detail[f"ratio_{MANY_ENVIRONMENTS}"] = _ratio(ours, many)
        detail[f"shared_trunk_ratio_{MANY_ENVIRONMENTS}"] = _ratio(shared, many)
    figure = Figure.of(
        ours,
        "steps/s",
        ratios=[rate / baseline_rate for rate, baseline_rate in zip(ours, rates, strict=True)],
        against=f"{baseline.words}; above 1 is faster than it",
        detail=detail,
    )
    return {f"end_to_end/{baseline.figure}": figure}


def _ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    return statistics.median(own / other for own, other in zip(ours, theirs, strict=True))


def _measure_of(baseline: Baseline) -> Measure:
    run: Callable[[BenchOptions], Mapping[str, Figure]] = partial(measure_versus, baseline)
    return Measure(
        names=(f"end_to_end/{baseline.figure}",),
        about=f"Attract with separate trunks beside {baseline.words}, the same batch, minibatch and epochs",
        run=run,
        needs=NEEDS[baseline.name],
        by_default=False,
        reason_left_out=PUFFERLIB_REASON if baseline.name == "puffer" else "",
    )


VERSUS: tuple[Measure, ...] = tuple(_measure_of(baseline) for baseline in BASELINES)
