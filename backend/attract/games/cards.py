"""Cards of bundled games: a text about each; a picture and a trained policy of those that live in a page."""

from pathlib import Path
from typing import Final, Literal

from attract.files import MAX_JSON_BYTES, check_inside, parse_json, parse_model, read_optional_file
from attract.schema.api import GameCard

FOLDER: Final = "trained"
"""Folder of the built web side; it has one folder for each game that has a card."""
CARD: Final = "card.json"
CardFile = Literal["card.jpg", "policy.onnx"]


def card_of(web_dir: Path, game: str) -> GameCard | None:
    """The card of this bundled game; None when it has none. Raises: FileError: it is damaged."""
    path = web_dir / FOLDER / game / CARD
    data = read_optional_file(path, MAX_JSON_BYTES, web_dir)
    return None if data is None else parse_model(parse_json(data, path), GameCard, path)


def card_file(web_dir: Path, game: str, file: CardFile) -> Path | None:
    """A file beside the card; None when there is no such card.

    Args:
        game: as the user gave it: a name that is no folder's has no card.

    Raises: FileError: it is a link that leads out of the built web side.
    """
    folder = web_dir / FOLDER
    if not folder.is_dir() or game not in {path.name for path in folder.iterdir()}:
        return None
    path = folder / game / file
    return check_inside(path, web_dir) if path.is_file() else None
