"""The table of results."""

from dataclasses import replace
from pathlib import Path

import pytest

from attract_benchmarks.learning.plan import Run, Variant, plan_runs
from attract_benchmarks.learning.record import Record, Row
from attract_benchmarks.learning.table import render
from attract_benchmarks.learning.table_cells import returns, states, verdict


def row(run: Run, mean: float, *, seconds: float = 10.0, speed: float = 1000.0) -> Row:
    return Row(
        run.steps, list(run.flags), run.steps, seconds, mean, 0.25 * run.episodes**0.5, run.episodes, speed
    )


def page(tmp_path: Path, task: str, means: dict[str, list[float]], scale: float = 1.0) -> str:
    """The page after the runs of `task` gave these means, by variant and in the order of seeds."""
    record = Record(tmp_path / "results.json")
    runs = plan_runs(only=task, scale=scale)
    for variant, values in means.items():
        mine = [run for run in runs if run.variant == variant]
        for i, (run, mean) in enumerate(zip(mine, values, strict=False)):
            record.put(run, row(run, mean, seconds=10.0 * (i + 1), speed=1000.0 * (i + 1)), "2 cores")
    return render(record, runs, scale=scale)


def cells(text: str, start: str) -> list[str]:
    (line,) = [line for line in text.splitlines() if line.startswith(f"| {start}")]
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_a_row_shows_every_seed_the_median_of_seconds_and_the_baseline(tmp_path: Path) -> None:
    text = page(tmp_path, "cartpole", {"mlp": [500, 490, 480], "sb3": [500, 400, 300]})
    assert cells(text, "CartPole") == [
        "CartPole", "MLP", "200,000", "20", "500",
        "500.0 +- 0.2, 490.0 +- 0.2, 480.0 +- 0.2", ">= 475", "yes",
        "500.0 +- 0.2, 400.0 +- 0.2, 300.0 +- 0.2", "20",
    ]  # fmt: skip
    assert "Machine: 2 cores." in text


@pytest.mark.parametrize(
    ("means", "verdict"),
    [([500, 490, 480], "yes"), ([500, 474, 480], "no"), ([500, 490], "open"), ([470], "no"), ([], "open")],
)
def test_a_bar_is_met_when_every_seed_meets_it(tmp_path: Path, means: list[float], verdict: str) -> None:
    assert cells(page(tmp_path, "cartpole", {"mlp": means}), "CartPole")[7] == verdict


@pytest.mark.parametrize(("mean", "verdict"), [(0.6, "yes"), (0.61, "no")])
def test_a_bar_may_be_one_to_stay_below(tmp_path: Path, mean: float, verdict: str) -> None:
    text = page(tmp_path, "memory", {"mlp": [mean] * 3})
    assert cells(text, "Memory, 2.5 horizons back | MLP")[6:8] == ["<= 0.6", verdict]
    assert cells(text, "Memory, 2.5 horizons back | LSTM |")[7] == "open"


def test_what_is_not_run_is_said_to_be_missing(tmp_path: Path) -> None:
    text = page(tmp_path, "pendulum", {"mlp": [-150.0]})
    assert cells(text, "Pendulum")[5] == "-150.0 +- 0.2, not run, not run"
    assert cells(text, "Pendulum")[8:] == ["not run, not run, not run", "not run"]


def test_schedules_are_compared_with_sync(tmp_path: Path) -> None:
    text = page(tmp_path, "schedules", {"sync": [480, 490, 500], "overlap": [470, 480]})
    # Medians of 1,000, 2,000, 3,000 and of 1,000, 2,000.
    assert cells(text, "`sync`")[2:4] == ["2,000", "1.00"]
    assert cells(text, "`overlap`")[2:4] == ["1,500", "0.75"]
    assert cells(text, "`async`")[2:4] == ["not run", ""]


def test_a_page_of_a_fraction_of_the_steps_says_so(tmp_path: Path) -> None:
    assert "Only 0.01 of each task's steps" in page(tmp_path, "cartpole", {}, scale=0.01)
    assert "Only" not in page(tmp_path, "cartpole", {})


def test_the_page_names_the_states_of_the_code_that_made_our_rows(tmp_path: Path) -> None:
    record = Record(tmp_path / "results.json")
    assert states(record, plan_runs(only="cartpole")) == ""
    runs = plan_runs(only="cartpole")
    mine = [run for run in runs if run.baseline is None]
    for run, code in zip(mine, ["abc", "abc", ""], strict=True):
        record.put(run, replace(row(run, 500.0), code=code), "2 cores")
    for run in runs:
        if run.baseline is not None:
            record.put(run, replace(row(run, 500.0), code="of another"), "2 cores")
    said = "Our rows by the state of the code: abc (2), an older state, not kept (1)."
    assert said in render(record, runs)


ROW = Row(100, [], 100, 1.0, 12.0, 3.0, 9, 100.0)
"""Its standard error is 3 / sqrt(9) = 1."""


def test_a_mean_has_its_standard_error_and_a_gap_says_so() -> None:
    assert returns([ROW, None]) == "12.0 +- 1.0, not run"


def test_a_bar_is_open_until_all_are_run_and_missed_by_one() -> None:
    assert verdict(Variant("mlp", "MLP", 12), [ROW]) == "yes"
    assert verdict(Variant("mlp", "MLP", 12), [ROW, None]) == "open"
    assert verdict(Variant("mlp", "MLP", 12.1), [ROW, None]) == "no"
