"""Policies kept of bundled page games reach their bars in a real Chromium, played by `attract/play`."""

import pytest

from attract_benchmarks.harness.page_returns import played_returns
from attract_benchmarks.learning.keep_policy import trained_folder
from attract_benchmarks.learning.pages import PAGE_TASKS
from attract_benchmarks.learning.plan import Task

EPISODES = 5
KEPT = [task for task in PAGE_TASKS if trained_folder(task.game).is_dir()]
AT_ONCE = ("lanes",)
"""Games whose policies `make test` plays; those of the others wait for `make long`."""


@pytest.mark.parametrize(
    "task",
    [pytest.param(task, marks=[] if task.game in AT_ONCE else [pytest.mark.long]) for task in KEPT],
    ids=lambda task: task.game,
)
def test_a_kept_policy_reaches_the_bar_of_its_game(task: Task) -> None:
    folder = trained_folder(task.game)
    played = played_returns(task.game, EPISODES, folder)
    assert sum(played) / EPISODES >= task.variants[0].target, played
