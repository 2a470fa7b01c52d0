"""Every bundled game has a card with aim, keys and training time, and a kept policy that reaches its bar."""

from pathlib import Path

import pytest

from attract.games.library import CARD, GameLibrary
from attract.schema.api import GameCard
from attract.vector.score import score
from attract_benchmarks.learning.keep_policy import FILES, KEPT_TASKS, WEB_DIR, picture, trained_folder
from attract_benchmarks.speed.page_games import GAMES

LARGEST_PICTURE = 60_000
LARGEST_POLICY = 1_000_000


def test_every_bundled_game_is_kept(tmp_path: Path) -> None:
    assert sorted(KEPT_TASKS) == GameLibrary(tmp_path).bundled_names()


@pytest.mark.parametrize("game", sorted(KEPT_TASKS))
def test_a_card_is_whole_and_its_policy_better_than_chance(game: str) -> None:
    folder = trained_folder(game)
    pictures = ["card.jpg"] if game in GAMES else []
    assert {path.name for path in folder.iterdir()} == {*FILES, CARD, *pictures}
    card = GameCard.model_validate_json((folder / CARD).read_bytes())
    assert card.about.endswith(".") and card.keys
    assert card.learn_seconds is not None and card.learn_seconds > 0
    assert card.random_return is not None and card.trained_return is not None
    assert card.random_return < KEPT_TASKS[game].variants[0].target <= card.trained_return
    assert (folder / "policy.onnx").stat().st_size < LARGEST_POLICY
    for name in pictures:
        data = (folder / name).read_bytes()
        assert data.startswith(b"\xff\xd8") and len(data) < LARGEST_PICTURE


@pytest.mark.parametrize("game", ["cartpole", "snake"])
def test_a_kept_policy_of_a_module_reaches_its_bar(game: str) -> None:
    module = WEB_DIR / "games" / game / "game.ts"
    returns = score(module, trained_folder(game) / "policy.onnx", games=10, seed=1)
    assert sum(returns) / len(returns) >= KEPT_TASKS[game].variants[0].target, returns


@pytest.mark.long
def test_a_picture_is_taken_of_the_page_that_plays() -> None:
    taken = picture("moles", trained_folder("moles"))
    assert taken.startswith(b"\xff\xd8")
    # The page alone, of one colour, has 2 kB.
    assert len(taken) > 5_000
