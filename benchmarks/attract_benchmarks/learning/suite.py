"""Plain games with the bare defaults: which they are, the bars they have to reach, and the runs that show it.

The games and their simple strategies lie in `benchmarks/suite`.
"""

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from attract.errors import ConfigurationError
from attract_benchmarks.learning.plan import CARTPOLE_BASELINE, SEEDS, Baseline, Run, Variant, check_choice
from attract_benchmarks.learning.record import Row

SUITE_DIR = Path(__file__).resolve().parents[2] / "suite"
MEASURED = "measured.json"
"""Returns of random play and simple strategies; written by `tests/benchmarks/suite/strategies.test.ts`."""
TASK_PREFIX = "plain-"
REWARD_SCALES = (1.0, 0.001, 1000.0)
BARE, NAMED = "bare", "named"
BASELINE_STEPS_SHARE = 0.97
"""An update is never cut: asked for this share, a run has ended before the steps that the baseline takes."""
BASELINE_COST = 30.0
"""Time of a baseline's step, in steps of a small game of ours."""

# The baselines' settings and steps are those of RL Baselines3 Zoo, hyperparams/ppo.yml; the bars are the
# returns that it publishes for them in benchmark.md.
_MOUNTAIN_CAR = Baseline(
    "MountainCar-v0",
    16,
    {"n_steps": 16, "gae_lambda": 0.98, "gamma": 0.99, "n_epochs": 4, "ent_coef": 0.0},
    normalize=True,
)
_MOUNTAIN_CAR_CONTINUOUS = Baseline(
    "MountainCarContinuous-v0",
    1,
    {
        "batch_size": 256,
        "n_steps": 8,
        "gamma": 0.9999,
        "learning_rate": 7.77e-5,
        "ent_coef": 0.00429,
        "clip_range": 0.1,
        "n_epochs": 10,
        "gae_lambda": 0.9,
        "max_grad_norm": 5,
        "vf_coef": 0.19,
        "use_sde": True,
        "policy_kwargs": {"log_std_init": -3.29, "ortho_init": False},
    },
    normalize=True,
)
_ACROBOT = Baseline(
    "Acrobot-v1",
    16,
    {"n_steps": 256, "gae_lambda": 0.94, "gamma": 0.99, "n_epochs": 4, "ent_coef": 0.0},
    normalize=True,
)


@dataclass(frozen=True)
class PlainGame:
    """One game of the suite, how long it is trained, and what it has to reach."""

    name: str
    """Name of its module in `benchmarks/suite`."""
    title: str
    steps: int
    goal: float | Literal["twice", "half the cost"]
    """The bar: a return (of the duel, a share won), or computed from what the simple strategy earns."""
    named: tuple[str, ...] = ()
    """Where no single default can explore or remember: the one preset or setting with which it passes. The
    bare run then has to say so within a quarter of its steps."""
    baseline: Baseline | None = None
    opponent: str | None = None
    """Module in `benchmarks/suite` in which the trained policy plays against the simple strategy."""
    cost: float = 1.0
    """Time of a step, in steps of a small game; orders the runs."""


PLAIN_GAMES = (
    PlainGame("cart-pole", "CartPole", 100_000, 500.0, baseline=CARTPOLE_BASELINE),
    PlainGame(
        "mountain-car-continuous", "MountainCarContinuous", 20_000, 88.343, baseline=_MOUNTAIN_CAR_CONTINUOUS
    ),
    PlainGame("acrobot", "Acrobot", 1_000_000, -73.506, baseline=_ACROBOT),
    PlainGame(
        "mountain-car",
        "MountainCar",
        1_000_000,
        -110.423,
        named=("--preset", "explore"),
        baseline=_MOUNTAIN_CAR,
    ),
    PlainGame("jumper", "Jumper, scores in the hundreds", 300_000, "twice"),
    PlainGame("exit", "Exit, -1 a step", 500_000, "half the cost"),
    PlainGame(
        "treasure", "Treasure, one sparse goal", 300_000, "twice", named=("--preset", "explore"), cost=2.0
    ),
    PlainGame("merge", "Merge, masked", 1_000_000, "twice"),
    PlainGame("breakout", "Breakout, 20 x 20 pixels", 1_000_000, "twice", cost=10.0),
    PlainGame("duel", "Duel of two", 1_000_000, 0.6, opponent="duel-against-strategy"),
    PlainGame("maze", "Maze, partial view", 1_000_000, "twice", named=("--preset", "memory"), cost=2.0),
    PlainGame("thruster", "Thruster, continuous", 300_000, "twice"),
)


@dataclass(frozen=True)
class Strategy:
    """A game's simple strategy, and mean returns over the episodes that were measured."""

    says: str
    episodes: int
    random: float
    simple: float


