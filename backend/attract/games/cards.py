"""Cards of bundled games that live in a page: a trained policy, a picture, and a text about the game."""

from pathlib import Path
from typing import Final, Literal

from attract.schema.api import GameCard

FOLDER: Final = "trained"
"""Of the built web side; one folder for each game that has a card."""
CARD: Final = "card.json"
CardFile = Literal["card.jpg", "policy.onnx"]


def card_of(web_dir: Path, game: str) -> GameCard | None:
    """The card of this bundled game; None when it has none."""
    path = web_dir / FOLDER / game / CARD
    return GameCard.model_validate_json(path.read_bytes()) if path.is_file() else None


def card_file(web_dir: Path, game: str, file: CardFile) -> Path | None:
    """A file beside the card; None when there is no such card.

    Args:
        game: as somebody asked for it: one that is no folder's name has no card.
    """
    folder = web_dir / FOLDER
    if not folder.is_dir() or game not in {path.name for path in folder.iterdir()}:
        return None
    path = folder / game / file
    return path if path.is_file() else None
