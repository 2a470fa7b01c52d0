"""Which trials are ended early: those behind the median of the others, in score or in time."""

import math
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Final

SHARES: Final = (0.25, 0.5, 0.75)
"""Shares of a trial's steps at which it is compared."""
MIN_OTHERS: Final = 4
"""Minimum number of trials to compare with before one is ended."""


def rungs_of(total_steps: int) -> tuple[int, ...]:
    """The steps at which a trial is compared with the others."""
    return tuple(round(share * total_steps) for share in SHARES)


class Rungs:
    """One trial's scores at the steps where it is compared.

    Owner: the tuner, from the trial's start to its end.
    """

    def __init__(self, total_steps: int) -> None:
        self._left = list(rungs_of(total_steps))
        self.scores: dict[int, float | None] = {}
        """By step; None: no episode had ended."""

    def reached(self, agent_steps: int, score: float | None) -> list[int]:
        """Take note of a score; the rungs that it is the first of."""
        new = [rung for rung in self._left if rung <= agent_steps]
        self._left = [rung for rung in self._left if rung > agent_steps]
        self.scores |= dict.fromkeys(new, score)
        return new

    def ended(self, score: float | None) -> None:
        """The trial is over; what it came to is what it would have at every later step."""
        self.scores |= dict.fromkeys(self._left, score)
        self._left = []


def is_behind(score: float | None, others: Sequence[float | None]) -> bool:
    """Whether to end a trial, by its score and those of the others at the same step.

    The median stopping rule (Golovin et al. 2017, section 3.2.2), with scores as they stand instead of their
    running means: `score` is already a mean over episodes.
    """
    if len(others) < MIN_OTHERS:
        return False
    return _number(score) < median(map(_number, others))


def is_late(seconds: float, others: Sequence[float]) -> bool:
    """Whether to end a trial on its way to a goal: most of those that reached it were there by now.

    Steps say nothing there: one that passes over its batches less often takes more of them in less time.

    Args:
        seconds: of the trial so far.
        others: those of each that reached the goal.
    """
    return len(others) >= MIN_OTHERS and seconds > median(others)


def scores_at(rung: int, trials: Sequence[Mapping[int, float | None]]) -> list[float | None]:
    """The scores of those trials that came so far."""
    return [scores[rung] for scores in trials if rung in scores]


def _number(score: float | None) -> float:
    return -math.inf if score is None else score
