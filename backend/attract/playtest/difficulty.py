"""How hard a game is at each value of one of its parameters: shares, means and their 95 % intervals.

Every value is played by the same players on the same seeds. Episodes of one seed are not independent, so all
intervals are over the means per seed.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, Literal

from pydantic import Field

from attract.playtest import ranks
from attract.playtest.comparison import FALSE_ALARM, compare, least_p_value, threshold
from attract.playtest.outcomes import GAME_ENDS, LENGTH, RETURN, Outcome, Outcomes
from attract.playtest.report import PlayerOutcome
from attract.schema.base import Count, FiniteModel, Name, Text
from attract.schema.game import GameDescription
from attract.schema.match import Estimate, wilson

REPORT_VERSION: Final = 1
WON: Final = "won"
"""Metric that says whether an episode was won, and the name of the number that is compared."""
DIFFICULTY: Final = "difficulty"
TOGETHER: Final = "all players"
LOW_QUANTILE, HIGH_QUANTILE = 0.05, 0.95
"""Returns that count as 0 and as 1, over the episodes of all values."""
BandName = Literal["difficulty", "win_rate", "attempts", "return", "length"]
Band = tuple[float | None, float | None]
WinRule = Literal["metric", "time_limit", "ended"]
Number = Callable[[Outcome], float]
Pair = tuple[str, str, Mapping[int, float], Mapping[int, float]]
"""Player, number, and its values by seed before and now."""


class ValueDifficulty(FiniteModel):
    """The game at one value of the parameter, over all players."""

    value: float
    difficulty: Estimate | None
    """In [0, 1]; None: every episode has the same return."""
    win_rate: Estimate
    attempts: Estimate
    """Episodes until one is won: 1 / win rate."""
    episode_return: Estimate
    length: Estimate
    """Steps."""
    episodes: Count
    failed: Count = 0
    """Episodes in which the game failed: their seeds are left out."""
    players: list[PlayerOutcome] = []
    outside: dict[BandName, Literal["below", "above", "unsure"]] = {}
    """Bands that the number is outside of; `unsure`: a part of its interval is inside."""


class Step(FiniteModel):
    """Two neighbouring values in pairs of equal seeds."""

    before: float
    now: float
    differs: bool
    """At 1 % over all tests of the report together."""
    player: Text | None = None
    number: Name | None = None
    direction: Literal["higher", "lower"] | None = None
    p_value: float | None = None
    """Corrected for the number of tests."""


class DifficultyReport(FiniteModel):
    """One run of `attract difficulty`. Relative between settings, no prediction of what people will do."""

    format: Literal["attract-difficulty"] = "attract-difficulty"
    version: Literal[1] = REPORT_VERSION
    game: Text
    build: Annotated[str, Field(max_length=64)]
    parameter: Name
    verdict: Literal["inside", "outside", "not_played"]
    problem: Text | None = None
    """`not_played`: why, and what to do."""
    win_rule: WinRule | None = None
    """What counts as won: a metric above 0, the time limit reached, or any end by the game."""
    win_metric: Name | None = None
    difficulty_of: Literal["win_rate", "return"] | None = None
    """What the difficulty is computed from."""
    players: list[Text] = []
    """Those of the policy, or without one those that need no training."""
    learned: bool = False
    values: list[ValueDifficulty] = []
    steps: list[Step] = []
    rank_correlation: float | None = None
    """Spearman's, of value and difficulty."""
    bands: dict[BandName, Band] = {}
    seeds: Count = 0
    """Seeds that every player played at every value."""
    seconds: float = 0.0

    @property
    def exit_code(self) -> int:
        """0 inside the bands, 1 outside, 2 could not be played."""
        return {"inside": 0, "outside": 1, "not_played": 2}[self.verdict]


@dataclass(frozen=True)
class Wins:
    """What counts as a won episode."""

    rule: WinRule
    metric: str | None = None

    @classmethod
    def of(cls, description: GameDescription, metric: str | None) -> "Wins":
        """By `metric`, by the metric `won` if there is one, else by how episodes end."""
        if metric is not None or WON in description.metrics:
            return cls("metric", metric or WON)
        return cls("ended" if description.max_steps is None else "time_limit")

    def count(self, outcome: Outcome) -> float:
        """1 for a won episode, else 0."""
        if self.rule == "metric":
            return float(outcome.numbers.get(f"info {self.metric}", 0.0) > 0)
        if self.rule == "ended":
            return float(outcome.end_reason in GAME_ENDS)
        return float(outcome.end_reason == "time_limit")


