"""The section says what each seed gave, beside random play of the same episodes, and what is missing."""

from pathlib import Path

from attract_benchmarks.learning.pages import RANDOM, plan_pages
from attract_benchmarks.learning.pages_table import render_pages
from attract_benchmarks.learning.plan import Run, plan_runs
from attract_benchmarks.learning.record import Record, Row


def row(run: Run, mean: float) -> Row:
    """Its standard error is 0.5."""
    return Row(
        run.steps, list(run.flags), run.steps, 10.0, mean, 0.5 * run.episodes**0.5, run.episodes, 100.0
    )


def line(tmp_path: Path, means: list[float], chance: float | None) -> list[str]:
    record = Record(tmp_path / "results.json")
    runs = plan_pages(only="moles")
    trained = [run for run in runs if run.variant != RANDOM]
    for run, mean in zip(trained, means, strict=False):
        record.put(run, row(run, mean), "2 cores")
    if chance is not None:
        record.put(runs[0], row(runs[0], chance), "2 cores")
    text = render_pages(record, runs)
    assert "## Games that live in a page" in text
    (found,) = [splitline for splitline in text.splitlines() if splitline.startswith("| Moles")]
    return [cell.strip() for cell in found.strip("|").split("|")]


def test_a_game_shows_every_seed_beside_random_play(tmp_path: Path) -> None:
    assert line(tmp_path, [40, 41, 42], -2.25) == [
        "Moles, HTML", "60,000", "30", "-2.2 +- 0.5",
        "40.0 +- 0.5, 41.0 +- 0.5, 42.0 +- 0.5", ">= 30", "yes",
    ]  # fmt: skip


def test_a_bar_is_missed_by_one_seed_and_open_without_one(tmp_path: Path) -> None:
    assert line(tmp_path / "a", [40, 29.9, 42], None)[3:] == [
        "not run", "40.0 +- 0.5, 29.9 +- 0.5, 42.0 +- 0.5", ">= 30", "no",
    ]  # fmt: skip
    assert line(tmp_path / "b", [40], 1)[-1] == "open"


def test_there_is_no_section_without_its_runs(tmp_path: Path) -> None:
    assert render_pages(Record(tmp_path / "results.json"), plan_runs()) == ""
