"""Commands that measure: `bench` and `results`."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter
from cyclopts.validators import Number
from rich.console import Console

from attract.commands import flags


@flags.options
class BenchFlags:
    only: Annotated[list[str] | None, Parameter(consume_multiple=True)] = None
    """Figures to measure, by name or by the part before the slash."""
    peers: bool = False
    """Train with the baselines too and print the ratios."""
    rounds: Annotated[int, flags.AtLeastOne] = 5
    """Rounds of each figure; medians are printed."""
    device: Literal["cpu", "cuda"] = "cpu"
    """Torch's device for the learner's figures."""
    quick: bool = False
    """Short rounds: shows a collapse, not a few percent."""
    compare: Path | None = None
    """An earlier result; says what got slower than there. Exit code 1 when something did, 2 when a measure
    failed."""
    out: Path | None = None
    """Where to keep the JSON, to be compared with later."""
    list_figures: Annotated[bool, Parameter(name="--list")] = False
    """Name every figure and what it is, and measure nothing."""
    json_output: flags.Json = False


def bench(options: BenchFlags = BenchFlags()) -> int:
    """Measure what this machine reaches, each figure as a ratio to its bare parts of the same run.

    Examples
    --------
    attract bench --list  # what can be measured
    attract bench --only play  # one figure
    attract bench --compare before.json  # what got slower
    """
    from attract_benchmarks.bench import BenchCommandOptions, list_measures, run_bench
    from attract_benchmarks.harness.measure import BenchOptions

    if options.list_figures:
        print(list_measures())
        return 0
    # Progress goes to stderr: stdout has the result alone.
    say = Console(stderr=True, highlight=False, markup=False, soft_wrap=True).print
    measured = BenchOptions(rounds=options.rounds, device=options.device, quick=options.quick, say=say)
    only = options.only or ()
    order = BenchCommandOptions(
        measured, only, options.peers, options.json_output, options.out, options.compare
    )
    return run_bench(order, say, print)


@flags.options
class ResultsFlags:
    suite: Literal["bundled", "defaults", "pages"] = "bundled"
    """`bundled`: the games that come with Attract, with their settings; `defaults`: simple games without;
    `pages`: the bundled games that live in a page, random play beside them."""
    only: str | None = None
    """One task: a game's name, or `schedules`."""
    seed: int | None = None
    """One seed instead of 1, 2 and 3."""
    reward_scale: float | None = None
    """With `--suite defaults`: one factor on all rewards, instead of 1, 0.001 and 1000."""
    out: Path = Path("docs/notebook/results.md")
    """The table; the record of finished runs lies beside it, as .json."""
    scale: Annotated[float, Parameter(validator=Number(gt=0))] = 1.0
    """Fraction of each task's steps: below 1 it tries the command out, and the table says so."""
    runs_dir: flags.RunsDir = None


def results(options: ResultsFlags = ResultsFlags()) -> int:
    """Train every task of the table of results, Stable-Baselines3's PPO beside it, and write the table.

    Finished runs are kept in a JSON file beside the table, not done again. After three hours none is begun.

    Examples
    --------
    attract results --only cartpole  # one game
    attract results --suite defaults --scale 0.1  # a quick try of the plain games
    attract results --suite pages --out pages.md  # games in a page
    """
    from attract_benchmarks.results import ResultsOptions, make_results

    order = ResultsOptions(
        options.out,
        flags.server_settings(options).runs_dir,
        options.suite,
        options.only,
        options.seed,
        options.scale,
        options.reward_scale,
    )
    return make_results(order, lambda text: print(text, flush=True))