Table = dict[str, dict[int, Outcome]]
"""Outcomes by player and index."""


def measure(
    values: Sequence[float],
    played: Sequence[Outcomes],
    players: Sequence[str],
    wins: Wins,
    bands: Mapping[BandName, Band],
) -> tuple[list[ValueDifficulty], list[Step]]:
    """The numbers of each value, and each two neighbours in pairs.

    Args:
        played: outcomes per value.
        players: a seed counts where each of them has played it at each value.

    Raises: ValueError: no seed was played to its end by all players at all values.
    """
    tables = common_seeds(played, players)
    seeds = sorted(tables[0][players[0]])
    if not seeds:
        raise ValueError("no seed was played by all players at all values")
    scores = [None if score is None else _by_seed(score, seeds) for score in _scores(tables, wins)]
    rows: list[ValueDifficulty] = []
    for value, outcomes, table, score in zip(values, played, tables, scores, strict=True):
        win_rate = share(_by_seed(_each(table, wins.count), seeds), len(players))
        row = ValueDifficulty(
            value=value,
            difficulty=None if score is None else _clipped(mean([1 - share_won for share_won in score])),
            win_rate=win_rate,
            attempts=attempts(win_rate),
            episode_return=mean(_by_seed(_each(table, lambda outcome: outcome.numbers[RETURN]), seeds)),
            length=mean(_by_seed(_each(table, lambda outcome: outcome.numbers[LENGTH]), seeds)),
            episodes=len(seeds) * len(players),
            failed=sum(outcome.end_reason == "failed" for outcome in outcomes.each()),
        )
        rows.append(row.model_copy(update={"outside": outside(row, bands)}))
    return rows, _steps(values, tables, scores, wins)


def common_seeds(played: Sequence[Outcomes], players: Sequence[str]) -> list[Table]:
    """The episodes of the seeds that each player played at each value without a failure of the game."""
    tables = [
        {
            player: {
                index: outcome
                for index, outcome in outcomes.players.get(player, {}).items()
                if outcome.end_reason != "failed"
            }
            for player in players
        }
        for outcomes in played
    ]
    kept = set[int].intersection(*(set(episodes) for table in tables for episodes in table.values()))
    return [
        {player: {index: episodes[index] for index in sorted(kept)} for player, episodes in table.items()}
        for table in tables
    ]


def share(by_seed: Sequence[float], per_seed: int) -> Estimate:
    """Mean of shares and Wilson's interval for as many independent episodes as they are worth.

    Args:
        by_seed: share of each seed's episodes.
        per_seed: episodes of each seed.

    Source: effective number of episodes after Kish, 1965.
    """
    seeds = len(by_seed)
    rate = math.fsum(by_seed) / seeds
    total = float(seeds * per_seed)
    spread = math.fsum((value - rate) ** 2 for value in by_seed)
    if 0 < rate < 1 and spread > 0 and seeds > 1:
        total = min(total, rate * (1 - rate) * seeds * (seeds - 1) / spread)
    elif rate in (0.0, 1.0):
        total = float(seeds)
    return wilson(rate, total)


def mean(by_seed: Sequence[float]) -> Estimate:
    """Mean and Student's interval; without bounds for a single seed."""
    count = len(by_seed)
    middle = math.fsum(by_seed) / count
    if count < 2:
        return Estimate(mean=middle, low=None, high=None)
    variance = math.fsum((value - middle) ** 2 for value in by_seed) / (count - 1)
    half = ranks.student_975(count - 1) * math.sqrt(variance / count)
    return Estimate(mean=middle, low=middle - half, high=middle + half)


def attempts(win_rate: Estimate) -> Estimate:
    """Episodes until one is won."""
    rate, low, high = win_rate.mean, win_rate.low, win_rate.high
    return Estimate(
        mean=1 / rate if rate else None, low=1 / high if high else None, high=1 / low if low else None
    )


