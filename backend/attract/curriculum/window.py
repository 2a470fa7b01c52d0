"""The last 100 finished episodes: what their returns, lengths and metrics come to."""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, repeat
from typing import Any, Final, NamedTuple

from attract.schema.episodes import NOTHING, Episode, Episodes

WINDOW: Final = 100
RETURN, LENGTH = "rollout/ep_rew_mean", "rollout/ep_len_mean"
AGENT_RETURN = f"{RETURN}/agent_"
"""And the agent's number, in games of several."""


def is_of_window(name: str) -> bool:
    """Whether a metric is a mean over the window, and not something that updates or evaluations bring."""
    return name in (RETURN, LENGTH) or name.startswith((AGENT_RETURN, "game/", "reward/"))


class _Episode(NamedTuple):
    returns: Sequence[float]
    """One per agent."""
    length_steps: int
    metrics: Mapping[str, float]
    """By the names of charts: `game/<metric>`, `reward/<term>`."""

    def value(self, name: str) -> float | None:
        """What a metric is in this episode; None when it has none of that name."""
        if name == RETURN:
            return sum(self.returns) / len(self.returns)
        if name == LENGTH:
            return float(self.length_steps)
        if name.startswith(AGENT_RETURN):
            agent = name.removeprefix(AGENT_RETURN)
            return self.returns[int(agent)] if agent.isdecimal() and int(agent) < len(self.returns) else None
        return self.metrics.get(name)


@dataclass
class EpisodeWindow:
    """Owned by the director; goal, statistics and lessons read it. Cut episodes never enter (rule E1)."""

    reward_weights: Mapping[str, float] = field(default_factory=dict[str, float])
    """Weight of each reward term, as the game declares them."""
    _episodes: deque[_Episode] = field(default_factory=lambda: deque(maxlen=WINDOW))

    def __len__(self) -> int:
        return len(self._episodes)

    @property
    def is_full(self) -> bool:
        """Whether it holds 100."""
        return len(self._episodes) == WINDOW

    @property
    def return_mean(self) -> float | None:
        """Mean over agents and episodes, None before the first."""
        return self.mean(RETURN)

    @property
    def agent_return_means(self) -> list[float]:
        """The same for each agent of a game of several; empty for a game of one."""
        several = len(self._episodes[0].returns) if self._episodes else 0
        means = [self.mean(f"{AGENT_RETURN}{agent}") for agent in range(several if several > 1 else 0)]
        return [mean for mean in means if mean is not None]

    @property
    def length_mean(self) -> float | None:
        """Mean length in steps."""
        return self.mean(LENGTH)

    def extend(self, results: Episodes) -> None:
        """Finished episodes, in the order of `global_episode_index`; cut ones stay out."""
        finished = results.finished()
        columns = finished.columns
        metrics: Iterable[Mapping[str, float]] = repeat(NOTHING, len(finished))
        if columns.metrics or columns.reward_terms:
            metrics = map(self._named, finished)
        rows = map(_Episode, finished.returns, columns.length_steps, metrics)
        self._episodes.extend(islice(rows, max(0, len(finished) - WINDOW), None))

    def add(self, result: Episode) -> None:
        """One finished episode; a cut one stays out."""
        if result.end_reason == "cut":
            return
        metrics: Mapping[str, float] = NOTHING
        if result.metrics or result.reward_terms:
            metrics = self._named(result)
        self._episodes.append(_Episode(result.returns, result.length_steps, metrics))

    def _named(self, result: Episode) -> dict[str, float]:
        """What charts show of an episode, by their names."""
        weights = self.reward_weights
        metrics = {f"game/{name}": value for name, value in result.metrics.items()}
        for name, value in result.reward_terms.items():
            metrics[f"reward/{name}"] = value * weights.get(name, 1.0)
        return metrics

    def clear(self) -> None:
        """Forget all: from now on another task is played."""
        self._episodes.clear()

    def mean(self, name: str) -> float | None:
        """Mean of a metric over the episodes that have it, None without any.

        `rollout/ep_rew_mean` (and `/agent_0`, ...), `rollout/ep_len_mean`, `game/<metric>`, `reward/<term>`.
        """
        values = [value for one in self._episodes if (value := one.value(name)) is not None]
        return sum(values) / len(values) if values else None

    def state(self) -> list[dict[str, Any]]:
        """For a checkpoint."""
        return [
            {"returns": list(one.returns), "length": one.length_steps, "metrics": dict(one.metrics)}
            for one in self._episodes
        ]

    def load(self, state: list[dict[str, Any]]) -> None:
        """What `state` gave."""
        self._episodes.clear()
        for one in state:
            self._episodes.append(_Episode(list(one["returns"]), int(one["length"]), one["metrics"]))
