"""Who plays the seats of training leases against the policy that learns: the pool, its ratings, the draws."""

import math
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from openskill.models import PlackettLuce, PlackettLuceRating

from attract.schema.base import MAX_AGENTS
from attract.schema.match import Estimate, LadderRow, wilson
from attract.schema.messages import Seat, Seed
from attract.settings.collection import MAIN
from attract.settings.self_play import NEWEST, OF_RUN, OUTSIDE, POOL, RANDOM, SelfPlaySettings, policy_id_of

WINDOW: Final = 100
"""Episodes whose results make a win rate."""
MAX_SHOWN: Final = 100
"""Versions of the pool on the ladder: the strongest. A pool may have ten times as many."""
TELLING: Final = WINDOW
"""Episodes against a version from which on its share of wins says something."""
EASIEST: Final = 0.02
"""Least weight of a version that is always beaten, so that it still comes now and then."""
LINEUPS: Final = 4
"""A worker's games have so many line-ups, in turn: each policy of them is one more to run in a step."""
MODEL: Final = PlackettLuce()
"""Ratings with uncertainty for any number of seats (Joshy 2024, openskill; Weng and Lin 2011)."""

LATEST: Final = "(newest)"
"""The newest version on a seat where it does not learn."""

Scores = deque[float]
"""Of the policy that learns: 1 for a win, 0.5 for a draw, 0 for a loss."""


@dataclass(eq=False)
class Opponent:
    """What is known of somebody that the learning policy plays against."""

    rating: PlackettLuceRating = field(default_factory=MODEL.rating)
    scores: Scores = field(default_factory=lambda: Scores(maxlen=WINDOW))

    @property
    def weight(self) -> float:
        """How often it comes where the hard ones come more often: (1 - win rate) squared."""
        rate = sum(self.scores) / len(self.scores) if self.scores else 0.5
        return max(EASIEST, (1.0 - rate) ** 2)

    @property
    def win_rate(self) -> Estimate | None:
        """Share that the learning policy won against it; None: they have not met."""
        return _win_rate(self.scores)


