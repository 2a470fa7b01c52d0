"""Trains a bundled game and keeps the policy beside it, with its card: `python -m ... GAME [SEED]`."""

import shutil
import sys
import tempfile
from pathlib import Path

from attract.games.library import CARD, GameLibrary
from attract.processes.exit_codes import DONE, GOAL_MISSED
from attract.schema.api import GameCard
from attract_benchmarks.harness.command_line import attract
from attract_benchmarks.harness.game_origin import GameOrigin, at_origin
from attract_benchmarks.harness.page_returns import read_policy
from attract_benchmarks.learning.pages import PAGE_TASKS
from attract_benchmarks.learning.plan import TASKS, Task, Variant

WEB_DIR = Path(__file__).resolve().parents[3] / "web"
FILES = ("policy.onnx", "policy.json")
PICTURE_STEPS = 45
OTHERS = (
    Task("snake", "Snake", 300_000, (Variant("mlp", "MLP", 10),)),
    Task("keydoor", "Keydoor", 500_000, (Variant("explore", "MLP", 0.9, flags=("--preset", "explore")),)),
)
"""Games that are not in the table of results."""
KEPT_TASKS = {task.game: task for task in (*TASKS, *OTHERS, *PAGE_TASKS)}
"""By game: its first variant is the one that is kept."""


def trained_folder(game: str) -> Path:
    """Path of the policy and card of a bundled game in the repository."""
    place = "games" if (WEB_DIR / "games" / game).is_dir() else "page-games"
    return WEB_DIR / place / game / "trained"


def keep(game: str, seed: int) -> GameCard:
    """Train as the plan of the results says, and write policy, card and, of a page game, a picture.

    Args:
        game: bundled name, of `KEPT_TASKS`; its card says what it is about and its keys.
        seed: the run's.

    Returns: the card, as it was written: its returns are those of an evaluation of the final policy.

    Raises: AttractError: when the training fails.
    """
    task = KEPT_TASKS[game]
    folder = trained_folder(game)
    goal = () if task.goal is None else ("--until-return", f"{task.goal:g}")
    with tempfile.TemporaryDirectory(prefix="attract-keep-", ignore_cleanup_errors=True) as runs_dir:
        result = attract(
            "train", game, "--headless", "--no-check", "--seed", str(seed), "--total-steps", str(task.steps),
            *task.variants[0].flags, *goal, "--json", runs_dir=Path(runs_dir), accepted=(DONE, GOAL_MISSED),
        )  # fmt: skip
        judged = attract(
            "eval", "latest", "--episodes", str(task.episodes), "--json", runs_dir=Path(runs_dir)
        )
        for name in FILES:
            shutil.copyfile(Path(result["export"]) / name, folder / name)
    card = GameCard.model_validate_json((folder / CARD).read_bytes()).model_copy(
        update={
            "random_return": round(judged["random_return"], 2),
            "trained_return": round(judged["return_mean"], 2),
            "learn_seconds": round(result["wall_seconds"]),
        }
    )
    (folder / CARD).write_text(card.model_dump_json(indent=2) + "\n", encoding="utf-8")
    if folder.parent.parent.name == "page-games":
        (folder / "card.jpg").write_bytes(picture(game, folder))
    return card


def picture(game: str, policy: Path) -> bytes:
    """A JPEG of the game's page while this policy plays."""

    async def ask(origin: GameOrigin) -> bytes:
        return await origin.picture(*(await origin.ask("show", read_policy(policy), PICTURE_STEPS)))

    return at_origin(game, GameLibrary(Path.cwd()), ask)


if __name__ == "__main__":
    print(keep(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1))