def outside(
    row: ValueDifficulty, bands: Mapping[BandName, Band]
) -> dict[BandName, Literal["below", "above", "unsure"]]:
    """Bands that a number is outside of; `unsure` where its interval is not."""
    found: dict[BandName, Literal["below", "above", "unsure"]] = {}
    for name, (low, high) in bands.items():
        number = row.episode_return if name == "return" else getattr(row, name)
        if number is None:
            continue
        # Without a won episode it takes more attempts than any band has.
        middle = math.inf if number.mean is None else number.mean
        top = math.inf if number.high is None else number.high
        bottom = -math.inf if number.low is None else number.low
        if low is not None and middle < low:
            found[name] = "below" if top < low else "unsure"
        elif high is not None and middle > high:
            found[name] = "above" if bottom > high else "unsure"
    return found


def rank_correlation(rows: Sequence[ValueDifficulty]) -> float | None:
    """Spearman's, of value and difficulty; None where the difficulty does not vary."""
    pairs = [(row.value, row.difficulty.mean) for row in rows if row.difficulty is not None]
    if len(pairs) < 2 or len({difficulty for _, difficulty in pairs}) < 2:
        return None
    return round(ranks.rank_correlation(*zip(*pairs, strict=True)), 6)


def _scores(tables: Sequence[Table], wins: Wins) -> list[list[dict[int, float]] | None]:
    """Per value and player each episode's score in [0, 1]: won, or its place among all returns."""
    if wins.rule == "metric":
        return [_each(table, wins.count) for table in tables]
    returns = sorted(
        outcome.numbers[RETURN]
        for table in tables
        for episodes in table.values()
        for outcome in episodes.values()
    )
    bottom, top = (returns[round(at * (len(returns) - 1))] for at in (LOW_QUANTILE, HIGH_QUANTILE))
    if top <= bottom:
        bottom, top = returns[0], returns[-1]
    if top <= bottom:
        return [None for _ in tables]

    def place(outcome: Outcome) -> float:
        return min(1.0, max(0.0, (outcome.numbers[RETURN] - bottom) / (top - bottom)))

    return [_each(table, place) for table in tables]


def _steps(
    values: Sequence[float],
    tables: Sequence[Table],
    scores: Sequence[Sequence[float] | None],
    wins: Wins,
) -> list[Step]:
    names: dict[str, Number] = {
        RETURN: lambda outcome: outcome.numbers[RETURN],
        LENGTH: lambda outcome: outcome.numbers[LENGTH],
        WON: wins.count,
    }
    pairs: list[list[Pair]] = []
    for i in range(len(values) - 1):
        before, now = tables[i], tables[i + 1]
        found: list[Pair] = [
            (player, name, _numbers(before[player], of), _numbers(now[player], of))
            for player in before
            for name, of in names.items()
        ]
        easier, harder = scores[i], scores[i + 1]
        if easier is not None and harder is not None:
            lost = [dict(enumerate(1 - share_won for share_won in score)) for score in (easier, harder)]
            found.append((TOGETHER, DIFFICULTY, lost[0], lost[1]))
        pairs.append(found)
    limit = threshold([least_p_value(before, now) for found in pairs for _, _, before, now in found])
    steps: list[Step] = []
    for i, found in enumerate(pairs):
        changes = [compare(*pair, limit) for pair in found]
        sure = [change for change in changes if change is not None]
        # The difficulty itself, or else whatever differs most surely.
        best = min(sure, key=lambda change: (change.number != DIFFICULTY, change.p_value), default=None)
        if best is None:
            steps.append(Step(before=values[i], now=values[i + 1], differs=False))
            continue
        steps.append(
            Step(
                before=values[i],
                now=values[i + 1],
                differs=True,
                player=best.player,
                number=best.number,
                direction=best.direction,
                p_value=min(1.0, best.p_value * FALSE_ALARM / limit),
            )
        )
    return steps


def _numbers(episodes: Mapping[int, Outcome], of: Number) -> dict[int, float]:
    return {index: of(outcome) for index, outcome in episodes.items()}


def _each(table: Table, number: Number) -> list[dict[int, float]]:
    return [_numbers(episodes, number) for episodes in table.values()]


def _by_seed(players: Sequence[Mapping[int, float]], seeds: Sequence[int]) -> list[float]:
    """Mean over the players, per seed."""
    return [math.fsum(episodes[index] for episodes in players) / len(players) for index in seeds]


def _clipped(estimate: Estimate) -> Estimate:
    bounds = {
        name: None if bound is None else min(1.0, max(0.0, bound))
        for name, bound in (("low", estimate.low), ("high", estimate.high))
    }
    return estimate.model_copy(update=bounds)
