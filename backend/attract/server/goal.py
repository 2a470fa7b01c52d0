"""When a run is over: its step count is reached, or its return is, and an evaluation confirms it."""

from collections import deque
from typing import Final, Literal

from attract.schema.messages import EpisodeResult

WINDOW: Final = 100
MAX_BACK_OFF_UPDATES: Final = 32

Decision = Literal["go_on", "evaluate", "finish"]


class Goal:
    """Decides after each update; owned by the active run. Does no I/O.

    An evaluation that falls short is tried again after one more update, then two, four, ... at most 32.
    """

    def __init__(self, until_return: float | None, total_steps: int | None) -> None:
        self.until_return = until_return
        self.total_steps = total_steps
        self.reached = False
        self._returns: deque[float] = deque(maxlen=WINDOW)
        self._agent_returns: deque[list[float]] = deque(maxlen=WINDOW)
        self._lengths: deque[int] = deque(maxlen=WINDOW)
        self._back_off = 1
        self._not_before = 0

    def count(self, episodes: list[EpisodeResult]) -> None:
        """Take finished training episodes, in the order of `global_episode_index`; cut ones stay out (E1)."""
        for episode in episodes:
            if episode.end_reason != "cut":
                self._returns.append(sum(episode.returns) / len(episode.returns))
                self._agent_returns.append(episode.returns)
                self._lengths.append(episode.length_steps)

    @property
    def return_mean(self) -> float | None:
        """Mean return of the last 100 reportable episodes and all their agents, None before the first."""
        return sum(self._returns) / len(self._returns) if self._returns else None

    @property
    def agent_return_means(self) -> list[float]:
        """The same for each agent of a game of several; empty for a game of one."""
        if not self._agent_returns or len(self._agent_returns[0]) < 2:
            return []
        return [sum(own) / len(own) for own in zip(*self._agent_returns, strict=True)]

    @property
    def length_mean(self) -> float | None:
        """Mean length of the same episodes, in steps."""
        return sum(self._lengths) / len(self._lengths) if self._lengths else None

    def after_update(self, update: int, agent_steps: int) -> Decision:
        """What to do now that `update` is committed."""
        if self.total_steps is not None and agent_steps >= self.total_steps:
            return "finish"
        mean = self.return_mean
        if self.until_return is None or mean is None or len(self._returns) < WINDOW:
            return "go_on"
        return "evaluate" if mean >= self.until_return and update >= self._not_before else "go_on"

    def evaluated(self, update: int, return_mean: float) -> Decision:
        """What an evaluation of the policy after `update` says: finish, or train on."""
        if self.until_return is not None and return_mean >= self.until_return:
            self.reached = True
            return "finish"
        self._not_before = update + self._back_off
        self._back_off = min(2 * self._back_off, MAX_BACK_OFF_UPDATES)
        return "go_on"
