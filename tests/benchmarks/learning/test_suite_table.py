"""The section on plain games: returns by the size of rewards, and a verdict over all of them."""

import dataclasses
from pathlib import Path

from attract_benchmarks.learning.plan import Run, plan_runs
from attract_benchmarks.learning.record import Finding, Record, Row
from attract_benchmarks.learning.suite import PLAIN_GAMES, plan_suite
from attract_benchmarks.learning.suite_table import render_suite

MAZE = next(game for game in PLAIN_GAMES if game.name == "maze")


def row(run: Run, mean: float, findings: list[Finding] | None = None) -> Row:
    return Row(run.steps, list(run.flags), run.steps, 10.0, mean, 0.25, 100, 1000.0, findings or [])


def cells(text: str, start: str) -> list[str]:
    (line,) = [line for line in text.splitlines() if line.startswith(f"| {start}")]
    return [cell.strip() for cell in line.strip("|").split("|")]


def page(tmp_path: Path, rows: dict[str, Row]) -> str:
    record = Record(tmp_path / "results.json")
    for run in plan_suite():
        if run.key in rows:
            record.put(run, rows[run.key], "2 cores")
    return render_suite(record, plan_suite())


def all_of(task: str, variant: str, mean: float, findings: list[Finding] | None = None) -> dict[str, Row]:
    runs = [run for run in plan_suite() if (run.task, run.variant) == (f"plain-{task}", variant)]
    return {run.key: row(run, mean + run.seed, findings) for run in runs}


def test_a_row_shows_every_seed_by_the_size_of_rewards_and_the_baseline(tmp_path: Path) -> None:
    rows = all_of("acrobot", "bare", -70) | all_of("acrobot", "sb3", -80)
    assert cells(page(tmp_path, rows), "Acrobot | defaults") == [
        "Acrobot", "defaults", ">= -73.5", "970,000",
        "-69.0, -68.0, -67.0", "-69.0, -68.0, -67.0", "-69.0, -68.0, -67.0", "yes", "-79.0, -78.0, -77.0",
    ]  # fmt: skip


def test_one_seed_of_one_size_of_rewards_below_the_bar_fails_the_game(tmp_path: Path) -> None:
    rows = all_of("acrobot", "bare", -70)
    key = "plain-acrobot-bare-2-x1000"
    rows[key] = dataclasses.replace(rows[key], return_mean=-500.0)
    shown = cells(page(tmp_path, rows), "Acrobot | defaults")
    assert shown[5:8] == ["-69.0, -68.0, -67.0", "-69.0, -500.0, -67.0", "no"]
    # More steps than were published for the baseline are no success.
    rows = all_of("acrobot", "bare", -70)
    rows[key] = dataclasses.replace(rows[key], agent_steps=2_000_000)
    assert cells(page(tmp_path, rows), "Acrobot | defaults")[7] == "no"


def test_what_is_not_run_leaves_the_verdict_open(tmp_path: Path) -> None:
    rows = all_of("acrobot", "bare", -70)
    del rows["plain-acrobot-bare-3"]
    shown = cells(page(tmp_path, rows), "Acrobot | defaults")
    assert shown[4:8:3] == ["-69.0, -68.0, not run", "open"]
    assert cells(page(tmp_path, {}), "Jumper, scores in the hundreds | defaults")[4:8] == [
        "not run", "not run", "not run", "open",
    ]  # fmt: skip


def test_a_bare_run_that_fails_and_names_the_setting_in_time_will_do(tmp_path: Path) -> None:
    named = Finding("memory-missing", MAZE.steps // 5, " ".join(MAZE.named))
    late = dataclasses.replace(named, agent_steps=MAZE.steps // 2)
    said = all_of("maze", "bare", 1, [named]) | all_of("maze", "named", 9)
    assert cells(page(tmp_path / "said", said), "Maze, partial view | defaults")[7] == "9 of 9 say so"
    assert cells(page(tmp_path / "said", said), f"Maze, partial view | `{' '.join(MAZE.named)}`")[7] == "yes"
    solved = said | {key: dataclasses.replace(said[key], return_mean=9.0) for key in list(said)[:2]}
    found = cells(page(tmp_path / "solved", solved), "Maze, partial view | defaults")[7]
    assert found == "2 solve it, 7 say so"
    unsaid = all_of("maze", "bare", 1, [late])
    assert cells(page(tmp_path / "late", unsaid), "Maze, partial view | defaults")[7] == "no"
    # The named setting itself has to reach the bar.
    failed = all_of("maze", "named", 1, [named])
    assert (
        cells(page(tmp_path / "failed", failed), f"Maze, partial view | `{' '.join(MAZE.named)}`")[7] == "no"
    )


def test_the_strategies_are_stated(tmp_path: Path) -> None:
    text = page(tmp_path, {})
    assert "the means of 200 episodes" in text
    for game in PLAIN_GAMES:
        assert len([line for line in text.splitlines() if line.startswith(f"| {game.title} |")]) >= 2


def test_other_runs_have_no_part_in_it(tmp_path: Path) -> None:
    assert render_suite(Record(tmp_path / "results.json"), plan_runs()) == ""
