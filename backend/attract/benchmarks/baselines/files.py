"""Files that the baselines' games come from."""

from pathlib import Path
from typing import Final

from attract.games.library import PACKAGE_DIR

FOLDER: Final = Path(__file__).resolve().parent
GAMES_MODULE: Final = FOLDER / "games.mjs"
"""Copies of a game, to be reset and stepped."""
LINES_PROGRAM: Final = FOLDER / "lines.mjs"
"""The same in a Node process, spoken to by lines."""
CARTPOLE: Final = PACKAGE_DIR / "web" / "games" / "cartpole.js"
"""Our CartPole, built."""

NUM_INPUTS: Final = 4
"""Of CartPole's observation."""
NUM_ACTIONS: Final = 2
