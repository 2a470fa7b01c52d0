"""The last 100 finished episodes: statistics of their returns, lengths and metrics."""

import math
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice, repeat
from typing import Any, Final

from attract.diagnosis.verdict import Measured
from attract.errors import ConfigurationError, nearest_name
from attract.schema.episodes import NOTHING, Episode, Episodes
from attract.schema.game import GameDescription
from attract.settings.run import RunSettings

WINDOW: Final = 100
RETURN, LENGTH = "rollout/ep_rew_mean", "rollout/ep_len_mean"
AGENT_RETURN = f"{RETURN}/agent_"
"""And the agent's number, in games of several."""


def is_of_window(name: str) -> bool:
    """Whether a metric is a mean over the window, and not something that updates or evaluations bring."""
    return name in (RETURN, LENGTH) or name.startswith((AGENT_RETURN, "game/", "reward/"))


@dataclass
class EpisodeWindow:
    """Owned by the controller; goal, statistics and lessons read it. Cut episodes never enter (rule E1)."""

    reward_weights: Mapping[str, float] = field(default_factory=dict[str, float])
    """Weight of each reward term, as the game declares them."""
    _returns: deque[tuple[float, ...]] = field(default_factory=lambda: deque(maxlen=WINDOW))
    """Returns of each episode, one per agent."""
    _lengths: deque[int] = field(default_factory=lambda: deque(maxlen=WINDOW))
    """In steps."""
    _metrics: deque[Mapping[str, float]] = field(default_factory=lambda: deque(maxlen=WINDOW))
    """By the names of charts: `game/<metric>`, `reward/<term>`."""

    def __len__(self) -> int:
        return len(self._lengths)

    @property
    def is_full(self) -> bool:
        """Whether it holds 100."""
        return len(self) == WINDOW

    @property
    def return_mean(self) -> float | None:
        """Mean over agents and episodes, None before the first."""
        return self.mean(RETURN)

    @property
    def agent_return_means(self) -> list[float]:
        """The same for each agent of a game of several; empty for a game of one."""
        several = len(self._returns[0]) if self._returns else 0
        means = [self.mean(f"{AGENT_RETURN}{agent}") for agent in range(several if several > 1 else 0)]
        return [mean for mean in means if mean is not None]

    @property
    def measured(self) -> Measured | None:
        """Mean return and its standard error, None before the first."""
        return Measured.of_returns(self._values(RETURN)) if self._returns else None

    @property
    def length_mean(self) -> float | None:
        return self.mean(LENGTH)

    def extend(self, results: Episodes) -> None:
        """Finished episodes, in the order of `global_episode_index`; cut ones stay out."""
        finished = results.finished()
        columns = finished.columns
        metrics: Iterable[Mapping[str, float]] = repeat(NOTHING, len(finished))
        if columns.metrics or columns.reward_terms:
            metrics = map(self._named, islice(finished, max(0, len(finished) - WINDOW), None))
        self._returns.extend(finished.returns)
        self._lengths.extend(columns.length_steps)
        self._metrics.extend(metrics)

    def add(self, result: Episode) -> None:
        """One finished episode; a cut one stays out."""
        if result.end_reason == "cut":
            return
        self._returns.append(tuple(result.returns))
        self._lengths.append(result.length_steps)
        self._metrics.append(self._named(result))

    def _named(self, result: Episode) -> dict[str, float]:
        """Values of an episode for charts, by chart name."""
        weights = self.reward_weights
        metrics = {f"game/{name}": value for name, value in result.metrics.items()}
        for name, value in result.reward_terms.items():
            metrics[f"reward/{name}"] = value * weights.get(name, 1.0)
        return metrics

    def clear(self) -> None:
        """Forget all: another task is played from now on, or some of them were forged."""
        for column in (self._returns, self._lengths, self._metrics):
            column.clear()

    def mean(self, name: str) -> float | None:
        """Mean of a metric over the episodes that have it, None without any.

        `rollout/ep_rew_mean` (and `/agent_0`, ...), `rollout/ep_len_mean`, `game/<metric>`, `reward/<term>`.
        """
        values = self._values(name)
        return sum(values) / len(values) if values else None

    def state(self) -> list[dict[str, Any]]:
        return [
            {"returns": list(returns), "length": length, "metrics": dict(metrics)}
            for returns, length, metrics in zip(self._returns, self._lengths, self._metrics, strict=True)
        ]

    def load(self, state: list[dict[str, Any]]) -> None:
        """What `state` gave."""
        self.clear()
        for episode in state:
            self._returns.append(tuple(episode["returns"]))
            self._lengths.append(int(episode["length"]))
            self._metrics.append(episode["metrics"])

    def std(self, name: str) -> float | None:
        """Standard deviation of a metric over those episodes, None without any."""
        values = self._values(name)
        if not values:
            return None
        mean = sum(values) / len(values)
        return math.sqrt(sum((value - mean) ** 2 for value in values) / len(values))

    def _values(self, name: str) -> list[float]:
        """Values of a metric in the episodes that have it."""
        if name == RETURN:
            return [sum(returns) / len(returns) for returns in self._returns]
        if name == LENGTH:
            return [float(length) for length in self._lengths]
        if name.startswith(AGENT_RETURN):
            agent = name.removeprefix(AGENT_RETURN)
            if not agent.isdecimal():
                return []
            return [returns[int(agent)] for returns in self._returns if int(agent) < len(returns)]
        return [metrics[name] for metrics in self._metrics if name in metrics]


EVALUATION_PREFIX = {True: "eval/", False: "eval_sampled/"}
"""By whether the policy played deterministically."""
EVALUATION_METRICS = ("mean_reward", "std_reward", "mean_ep_length")


def check_metric(name: str, settings: RunSettings, game: GameDescription, *, setting: str) -> None:
    """Refuse a metric of `game/`, `reward/`, `rollout/` or `eval/` that this run will never have.

    Other names, such as `train/entropy`, are taken as they are: what they can be is the learner's to say.

    Raises: ConfigurationError: with the nearest name, or with what is missing.
    """
    family, _, rest = name.partition("/")
    if not rest:
        raise ConfigurationError(
            f"{name!r} is no metric", setting=setting, fix=f"metric names look like {RETURN}"
        )
    known: dict[str, list[str]] = {
        "game": [f"game/{metric}" for metric in game.metrics],
        "reward": [f"reward/{term}" for term in game.reward_terms],
        "rollout": [RETURN, LENGTH],
        "eval": [f"eval/{metric}" for metric in EVALUATION_METRICS],
        "eval_sampled": [f"eval_sampled/{metric}" for metric in EVALUATION_METRICS],
    }
    if family in known and name not in known[family]:
        near = nearest_name(name, known[family])
        names = ", ".join(known[family]) or f"{game.id} declares none"
        fix = f"did you mean {near!r}?" if near else f"there are: {names}"
        raise ConfigurationError(f"this run has no metric {name!r}", setting=setting, fix=fix)
    mode = {"eval": "deterministic", "eval_sampled": "sampled"}.get(family)
    evaluation = settings.callbacks.evaluation
    if mode is not None and (evaluation is None or mode not in evaluation.modes):
        raise ConfigurationError(
            f"{name!r} comes from evaluations, but none are configured",
            setting=setting,
            fix=f"set callbacks.evaluation.every_episodes, with {mode!r} among its modes",
        )
