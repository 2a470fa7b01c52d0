"""`end_to_end/page_vs_page_evaluate`: Meteors trained in its page, beside the usual way to train a page."""

import statistics
from collections.abc import Mapping

from attract_benchmarks.baselines.order import BaselineRequest, run_baseline
from attract_benchmarks.harness.figure import Figure
from attract_benchmarks.harness.measure import BenchOptions, Measure
from attract_benchmarks.harness.training import train

PAGES = (1, 8)
"""Pages of the baseline, all at once; Attract uses as many as it chooses."""
ITERATIONS = 3
ROLLOUT_STEPS = 128
QUICK_ROLLOUT_STEPS = 16
STEPS = 200_000
QUICK_STEPS = 40_000
SKIPPED_UPDATES = 3


def measure_page_versus(options: BenchOptions) -> Mapping[str, Figure]:
    """Decisions a second of a whole training, round by round; seeds are 1 to `rounds`."""
    steps = QUICK_STEPS if options.quick else STEPS
    n_steps = QUICK_ROLLOUT_STEPS if options.quick else ROLLOUT_STEPS
    ours: list[float] = []
    theirs: dict[int, list[float]] = {pages: [] for pages in PAGES}
    for seed in range(1, options.rounds + 1):
        for pages in PAGES:
            settings = {"n_steps": n_steps, "batch_size": n_steps}
            order = BaselineRequest(pages, settings, ITERATIONS, games="real_time_pages", seed=seed)
            theirs[pages].append(run_baseline("sb3", order).steady_rate(1))
        training = train("meteors", seed=seed, settings={"total_steps": steps})
        ours.append(training.steady_rate(SKIPPED_UPDATES))
        options.say(f"  seed {seed}: {ours[-1]:.0f} steps/s, pages in real time {theirs[PAGES[-1]][-1]:.0f}")
    most, single = theirs[PAGES[-1]], theirs[PAGES[0]]
    figure = Figure.of(
        ours,
        "steps/s",
        ratios=[own / other for own, other in zip(ours, most, strict=True)],
        against=f"Stable-Baselines3 over page.evaluate, {PAGES[-1]} pages in real time; above 1 is faster",
        detail={
            "baseline_steps_per_second": statistics.median(most),
            "baseline_single_page_steps_per_second": statistics.median(single),
            "single_page_ratio": statistics.median(
                own / other for own, other in zip(ours, single, strict=True)
            ),
        },
    )
    return {"end_to_end/page_vs_page_evaluate": figure}


PAGE_VERSUS = Measure(
    names=("end_to_end/page_vs_page_evaluate",),
    about="Meteors, which lives in a page, beside Stable-Baselines3 over page.evaluate in pages in real time",
    run=measure_page_versus,
    needs=("stable_baselines3", "gymnasium"),
    by_default=False,
)
