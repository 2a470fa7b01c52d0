"""Keeps a run's policy beside its bundled page game, with card and picture: `python -m ... GAME EXPORT`."""

import shutil
import sys
from pathlib import Path

from attract.games.cards import CARD
from attract.games.library import GameLibrary
from attract.schema.api import GameCard
from attract_benchmarks.harness.game_origin import GameOrigin, at_origin
from attract_benchmarks.harness.page_returns import played_returns, read_policy
from attract_benchmarks.learning.pages import PAGE_TASKS

PAGE_GAMES_DIR = Path(__file__).resolve().parents[3] / "web" / "page-games"
FILES = ("policy.onnx", "policy.json")
PICTURE_STEPS = 45
ABOUT = {
    "meteors": "Dodge what falls from the sky. A plain canvas; points are seconds alive.",
    "moles": "Click moles while they are up, in HTML alone; a click beside costs a quarter.",
    "hopper": "A bird between pillars, with KAPLAY; a pillar is a point.",
    "stars": "Catch stars, let bombs pass, with Phaser; three bombs end it.",
    "lanes": "Three lanes, ever faster, with Three.js; points are hundreds of metres.",
    "juggler": "Keep the ball in the air for a minute, with PixiJS and matter-js; a hit is a point.",
}


def trained_folder(game: str) -> Path:
    """Path of the policy of a bundled page game in the repository."""
    return PAGE_GAMES_DIR / game / "trained"


def keep(game: str, export: Path) -> GameCard:
    """Write policy, card and picture of this game.

    Args:
        game: bundled name.
        export: folder of the exported policy, judged here by the episodes of an evaluation.

    Returns: the card, as it was written.
    """
    episodes = next(task.episodes for task in PAGE_TASKS if task.game == game)
    random, trained = (played_returns(game, episodes, policy) for policy in (None, export))
    card = GameCard(
        about=ABOUT[game],
        random_return=round(sum(random) / episodes, 2),
        trained_return=round(sum(trained) / episodes, 2),
    )
    folder = trained_folder(game)
    folder.mkdir(exist_ok=True)
    for name in FILES:
        shutil.copyfile(export / name, folder / name)
    (folder / CARD).write_text(card.model_dump_json(indent=2) + "\n", encoding="utf-8")
    (folder / "card.jpg").write_bytes(picture(game, export))
    return card


def picture(game: str, policy: Path) -> bytes:
    """A JPEG of the game's page while this policy plays."""

    async def ask(origin: GameOrigin) -> bytes:
        return await origin.picture(*(await origin.ask("show", read_policy(policy), PICTURE_STEPS)))

    return at_origin(game, GameLibrary(Path.cwd()), ask)


if __name__ == "__main__":
    print(keep(sys.argv[1], Path(sys.argv[2])))
