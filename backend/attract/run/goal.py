"""When a run is over: its step count is reached, or its return is, and an evaluation confirms it."""

import math
from typing import Final, Literal

from attract.curriculum.window import EpisodeWindow
from attract.schema.api import EvaluationView

MAX_BACK_OFF_UPDATES: Final = 32

Decision = Literal["go_on", "evaluate", "finish"]


class Goal:
    """Decides after each update; owned by the active run. Does no I/O.

    An evaluation that falls short is tried again after one more update, then two, four, ... at most 32.
    """

    def __init__(
        self, until_return: float | None, total_steps: int | None, window: EpisodeWindow | None = None
    ) -> None:
        """`window`: the last 100 reportable episodes, filled by its owner; None: one of its own."""
        self.until_return = until_return
        self.total_steps = total_steps
        self.window = EpisodeWindow() if window is None else window
        self.reached = False
        self.confirmed: EvaluationView | None = None
        """The evaluation that confirmed a return; None: the goal was another, or is not reached."""
        self._back_off = 1
        self._not_before = 0

    @property
    def return_mean(self) -> float | None:
        """Mean return of the last 100 reportable episodes and all their agents, None before the first."""
        return self.window.return_mean

    def after_update(self, update: int, agent_steps: int, *, is_last_lesson: bool = True) -> Decision:
        """What to do now that `update` is committed; the return of an earlier lesson is no goal."""
        if self.total_steps is not None and agent_steps >= self.total_steps:
            return "finish"
        mean = self.return_mean
        if self.until_return is None or mean is None or not self.window.is_full or not is_last_lesson:
            return "go_on"
        return "evaluate" if mean >= self.until_return and update >= self._not_before else "go_on"

    def evaluated(self, update: int, view: EvaluationView) -> Decision:
        """What an evaluation of the policy after `update` says: finish, or train on.

        Its mean must lie a standard error above the goal: it was asked for because the training return was
        high, and of policies about as good as the goal the lucky ones would pass. Evaluations that hosts of
        one's own did not play confirm nothing.
        """
        if self.until_return is not None and view.confirmed and _at_least(view) >= self.until_return:
            self.reached, self.confirmed = True, view
            return "finish"
        self._not_before = update + self._back_off
        self._back_off = min(2 * self._back_off, MAX_BACK_OFF_UPDATES)
        return "go_on"


def _at_least(view: EvaluationView) -> float:
    """Mean return less its standard error."""
    return view.return_mean - view.return_std / math.sqrt(max(view.episodes, 1))
