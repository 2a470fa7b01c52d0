"""Who beats whom: shares with their intervals, a run's opponents, the answer of a match."""

import math
from typing import Final

from attract.schema.base import Count, FiniteModel, Text

NORMAL_975: Final = 1.959964
"""Quantile 0.975 of the normal distribution."""


class Estimate(FiniteModel):
    """A number and its 95 % interval; None: without a bound."""

    mean: float | None
    low: float | None
    high: float | None


def wilson(rate: float, total: float) -> Estimate:
    """A share of `total` independent episodes, 1 or more, with its 95 % interval. Source: Wilson, 1927."""
    square = NORMAL_975**2
    middle = (rate + square / (2 * total)) / (1 + square / total)
    half = math.sqrt(rate * (1 - rate) / total + square / (4 * total**2))
    half *= NORMAL_975 / (1 + square / total)
    low = 0.0 if rate == 0 else max(0.0, middle - half)
    high = 1.0 if rate == 1 else min(1.0, middle + half)
    return Estimate(mean=rate, low=low, high=high)


class LadderRow(FiniteModel):
    """One who plays in a run's training: the policy that learns, or an opponent."""

    player: Text
    """`newest`, `version`, `random`, or `script:` and its file."""
    policy_version: Count | None = None
    """Of `version`."""
    rating: float
    """25 is the mean; of two, the one that is 13 above wins about nine of ten."""
    rating_std: float
    """Its uncertainty."""
    win_rate: Estimate | None
    """Share of the last 100 whole episodes against it that the policy won, as it was then; a draw counts
    half. Of `newest`: against all opponents together. None: there were none."""
    episodes: Count
    """How many these are."""


class OutsideReport(FiniteModel):
    """How a program outside played."""

    player: Text
    decisions: Count
    defaults: Count
    """Decisions that it did not make: the seat's default action counted."""
    problems: list[Text] = []
    """What was wrong, a sentence each."""


class MatchPlayer(FiniteModel):
    """One who took part."""

    player: Text
    """As it was named."""
    rating: float
    """25 is the mean; of two, the one that is 13 above wins about nine of ten."""
    rating_std: float
    """Its uncertainty."""
    run_id: Text | None = None
    policy_version: Count | None = None
    """The run and the version that the name meant; None: it is none of a run."""


class MatchPair(FiniteModel):
    """How a player did against another."""

    player: Text
    opponent: Text
    wins: Count
    draws: Count
    losses: Count
    score: Estimate
    """Share won; a draw counts half."""
    episode_id: Text | None = None
    """An episode of the two that the run keeps, if there is one that `player` won; None: none is kept."""


class MatchAtValue(FiniteModel):
    """The same at one value of a parameter."""

    value: float
    pairs: list[MatchPair]
    seats: list[Estimate]


class MatchReport(FiniteModel):
    """`attract match`; with `--over` at all values together."""

    game: Text
    episodes: Count
    """Of each two players."""
    players: list[MatchPlayer]
    """The strongest first."""
    pairs: list[MatchPair]
    """Each two players twice, from the view of either."""
    seats: list[Estimate]
    """By seat: the share that whoever sat there won, over all pairs."""
    parameter: Text | None = None
    """Of `--over`."""
    at_values: list[MatchAtValue] = []
    outside: list[OutsideReport] = []
    """How the programs outside played."""
    saved: Count = 0
    """Episodes in the folder of `--save`."""
    played_at: Text = ""
    """UTC, ISO 8601."""
