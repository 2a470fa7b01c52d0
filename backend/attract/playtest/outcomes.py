"""Outcomes of the episodes of a playtest: numbers by player and index, to compare a build with another."""

import math
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from typing import Final

from attract.schema.playtest import PlaytestEpisode, PlaytestPlays

DIGITS: Final = 6
"""Significant digits that are compared and kept."""
RETURN, LENGTH, ENDED = "return", "length", "ended"
"""Numbers that every game has: mean return of the agents, steps, and 1 where the game itself ended it."""
GAME_ENDS: Final = frozenset({"terminated", "game_truncated"})


@dataclass(frozen=True)
class Outcome:
    """How one episode went."""

    end_reason: str
    numbers: Mapping[str, float]
    """`return`, `length`, `ended`, and the game's own metrics."""

    @classmethod
    def of(cls, episode: PlaytestEpisode) -> "Outcome":
        numbers = {
            RETURN: episode.episode_return,
            LENGTH: float(episode.num_steps),
            ENDED: float(episode.end_reason in GAME_ENDS),
            **{f"info {name}": value for name, value in sorted(episode.info.items())},
        }
        return cls(episode.end_reason, {name: rounded(value) for name, value in numbers.items()})


@dataclass
class Outcomes:
    """By player and episode index; episodes in which the game failed are left out of the numbers."""

    players: dict[str, dict[int, Outcome]] = field(default_factory=dict[str, dict[int, Outcome]])

    def take_in(self, plays: list[PlaytestPlays], episodes: Iterable[PlaytestEpisode]) -> None:
        """Add what a host has played."""
        for episode in episodes:
            player = plays[episode.play].player
            self.players.setdefault(player, {})[episode.index] = Outcome.of(episode)

    @property
    def num_episodes(self) -> int:
        return sum(map(len, self.players.values()))

    def without(self, left_out: Set[tuple[str, int]]) -> "Outcomes":
        """All but the episodes named by player and index."""
        return Outcomes(
            {
                player: {
                    index: outcome for index, outcome in episodes.items() if (player, index) not in left_out
                }
                for player, episodes in self.players.items()
            }
        )

    def differ_from(self, player: str) -> bool:
        """Whether another player's episode differs from this one's of the same index; or there is none."""
        own = self.players.get(player, {})
        pairs = [
            (own[index], outcome)
            for name, episodes in self.players.items()
            if name != player
            for index, outcome in episodes.items()
            if index in own
        ]
        return not pairs or any(one != other for one, other in pairs)

    def names(self) -> list[str]:
        """All numbers, the common ones first."""
        seen = dict.fromkeys((RETURN, LENGTH, ENDED))
        for outcome in self.each():
            seen |= dict.fromkeys(outcome.numbers)
        return list(seen)

    def each(self) -> Iterator[Outcome]:
        for outcomes in self.players.values():
            yield from outcomes.values()

    def values(self, player: str, name: str) -> dict[int, float]:
        """One number of a player's episodes that did not fail, by index."""
        return {
            index: outcome.numbers[name]
            for index, outcome in self.players.get(player, {}).items()
            if outcome.end_reason != "failed" and name in outcome.numbers
        }


def not_played(play: PlaytestPlays, outcomes: Outcomes, block: int = 1) -> Iterator[PlaytestPlays]:
    """Runs of indices of `play` that have no outcome, from multiples of `block` on."""
    known = outcomes.players.get(play.player, {})
    missing = [index for index in range(play.first, play.first + play.count) if index not in known]
    begin = 0
    for i in range(1, len(missing) + 1):
        if i == len(missing) or missing[i] != missing[i - 1] + 1:
            first = missing[begin] - missing[begin] % block
            yield PlaytestPlays(player=play.player, first=first, count=missing[i - 1] + 1 - first)
            begin = i


def rounded(value: float) -> float:
    """To `DIGITS` significant digits."""
    return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else value
