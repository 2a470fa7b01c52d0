"""Page games that are learned, and their table."""

from pathlib import Path

import pytest

from attract.errors import ConfigurationError
from attract_benchmarks.learning.pages import PAGE_EPISODES, PAGE_TASKS, RANDOM, TASK_PREFIX, plan_pages
from attract_benchmarks.learning.pages_table import render_pages
from attract_benchmarks.learning.plan import SEEDS, Run, Task, plan_runs
from attract_benchmarks.learning.record import Record, Row
from attract_benchmarks.speed.page_games import GAMES

RESULTS = Path(__file__).resolve().parents[3] / "docs" / "notebook" / "results.json"


def test_every_bundled_game_is_trained_with_three_seeds_and_played_once_at_random() -> None:
    runs = plan_pages()
    assert {run.game for run in runs} == set(GAMES)
    assert len({run.key for run in runs}) == len(runs) == len(GAMES) * (len(SEEDS) + 1)
    assert {run.episodes for run in runs} == {PAGE_EPISODES}
    assert [run.seed for run in runs if run.variant != RANDOM] == sorted([*SEEDS] * len(GAMES))


def test_one_game_one_seed_and_a_fraction_of_the_steps() -> None:
    runs = plan_pages(only="moles", seed=2, scale=0.01)
    assert [(run.key, run.steps) for run in runs] == [("page-moles-random-0", 0), ("page-moles-mlp-2", 600)]
    with pytest.raises(ConfigurationError, match="did you mean 'moles'"):
        plan_pages(only="mole")


@pytest.mark.parametrize("task", PAGE_TASKS, ids=lambda task: task.game)
def test_a_bar_is_far_above_random_play(task: Task) -> None:
    record = Record(RESULTS)
    (played,) = [run for run in plan_pages(only=task.game) if run.variant == RANDOM]
    row = record.get(played)
    assert row is not None, f"attract results --suite pages --only {task.game}"
    assert task.variants[0].target >= max(2 * row.return_mean, row.return_mean + 5 * row.standard_error)
    assert played.task == TASK_PREFIX + task.game


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
