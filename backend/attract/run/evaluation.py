"""Evaluations of one run: whose turn it is, and what they say of the best version. Does no I/O."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from attract.curriculum.window import EVALUATION_PREFIX
from attract.schema.api import EvaluationView
from attract.schema.messages import ParameterDistribution, Seat

Purpose = Literal["asked", "callback", "goal"]
"""`asked`: by a person or a program; `callback`: it fell due; `goal`: it decides whether the run is over."""


@dataclass(frozen=True)
class EvaluationRequest:
    """Fixed-seed episodes with a version."""

    purpose: Purpose
    episodes: int
    deterministic: bool
    seed: int
    """The run's, or the caller's; the episodes' own is derived from it."""
    request_id: int = 0
    """For `asked`: which request to answer."""
    update: int = 0
    """For `goal`: the update that reached it."""
    version: int | None = None
    """None: the newest when its turn comes."""
    record_all: bool = False
    """For `asked`: answer with every episode as it was played."""
    seats: tuple[Seat, ...] = ()
    """For `asked`: who plays each agent, in a match that nothing else follows; empty: the version does."""
    parameters: Mapping[str, ParameterDistribution] | None = None
    """For `asked`: of its games; None: those of the run's evaluations."""


class Evaluations:
    """Owned by the run core: the first is under way, the others wait their turn."""

    def __init__(self) -> None:
        self._queue: deque[EvaluationRequest] = deque()
        self._has_begun = False
        self._best_return: float | None = None
        self._best_evaluation: float | None = None

    @property
    def is_running(self) -> bool:
        """Whether one has not been answered yet."""
        return bool(self._queue)

    @property
    def is_asked(self) -> bool:
        """Whether the one under way was asked for."""
        return self._has_begun and self._queue[0].purpose == "asked"

    def has(self, purpose: Purpose) -> bool:
        """Whether one of that purpose has not been answered yet."""
        return any(request.purpose == purpose for request in self._queue)

    def add(self, request: EvaluationRequest) -> None:
        """One more, after those that are there."""
        self._queue.append(request)

    def begin_next(self) -> EvaluationRequest | None:
        """The one to begin now; None: one is under way, or none waits."""
        if self._has_begun or not self._queue:
            return None
        self._has_begun = True
        return self._queue[0]

    def done(self) -> EvaluationRequest | None:
        """End the current evaluation and return it; None if there is none."""
        if not self._has_begun:
            return None
        self._has_begun = False
        return self._queue.popleft()

    # --- the best version ---

    def is_best(self, view: EvaluationView, *, deterministic: bool) -> bool:
        """Take note of an evaluation; whether its version is the best so far.

        Only evaluations by the admin's own workers, in the mode that decides the goal, count.
        """
        if not view.confirmed or view.deterministic != deterministic:
            return False
        if self._best_evaluation is not None and view.return_mean < self._best_evaluation:
            return False
        self._best_evaluation = view.return_mean
        return True

    def is_best_by_return(self, mean: float | None) -> bool:
        """Take note of a training return; whether it is the highest, and no evaluation decides.

        Where one agent wins what another loses, all have the same: the newest is the best.
        """
        if self._best_evaluation is not None or mean is None:
            return False
        if self._best_return is not None and mean < self._best_return:
            return False
        self._best_return = mean
        return True

    def forget_return(self) -> None:
        """Whatever training return comes next is the highest: those until now cannot be trusted."""
        self._best_return = None

    def state(self) -> dict[str, float | None]:
        """What the best version came to, for a checkpoint."""
        return {"return": self._best_return, "evaluation": self._best_evaluation}

    def load(self, state: Mapping[str, float | None]) -> None:
        """What `state` gave."""
        self._best_return, self._best_evaluation = state.get("return"), state.get("evaluation")


def evaluation_metrics(view: EvaluationView) -> dict[str, float]:
    """An evaluation under SB3's names."""
    family = EVALUATION_PREFIX[view.deterministic]
    values = {
        f"{family}mean_reward": view.return_mean,
        f"{family}std_reward": view.return_std,
        f"{family}mean_ep_length": view.length_mean,
    }
    for agent, mean in enumerate(view.agent_return_means):
        values[f"{family}mean_reward/agent_{agent}"] = mean
    return values
