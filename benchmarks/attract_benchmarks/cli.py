"""Commands that measure: `bench` and `results`."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter
from cyclopts.validators import Number
from rich.console import Console

from attract.cli.configuration import server_settings
from attract.cli.flags import AtLeastOne, RunsDir


def bench(
    *,
    only: Annotated[list[str] | None, Parameter(consume_multiple=True, negative=())] = None,
    peers: Annotated[bool, Parameter(negative=())] = False,
    rounds: Annotated[int, AtLeastOne] = 5,
    device: Literal["cpu", "cuda"] = "cpu",
    quick: Annotated[bool, Parameter(negative=())] = False,
    compare: Path | None = None,
    out: Path | None = None,
    list_figures: Annotated[bool, Parameter(name="--list", negative=())] = False,
    json_output: Annotated[bool, Parameter(name="--json", negative=())] = False,
) -> int:
    """Measure what this machine reaches, each figure as a ratio to its bare parts of the same run.

    Parameters
    ----------
    only
        Figures to measure, by name or by the part before the slash.
    peers
        Train with the baselines too and print the ratios.
    rounds
        Rounds of each figure; medians are printed.
    device
        Torch's device for the learner's figures.
    quick
        Short rounds: shows a collapse, not a few percent.
    compare
        An earlier result; says what got slower than there. Exit code 1 when something did, 2 when a measure
        failed.
    out
        Where to keep the JSON, to be compared with later.
    list_figures
        Name every figure and what it is, and measure nothing.
    json_output
        Print one JSON object and nothing else on stdout.
    """
    from attract_benchmarks.bench import BenchCommandOptions, list_measures, run_bench
    from attract_benchmarks.harness.measure import BenchOptions

    if list_figures:
        print(list_measures())
        return 0
    # Progress goes to stderr: stdout has the result alone.
    say = Console(stderr=True, highlight=False, markup=False, soft_wrap=True).print
    options = BenchOptions(rounds=rounds, device=device, quick=quick, say=say)
    order = BenchCommandOptions(options, only or (), peers, json_output, out, compare)
    return run_bench(order, say, print)


def results(
    *,
    suite: Literal["bundled", "defaults", "pages"] = "bundled",
    only: str | None = None,
    seed: int | None = None,
    reward_scale: float | None = None,
    out: Path = Path("docs/notebook/results.md"),
    scale: Annotated[float, Parameter(validator=Number(gt=0))] = 1.0,
    runs_dir: RunsDir = None,
) -> int:
    """Train every task of the table of results, Stable-Baselines3's PPO beside it, and write the table.

    Finished runs are kept in a JSON file beside the table, not done again. After three hours none is begun.

    Parameters
    ----------
    suite
        `bundled`: the games that come with Attract, with their settings; `defaults`: simple games without;
        `pages`: the bundled games that live in a page, random play beside them.
    only
        One task: a game's name, or `schedules`.
    seed
        One seed instead of 1, 2 and 3.
    reward_scale
        With `--suite defaults`: one factor on all rewards, instead of 1, 0.001 and 1000.
    out
        The table; the record of finished runs lies beside it, as .json.
    scale
        Fraction of each task's steps: below 1 it tries the command out, and the table says so.
    """
    from attract_benchmarks.results import ResultsOptions, make_results

    server = server_settings(port=0, runs_dir=runs_dir)
    order = ResultsOptions(out, server.runs_dir, suite, only, seed, scale, reward_scale)
    return make_results(order, lambda text: print(text, flush=True))


COMMANDS = {"bench": bench, "results": results}
"""Commands that a clone adds to `attract`."""
