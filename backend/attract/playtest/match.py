"""Who beats whom: line-ups of a match, its results with intervals, ratings. Does no I/O."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from statistics import fmean
from typing import Final

import numpy as np
from openskill.models import PlackettLuce

from attract.playtest.difficulty import Estimate, wilson
from attract.run.outside_players import OutsideReport
from attract.schema.base import Count, FiniteModel, Text

MODEL: Final = PlackettLuce(tau=0.0)
"""Strengths that do not change during the match. Source: Weng and Lin, 2011, JMLR 12."""
PASSES: Final = 8
"""How often the results are gone through for the ratings, in another order each time."""


class MatchPlayer(FiniteModel):
    """One who took part."""

    player: Text
    """As it was named."""
    rating: float
    """25 is the mean; of two, the one that is 13 above wins about nine of ten."""
    rating_std: float
    """Its uncertainty."""


class MatchPair(FiniteModel):
    """How a player did against another."""

    player: Text
    opponent: Text
    wins: Count
    draws: Count
    losses: Count
    score: Estimate
    """Share won; a draw counts half."""


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


def lineups(num_players: int, num_agents: int) -> Iterator[tuple[int, ...]]:
    """Who sits where, for each pair in turn: one of the two on each seat once, the other on all others.

    Yields: [num_agents] indices of players.
    """
    for first, second in combinations(range(num_players), 2):
        placed = dict.fromkeys(
            tuple(one if agent == seat else other for agent in range(num_agents))
            for one, other in ((first, second), (second, first))
            for seat in range(num_agents)
        )
        yield from placed


@dataclass
class Tally:
    """Wins, draws and losses of one side."""

    wins: int = 0
    draws: int = 0
    losses: int = 0

    @property
    def episodes(self) -> int:
        return self.wins + self.draws + self.losses

    @property
    def score(self) -> Estimate:
        """Share won of at least one episode; a draw counts half."""
        return wilson((self.wins + 0.5 * self.draws) / self.episodes, self.episodes)

    def add(self, own: float, other: float) -> None:
        """One episode: the side with the higher return has won."""
        self.wins += own > other
        self.draws += own == other
        self.losses += own < other

    def absorb(self, other: "Tally") -> None:
        """Add what another counted."""
        self.wins += other.wins
        self.draws += other.draws
        self.losses += other.losses


@dataclass
class Match:
    """Counts what was played."""

    players: Sequence[str]
    num_agents: int
    _pairs: dict[tuple[int, int], Tally] = field(default_factory=dict[tuple[int, int], Tally])
    _seats: list[Tally] = field(init=False)
    _games: list[tuple[int, int, float, float]] = field(default_factory=list[tuple[int, int, float, float]])

    def __post_init__(self) -> None:
        self._seats = [Tally() for _ in range(self.num_agents)]

    def count(self, lineup: Sequence[int], returns: Sequence[float]) -> None:
        """One episode of a line-up of two players. The return of a player on several seats is their mean."""
        first, second = sorted(set(lineup))
        scores = {
            player: fmean(value for seat, value in zip(lineup, returns, strict=True) if seat == player)
            for player in (first, second)
        }
        own, other = scores[first], scores[second]
        self._pairs.setdefault((first, second), Tally()).add(own, other)
        self._pairs.setdefault((second, first), Tally()).add(other, own)
        self._games.append((first, second, own, other))
        for seat, tally in enumerate(self._seats):
            others = [value for place, value in enumerate(returns) if place != seat]
            tally.add(returns[seat], max(others))

    def absorb(self, other: "Match") -> None:
        """Count what another match of the same players counted."""
        for pair, tally in other._pairs.items():
            self._pairs.setdefault(pair, Tally()).absorb(tally)
        for own, tally in zip(self._seats, other._seats, strict=True):
            own.absorb(tally)
        self._games += other._games

    def report(self, game: str) -> MatchReport:
        """What came of it; at least one episode of each pair was counted."""
        return MatchReport(
            game=game,
            episodes=min(tally.episodes for tally in self._pairs.values()),
            players=self.ratings(),
            pairs=self.pairs(),
            seats=[tally.score for tally in self._seats],
        )

    def at(self, value: float) -> MatchAtValue:
        """The same, of a match that was played at one value of a parameter."""
        return MatchAtValue(value=value, pairs=self.pairs(), seats=[tally.score for tally in self._seats])

    def pairs(self) -> list[MatchPair]:
        """How each did against each other."""
        return [
            MatchPair(
                player=self.players[first],
                opponent=self.players[second],
                wins=tally.wins,
                draws=tally.draws,
                losses=tally.losses,
                score=tally.score,
            )
            for (first, second), tally in self._pairs.items()
        ]

    def ratings(self) -> list[MatchPlayer]:
        """The players, the strongest first."""
        ratings = [MODEL.rating() for _ in self.players]
        deviations: list[float] = []
        order = np.random.default_rng(0)
        for _ in range(PASSES):
            for place in order.permutation(len(self._games)):
                first, second, own, other = self._games[place]
                (one,), (two,) = MODEL.rate([[ratings[first]], [ratings[second]]], scores=[own, other])
                ratings[first], ratings[second] = one, two
            # That of the first pass: results that are read again are no new ones.
            deviations = deviations or [rating.sigma for rating in ratings]
        found = [
            MatchPlayer(player=player, rating=rating.mu, rating_std=deviation)
            for player, rating, deviation in zip(self.players, ratings, deviations, strict=True)
        ]
        return sorted(found, key=lambda player: -player.rating)