@cache
def strategies() -> dict[str, Strategy]:
    """Strategy of each game by name. Raises: ConfigurationError: without the clone's `benchmarks/suite`."""
    path = SUITE_DIR / MEASURED
    if not path.is_file():
        raise ConfigurationError(
            f"there is no {path}: the games of this suite come with a clone of the repository",
            setting="--suite defaults",
            fix="git clone it and run attract from there",
        )
    measured = json.loads(path.read_text(encoding="utf-8"))
    return {
        name: Strategy(figures["strategy"], figures["episodes"], figures["random"], figures["simple"])
        for name, figures in measured.items()
    }


def target_of(game: PlainGame) -> float:
    """The mean return that every seed has to reach, with rewards times 1; of the duel the share won."""
    if game.goal == "twice":
        return 2 * strategies()[game.name].simple
    if game.goal == "half the cost":
        return strategies()[game.name].simple / 2
    return float(game.goal)


def variants_of(game: PlainGame) -> tuple[Variant, ...]:
    """The bare defaults, and beside them the one setting that is named, where there is one."""
    bare = Variant(BARE, "defaults", target_of(game))
    if not game.named:
        return (bare,)
    return (bare, Variant(NAMED, f"`{' '.join(game.named)}`", target_of(game), flags=game.named))


def plan_suite(
    *,
    only: str | None = None,
    seed: int | None = None,
    reward_scale: float | None = None,
    scale: float = 1.0,
) -> list[Run]:
    """Every run of the suite, the baseline's among ours, those that take the least time first.

    Args:
        only: the name of one game.
        seed: one seed instead of `SEEDS`.
        reward_scale: one factor on the rewards instead of `REWARD_SCALES`, above 0; a baseline has only 1.
        scale: fraction of each game's steps, above 0; below 1 it tries the command out.

    Raises: ConfigurationError: for a game there is not, a scale that cannot be, or without the repository.
    """
    check_choice([game.name for game in PLAIN_GAMES], only, scale)
    if reward_scale is not None and not 0 < reward_scale < float("inf"):
        raise ConfigurationError(f"must be above 0, got {reward_scale:g}", setting="--reward-scale")
    seeds: Sequence[int] = SEEDS if seed is None else (seed,)
    factors: Sequence[float] = REWARD_SCALES if reward_scale is None else (reward_scale,)
    runs: list[tuple[float, Run]] = []
    for game in PLAIN_GAMES:
        if only not in (None, game.name):
            continue
        task, path = TASK_PREFIX + game.name, str(SUITE_DIR / f"{game.name}.ts")
        steps = max(1, round(game.steps * scale))
        own_steps = steps if game.baseline is None else max(1, round(BASELINE_STEPS_SHARE * steps))
        opponent = None if game.opponent is None else str(SUITE_DIR / f"{game.opponent}.ts")
        for each in seeds:
            runs += [
                (
                    steps * game.cost,
                    Run(
                        task,
                        variant.name,
                        each,
                        path,
                        own_steps,
                        variant.flags,
                        reward_scale=factor,
                        opponent=opponent,
                    ),
                )
                for factor in factors
                for variant in variants_of(game)
            ]
            if game.baseline is not None and 1.0 in factors:
                baseline = Run(task, "sb3", each, path, steps, baseline=game.baseline)
                runs.append((steps * BASELINE_COST, baseline))
    return [run for _, run in sorted(runs, key=lambda entry: entry[0])]


def is_met(game: PlainGame, row: Row) -> bool:
    """Whether a run reached the game's bar; where that is a published one, at no more than its steps."""
    is_in_time = game.baseline is None or row.agent_steps <= row.steps / BASELINE_STEPS_SHARE
    return is_in_time and row.return_mean >= target_of(game)


def is_said(game: PlainGame, row: Row) -> bool:
    """Whether the run said within a quarter of its steps that it does not learn, and named `game.named`."""
    return any(
        said.agent_steps <= row.steps / 4 and said.setting == " ".join(game.named) for said in row.findings
    )


def module_of(run: Run, folder: Path) -> Path:
    """The module to train: the game itself, or one written into `folder` whose rewards are scaled."""
    game = Path(run.game)
    if run.reward_scale == 1.0:
        return game
    folder.mkdir(parents=True, exist_ok=True)
    for source in (game, SUITE_DIR / "scaled.ts"):
        shutil.copyfile(source, folder / source.name)
    module = folder / f"{game.stem}-x{run.reward_scale:g}.ts"
    module.write_text(
        f'import game from "./{game.name}";\n'
        'import { scaled } from "./scaled.ts";\n\n'
        f"export default scaled(game, {run.reward_scale!r});\n",
        encoding="utf-8",
    )
    return module
