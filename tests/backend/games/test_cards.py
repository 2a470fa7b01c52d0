"""Cards of bundled games, and the files beside them; nothing else can be had by their names."""

from pathlib import Path

import pytest

from attract.games.library import card_file, card_of
from attract.schema.api import GameCard


@pytest.fixture
def web(tmp_path: Path) -> Path:
    folder = tmp_path / "trained" / "moles"
    folder.mkdir(parents=True)
    card = (
        '{"about": "Click.", "keys": "Mouse", "random_return": -2, "trained_return": 40, "learn_seconds": 7}'
    )
    (folder / "card.json").write_text(card)
    (folder / "card.jpg").write_bytes(b"picture")
    (tmp_path / "card.jpg").write_bytes(b"no card")
    return tmp_path


def test_a_card_says_what_its_game_is_and_what_was_reached(web: Path) -> None:
    assert card_of(web, "moles") == GameCard(
        about="Click.", keys="Mouse", random_return=-2, trained_return=40, learn_seconds=7
    )
    assert card_of(web, "cartpole") is None


def test_a_card_without_a_policy_says_what_its_game_is(web: Path) -> None:
    (web / "trained" / "cartpole").mkdir()
    (web / "trained" / "cartpole" / "card.json").write_text('{"about": "Keep the pole upright."}')
    assert card_of(web, "cartpole") == GameCard(about="Keep the pole upright.")
    assert card_file(web, "cartpole", "policy.onnx") is None


def test_only_what_lies_beside_a_card_is_its_file(web: Path) -> None:
    path = card_file(web, "moles", "card.jpg")
    assert path is not None and path.read_bytes() == b"picture"
    assert card_file(web, "moles", "policy.onnx") is None
    for game in ("..", "../..", ".", "", "cartpole", "moles/.."):
        assert card_file(web, game, "card.jpg") is None
    assert card_file(web / "none", "moles", "card.jpg") is None
