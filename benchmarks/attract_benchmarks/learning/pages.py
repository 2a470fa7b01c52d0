"""Games that live in a page: how long each is trained, the bar it has to reach, and random play beside it."""

from collections.abc import Sequence

from attract_benchmarks.learning.plan import SEEDS, Run, Task, Variant, check_choice

TASK_PREFIX = "page-"
RANDOM = "random"
"""Variant of the run that trains nothing: random play of the episodes that policies are judged by."""
PAGE_EPISODES = 30
"""An episode takes a fresh page, and up to 900 steps."""


def _task(game: str, title: str, steps: int, target: float) -> Task:
    return Task(game, title, steps, (Variant("mlp", "MLP", target),), episodes=PAGE_EPISODES)


PAGE_TASKS = (
    _task("meteors", "Meteors, canvas", 60_000, 15.0),
    _task("moles", "Moles, HTML", 60_000, 30.0),
    _task("hopper", "Hopper, KAPLAY", 60_000, 5.0),
    _task("stars", "Stars, Phaser", 100_000, 9.0),
    _task("lanes", "Lanes, Three.js", 80_000, 4.0),
    _task("juggler", "Juggler, PixiJS and matter-js", 120_000, 15.0),
)
"""Bars are returns: seconds alive, moles less misses, pillars and a tenth for each second, stars less bombs,
hundreds of metres, hits."""


def plan_pages(*, only: str | None = None, seed: int | None = None, scale: float = 1.0) -> list[Run]:
    """Random play of every game, then every game's training, seed by seed.

    Args:
        only: the name of one game.
        seed: one seed instead of `SEEDS`.
        scale: fraction of each game's steps, above 0; below 1 it tries the command out.

    Raises: ConfigurationError: for a game there is not, or a scale that cannot be.
    """
    check_choice([task.game for task in PAGE_TASKS], only, scale)
    tasks = [task for task in PAGE_TASKS if only in (None, task.game)]
    runs = [Run(TASK_PREFIX + task.game, RANDOM, 0, task.game, 0, episodes=task.episodes) for task in tasks]
    seeds: Sequence[int] = SEEDS if seed is None else (seed,)
    return runs + [
        Run(
            TASK_PREFIX + task.game,
            variant.name,
            each,
            task.game,
            max(1, round(task.steps * scale)),
            variant.flags,
            episodes=task.episodes,
        )
        for each in seeds
        for task in tasks
        for variant in task.variants
    ]
