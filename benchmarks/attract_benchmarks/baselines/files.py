"""Files that the baselines' games come from."""

from pathlib import Path
from typing import Final

from attract.games.project import PACKAGE_DIR

FOLDER: Final = Path(__file__).resolve().parent
GAMES_MODULE: Final = FOLDER / "games.mjs"
"""Copies of a game, to be reset and stepped."""
LINES_PROGRAM: Final = FOLDER / "lines.mjs"
"""The same in a Node process, spoken to by lines."""
REAL_TIME_PAGE_MODULE: Final = FOLDER / "real_time_page.mjs"
"""A game in its own page, in real time."""
METEORS: Final = PACKAGE_DIR / "web" / "page-games" / "meteors"
"""A bundled page game with its adapter, built."""
CARTPOLE: Final = PACKAGE_DIR / "web" / "games" / "cartpole.js"
"""Our CartPole, built."""

NUM_INPUTS: Final = 4
"""Size of CartPole's observation."""
NUM_ACTIONS: Final = 2
