"""Policies kept of bundled page games reach their bars in a real Chromium, played by `attract/play`."""

import json

import pytest

from attract.games.cards import CARD
from attract.schema.api import GameCard
from attract_benchmarks.harness.page_returns import played_returns
from attract_benchmarks.learning.keep_policy import FILES, trained_folder
from attract_benchmarks.learning.pages import PAGE_TASKS
from attract_benchmarks.learning.plan import Task

EPISODES = 5
LARGEST_PICTURE = 60_000
KEPT = [task for task in PAGE_TASKS if trained_folder(task.game).is_dir()]
AT_ONCE = ("lanes", "stars")
"""Games whose policies `make test` plays; those of the others wait for `make long`, their cards do not."""


@pytest.mark.parametrize(
    "task",
    [pytest.param(task, marks=[] if task.game in AT_ONCE else [pytest.mark.long]) for task in KEPT],
    ids=lambda task: task.game,
)
def test_a_kept_policy_reaches_the_bar_of_its_game(task: Task) -> None:
    folder = trained_folder(task.game)
    played = played_returns(task.game, EPISODES, folder)
    assert sum(played) / EPISODES >= task.variants[0].target, played


@pytest.mark.parametrize("task", KEPT, ids=lambda task: task.game)
def test_a_card_is_whole_and_says_more_than_chance(task: Task) -> None:
    folder = trained_folder(task.game)
    assert {path.name for path in folder.iterdir()} == {*FILES, CARD, "card.jpg"}
    card = GameCard.model_validate_json((folder / CARD).read_bytes())
    assert card.random_return is not None and card.trained_return is not None
    assert card.random_return < task.variants[0].target <= card.trained_return
    picture = (folder / "card.jpg").read_bytes()
    assert picture.startswith(b"\xff\xd8")
    assert len(picture) < LARGEST_PICTURE
    game = json.loads((folder / "policy.json").read_bytes())["game"]
    assert game["page"] == "index.html"
