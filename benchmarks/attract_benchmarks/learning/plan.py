"""Which runs the table of results is made of: tasks, variants, seeds and bars."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from attract.errors import ConfigurationError, nearest_name

SEEDS = (1, 2, 3)
EVALUATION_EPISODES = 100
MANY_EPISODES = 500
"""For cheap episodes: the standard error of the mean is less than half that of 100."""


@dataclass(frozen=True)
class Baseline:
    """Settings of Stable-Baselines3's PPO on the task's Gymnasium twin; keys of `settings` are its own."""

    environment: str
    num_environments: int
    settings: dict[str, Any]
    linear: tuple[str, ...] = ()
    """Settings that fall linearly to 0."""
    normalize: bool = False
    """Observations and rewards are divided by their running deviations."""


@dataclass(frozen=True)
class Variant:
    """One way to train a task; `flags` are `attract train`'s, beside those of every run."""

    name: str
    policy: str
    target: float
    target_is: Literal["at least", "at most"] = "at least"
    flags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Task:
    """A bundled game, how long it is trained, and in which ways."""

    game: str
    title: str
    steps: int
    variants: tuple[Variant, ...]
    baseline: Baseline | None = None
    goal: float | None = None
    """Training ends sooner once the last 100 episodes average this and an evaluation confirms it."""
    episodes: int = EVALUATION_EPISODES
    """Number of episodes that judge both sides."""


# The baseline's settings are those of RL Baselines3 Zoo, hyperparams/ppo.yml.
CARTPOLE_BASELINE = Baseline(
    "CartPole-v1",
    8,
    {
        "n_steps": 32,
        "batch_size": 256,
        "gae_lambda": 0.8,
        "gamma": 0.98,
        "n_epochs": 20,
        "ent_coef": 0.0,
        "learning_rate": 1e-3,
        "clip_range": 0.2,
    },
    linear=("learning_rate", "clip_range"),
)
PENDULUM_BASELINE = Baseline(
    "Pendulum-v1",
    4,
    {
        "n_steps": 1024,
        "gae_lambda": 0.95,
        "gamma": 0.9,
        "n_epochs": 10,
        "ent_coef": 0.0,
        "learning_rate": 1e-3,
        "clip_range": 0.2,
        "use_sde": True,
        "sde_sample_freq": 4,
    },
)
LANDER_BASELINE = Baseline(
    "LunarLander-v3",
    16,
    {
        "n_steps": 1024,
        "batch_size": 64,
        "gae_lambda": 0.98,
        "gamma": 0.999,
        "n_epochs": 4,
        "ent_coef": 0.01,
    },
)

TASKS = (
    Task(
        "cartpole",
        "CartPole",
        200_000,
        (Variant("mlp", "MLP", 475),),
        CARTPOLE_BASELINE,
        episodes=MANY_EPISODES,
    ),
    Task(
        "lander", "Lander", 1_500_000, (Variant("mlp", "MLP", 200),), LANDER_BASELINE, episodes=MANY_EPISODES
    ),
    Task(
        "pendulum",
        "Pendulum",
        300_000,
        (Variant("mlp", "MLP, continuous", -250),),
        PENDULUM_BASELINE,
        episodes=MANY_EPISODES,
    ),
    Task("harvest", "Harvest, 24 x 24 x 3 pixels", 1_000_000, (Variant("cnn", "CNN", 12),)),
    Task(
        "memory",
        "Memory, 2.5 horizons back",
        200_000,
        (
            Variant("lstm", "LSTM", 0.95),
            Variant("mlp", "MLP", 0.6, "at most", ("--policy.recurrent", "none")),
            Variant("zero", "LSTM, no stored states", 0.6, "at most", ("--ppo.recurrent-start", "zero")),
        ),
        goal=0.95,
        episodes=MANY_EPISODES,
    ),
    Task("foragers", "Foragers, three agents", 1_000_000, (Variant("mlp", "MLP, shared, masked", 30),)),
)

SCHEDULES = Task(
    "cartpole",
    "Schedules",
    100_000,
    tuple(
        Variant(name, "MLP", 475, flags=("--collection.schedule", name))
        for name in ("sync", "overlap", "async")
    ),
)
"""Equal steps under each schedule; its bar is not judged."""

SCHEDULES_NAME = "schedules"


@dataclass(frozen=True)
class Run:
    """One training with its evaluation."""

    task: str
    """The game's name, or `schedules`."""
    variant: str
    """The variant's name, or `sb3`."""
    seed: int
    game: str
    steps: int
    flags: tuple[str, ...] = ()
    baseline: Baseline | None = field(default=None, compare=False)
    reward_scale: float = 1.0
    """The game's rewards are multiplied by it; what is recorded is divided by it again."""
    opponent: str | None = None
    """A module in which the policy plays against a script: recorded is the share of episodes that it wins."""
    episodes: int = EVALUATION_EPISODES

    @property
    def key(self) -> str:
        """Names the run in the record and as a run's folder."""
        scale = "" if self.reward_scale == 1.0 else f"-x{self.reward_scale:g}"
        return f"{self.task}-{self.variant}-{self.seed}{scale}"


def plan_runs(*, only: str | None = None, seed: int | None = None, scale: float = 1.0) -> list[Run]:
    """Every run of the table, the baseline's beside ours, seed by seed.

    Args:
        only: the name of one task, or `schedules`.
        seed: one seed instead of `SEEDS`.
        scale: fraction of each task's steps, above 0; below 1 it tries the command out.

    Raises: ConfigurationError: for a task there is not, or a scale that cannot be.
    """
    names = [*(task.game for task in TASKS), SCHEDULES_NAME]
    check_choice(names, only, scale)
    runs: list[Run] = []
    seeds: Sequence[int] = SEEDS if seed is None else (seed,)
    for name, task in zip(names, (*TASKS, SCHEDULES), strict=True):
        if only not in (None, name):
            continue
        steps = max(1, round(task.steps * scale))
        for each in seeds:
            runs += [
                Run(
                    name,
                    variant.name,
                    each,
                    task.game,
                    steps,
                    _flags(task, variant),
                    episodes=task.episodes,
                )
                for variant in task.variants
            ]
            if task.baseline is not None:
                runs.append(
                    Run(name, "sb3", each, task.game, steps, baseline=task.baseline, episodes=task.episodes)
                )
    return runs


def check_choice(names: Sequence[str], only: str | None, scale: float) -> None:
    """Raises: ConfigurationError: unless `only` is None or one of `names`, and `scale` in (0, 1]."""
    if only is not None and only not in names:
        near = nearest_name(only, names)
        fix = f"did you mean {near!r}?" if near else f"tasks: {', '.join(names)}"
        raise ConfigurationError(f"there is no task {only!r}", setting="--only", fix=fix)
    if not 0 < scale <= 1:
        raise ConfigurationError(f"must be above 0 and at most 1, got {scale}", setting="--scale")


def _flags(task: Task, variant: Variant) -> tuple[str, ...]:
    goal = () if task.goal is None else ("--until-return", f"{task.goal:g}")
    return (*variant.flags, *goal)
