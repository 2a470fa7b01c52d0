"""Which trials are worth a second look, and whether one is better than the defaults or was only lucky."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any, Final

from attract.schema.studies import VerdictKind

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


LEVEL: Final = 0.1
"""Rate of false positives that a search may have, over all finalists together."""
QUICKER: Final = 0.9
"""Share of the defaults' seconds: what takes more is not worth a file."""


@dataclass(frozen=True)
class Point:
    """A finished trial by its two measures."""

    trial: int
    score: float
    seconds: float


@dataclass(frozen=True)
class Sample:
    """Scores and seconds of one choice of settings, seed by seed."""

    scores: Sequence[float]
    seconds: Sequence[float]


def finalists_of(points: Sequence[Point]) -> list[int]:
    """Whom the defaults, trial 0, are compared with on fresh seeds: at most two, none without another trial.

    The one with the highest score, the quicker one of equals; and the quickest other one of those that score
    as high as the defaults and are quicker than they are.
    """
    others = [point for point in points if point.trial != 0]
    if not others:
        return []
    best = max(others, key=lambda point: (point.score, -point.seconds))
    found = [best.trial]
    default = next((point for point in points if point.trial == 0), None)
    if default is not None:
        quick = [
            other
            for other in others
            if other.score >= default.score
            and other.seconds <= QUICKER * default.seconds
            and other.trial != best.trial
        ]
        if quick:
            found.append(min(quick, key=lambda point: point.seconds).trial)
    return found


def chance_of(higher: Sequence[float], lower: Sequence[float]) -> float:
    """How often randomly reassigned values have means as far apart in this direction, in (0, 1].

    The exact permutation test, one-sided; of five against five values it looks at 252 deals.
    """
    # scipy takes a second to import, and a search an hour.
    from scipy.stats import permutation_test

    def difference(first: Any, second: Any, axis: int) -> Any:
        return first.mean(axis=axis) - second.mean(axis=axis)

    deals = math.comb(len(higher) + len(lower), len(higher))
    test = permutation_test((higher, lower), difference, alternative="greater", n_resamples=deals)
    return float(test.pvalue)


def judge(finalist: Sample, default: Sample, *, num_finalists: int) -> tuple[VerdictKind, float]:
    """Whether it is better than the defaults, or as good and quicker; and how likely chance shows the same.

    Args:
        finalist, default: on the same number of fresh seeds, not used to choose either.
        num_finalists: that are judged: each gets its share of `LEVEL` (Bonferroni).
    """
    level = LEVEL / num_finalists
    chance = chance_of(finalist.scores, default.scores)
    if chance <= level:
        return "better", chance
    quicker = chance_of(default.seconds, finalist.seconds)
    is_as_good = fmean(finalist.scores) >= fmean(default.scores)
    if is_as_good and quicker <= level and fmean(finalist.seconds) <= QUICKER * fmean(default.seconds):
        return "quicker", quicker
    return "no better", chance


def winner_of(judged: Sequence[tuple[int, VerdictKind, Sample]]) -> int | None:
    """The finalist to be written: what is better wins over what is quicker, then the higher score."""
    won = [entry for entry in judged if entry[1] != "no better"]
    if not won:
        return None
    best = max(
        won, key=lambda entry: (entry[1] == "better", fmean(entry[2].scores), -fmean(entry[2].seconds))
    )
    return best[0]