class Opponents:
    """One per run, owned by the collection core. Same results in the same order, same draws."""

    def __init__(
        self, settings: SelfPlaySettings, seed: Seed, save_steps: int, *, num_games: int = 1
    ) -> None:
        """A pool that is empty.

        Args:
            settings: who sits where.
            seed: of the draws.
            save_steps: agent steps after which a version joins the pool.
            num_games: of each worker.
        """
        self._num_lineups = max(1, min(num_games, LINEUPS, MAX_AGENTS // max(1, len(settings.seats))))
        self._settings = settings
        self._seed = seed
        self._save_steps = save_steps
        self._passed = 0
        """How many times `save_steps` the agent steps have passed."""
        self._rating = MODEL.rating()
        """Of the policy that learns."""
        self._scores = Scores(maxlen=WINDOW)
        self._pool_scores = Scores(maxlen=WINDOW)
        self._pool: dict[int, Opponent] = {}
        """By version, the oldest first."""
        self._others = {seat: Opponent() for seat in settings.seats if seat not in (NEWEST, POOL)}
        """Random play, scripts, programs outside and versions of other runs."""
        self._drawn: dict[int, tuple[int, list[int | str]]] = {}
        """By worker: for which part of the run, and who plays."""

    @property
    def versions(self) -> list[int]:
        """Versions in the pool: leases may name them beside the newest."""
        return list(self._pool)

    def announced(self, version: int, agent_steps: int) -> bool:
        """A version is out: it joins the pool if it is due. Whether the pool has changed.

        Versions after it are forgotten: with their learner they are lost.
        """
        before = list(self._pool)
        for lost in [member for member in self._pool if member > version]:
            del self._pool[lost]
        passed = agent_steps // self._save_steps
        if POOL in self._settings.seats and (passed > self._passed or (version == 0 and not self._pool)):
            self._pool[version] = Opponent(MODEL.rating(mu=self._rating.mu, sigma=self._rating.sigma))
            while len(self._pool) > self._settings.window:
                del self._pool[next(iter(self._pool))]
        self._passed = passed
        return list(self._pool) != before

    def seats(self, version: int, worker_id: int, agent_steps: int) -> tuple[tuple[Seat, ...], bool]:
        """Who plays under a lease of a worker, game by game in turn, and whether they are others than before.

        The same until `swap_steps` more agent steps are learned. Without opponents `version` plays and learns
        all: no seats.
        """
        if not self._settings.is_on:
            return (), False
        stint = agent_steps // self._settings.swap_steps
        before, players = self._drawn.get(worker_id, (-1, []))
        is_new = before != stint or any(
            isinstance(player, int) and player not in self._pool for player in players
        )
        if is_new:
            players = [
                player
                for lineup in range(self._num_lineups)
                for player in self._lineup(worker_id, stint, lineup)
            ]
            self._drawn[worker_id] = stint, players
        return tuple(_seat(player, version) for player in players), is_new

    def _lineup(self, worker_id: int, stint: int, lineup: int) -> list[int | str]:
        """Who sits where in some of a worker's games."""
        draws = np.random.default_rng([*self._key(worker_id), stint, lineup])
        # The line-ups take turns at the newest, so that they never all have it at once.
        turn = (worker_id + stint) * self._num_lineups + lineup
        ratio = self._settings.play_against_latest_model_ratio
        is_latest = turn * ratio % 1.0 < ratio or not self._pool
        # Likewise with the sides.
        seats = len(self._settings.seats)
        order = (np.random.default_rng([*self._key(worker_id), stint]).permutation(seats) + lineup) % seats
        return [self._player(self._settings.seats[place], draws, is_latest) for place in order]

    def _key(self, worker_id: int) -> tuple[int, int, int]:
        return self._seed.low, self._seed.high, worker_id

    def _player(self, player: str, draws: np.random.Generator, is_latest: bool) -> int | str:
        """Who takes a seat: a version of the pool, or as `_seat` has it."""
        if player != POOL or is_latest:
            return LATEST if player == POOL else player
        weights = np.array([opponent.weight for opponent in self._pool.values()])
        if self._settings.draw == "uniform":
            weights[:] = 1.0
        return int(draws.choice(list(self._pool), p=weights / weights.sum()))

    def count(self, seats: Sequence[Seat], returns: Sequence[float]) -> None:
        """An episode that these seats played from its start to its end.

        Seats of the same player are a team, whose score is the mean of their returns. The version that learns
        says nothing where it sits opposite itself.
        """
        teams: dict[int | str, list[float]] = {}
        newest = next(seat.policy_version for seat in seats if seat.learns)
        for seat, value in zip(seats, returns, strict=True):
            player = NEWEST if seat.learns else _player_of(seat)
            teams.setdefault(player, []).append(value)
        scores = {player: sum(values) / len(values) for player, values in teams.items()}
        own = scores.pop(NEWEST)
        known = [
            (opponent, score)
            for player, score in scores.items()
            if player != newest and (opponent := self._opponent(player)) is not None
        ]
        if not known:
            return
        self._scores.append(_score(own, max(score for _, score in known)))
        for opponent, score in known:
            opponent.scores.append(_score(own, score))
            if opponent in self._pool.values():
                self._pool_scores.append(_score(own, score))
        rated = MODEL.rate(
            [[self._rating], *([opponent.rating] for opponent, _ in known)],
            scores=[own, *(score for _, score in known)],
        )
        self._rating = rated[0][0]
        for (opponent, _), (rating,) in zip(known, rated[1:], strict=True):
            opponent.rating = rating

    def _opponent(self, player: int | str) -> Opponent | None:
        return self._others.get(player) if isinstance(player, str) else self._pool.get(player)

    def metrics(self) -> dict[str, float]:
        """Win rate over the last 100 episodes, and the rating of the policy that learns."""
        if not self._scores:
            return {}
        return {
            "rollout/win_rate": sum(self._scores) / len(self._scores),
            "rollout/rating": self._rating.mu,
            "rollout/rating_std": self._rating.sigma,
            **self._hardest(),
        }

    def _hardest(self) -> dict[str, float]:
        """The past version that the policy does worst against, of those that it has met often enough."""
        known = [
            (won.high or 0.0, version, won.mean or 0.0, len(opponent.scores))
            for version, opponent in self._pool.items()
            if len(opponent.scores) >= TELLING and (won := opponent.win_rate) is not None
        ]
        if not known:
            return {}
        _, version, share, episodes = min(known)
        return {
            "rollout/hardest_win_rate": share,
            "rollout/hardest_version": float(version),
            "rollout/hardest_episodes": float(episodes),
        }

    def ladder(self) -> list[LadderRow]:
        """Who has played, the strongest first; empty before the first episode that counts."""
        if not self._scores:
            return []
        pool = sorted(self._pool.items(), key=lambda member: -member[1].rating.mu)[:MAX_SHOWN]
        rows = [
            _row(NEWEST, self._rating, self._scores),
            *(_row(player, one.rating, one.scores) for player, one in self._others.items()),
            *(_row("version", one.rating, one.scores, version) for version, one in pool),
        ]
        return sorted(rows, key=lambda row: -row.rating)

    def has_won(self, share: float) -> bool:
        """Whether the policy won this share of the last 100 episodes against whom `against` names, or all.

        As with a return, a standard error above it.
        """
        against = self._settings.against
        if against is None:
            scores = self._scores
        else:
            scores = self._pool_scores if against == POOL else self._others[against].scores
        if len(scores) < WINDOW:
            return False
        won = sum(scores) / len(scores)
        return won - math.sqrt(won * (1.0 - won) / len(scores)) >= share

    # --- checkpoints (rule D2) ---

    def state(self) -> dict[str, Any]:
        """Everything that is not a setting, as JSON values."""
        return {
            "passed": self._passed,
            "rating": _numbers(self._rating),
            "scores": list(self._scores),
            "pool_scores": list(self._pool_scores),
            "pool": [[version, *_state(opponent)] for version, opponent in self._pool.items()],
            "others": [[player, *_state(opponent)] for player, opponent in self._others.items()],
            "drawn": [[worker_id, *drawn] for worker_id, drawn in self._drawn.items()],
        }

    def load(self, state: Mapping[str, Any], available: Collection[int]) -> None:
        """What `state` gave, of the versions that are there; an empty one is a beginning."""
        self._passed = int(state.get("passed", 0))
        self._rating = MODEL.create_rating(list(state["rating"])) if "rating" in state else MODEL.rating()
        self._scores = Scores(state.get("scores", ()), maxlen=WINDOW)
        self._pool_scores = Scores(state.get("pool_scores", ()), maxlen=WINDOW)
        pool = {int(version): _opponent(*kept) for version, *kept in state.get("pool", ())}
        self._pool = {version: opponent for version, opponent in pool.items() if version in available}
        others = {str(player): _opponent(*kept) for player, *kept in state.get("others", ())}
        self._others = {player: others.get(player, Opponent()) for player in self._others}
        self._drawn = {
            int(slot): (int(stint), list(players)) for slot, stint, players in state.get("drawn", ())
        }


def _seat(player: int | str, version: int) -> Seat:
    if player == NEWEST:
        return Seat(policy_id=MAIN, policy_version=version)
    if player == RANDOM:
        return Seat(policy_id=MAIN, policy_version=version, script="random", learns=False)
    if isinstance(player, str) and player.startswith(OUTSIDE):
        return Seat(policy_id=player, policy_version=0, script="outside", learns=False)
    if isinstance(player, str) and player != LATEST:
        return Seat(policy_id=policy_id_of(player), policy_version=0, learns=False)
    played = player if isinstance(player, int) else version
    return Seat(policy_id=MAIN, policy_version=played, learns=False)


def _player_of(seat: Seat) -> int | str:
    if seat.policy_id != MAIN:
        return seat.policy_id.removeprefix(OF_RUN)
    return seat.script or seat.policy_version


def _score(own: float, other: float) -> float:
    return 0.5 if own == other else float(own > other)


def _win_rate(scores: Scores) -> Estimate | None:
    return wilson(sum(scores) / len(scores), len(scores)) if scores else None


def _row(player: str, rating: PlackettLuceRating, scores: Scores, version: int | None = None) -> LadderRow:
    return LadderRow(
        player=player,
        policy_version=version,
        rating=rating.mu,
        rating_std=rating.sigma,
        win_rate=_win_rate(scores),
        episodes=len(scores),
    )


def _numbers(rating: PlackettLuceRating) -> list[float]:
    return [rating.mu, rating.sigma]


def _state(opponent: Opponent) -> tuple[list[float], list[float]]:
    return _numbers(opponent.rating), list(opponent.scores)


def _opponent(rating: Sequence[float], scores: Sequence[float]) -> Opponent:
    return Opponent(MODEL.create_rating(list(rating)), Scores(scores, maxlen=WINDOW))
