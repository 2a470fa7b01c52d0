"""Games that live in a page: what is planned of them, and bars that mean something."""

from pathlib import Path

import pytest

from attract.errors import ConfigurationError
from attract_benchmarks.learning.pages import PAGE_EPISODES, PAGE_TASKS, RANDOM, TASK_PREFIX, plan_pages
from attract_benchmarks.learning.plan import SEEDS, Task
from attract_benchmarks.learning.record import Record
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
