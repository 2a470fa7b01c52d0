"""What a playtest is to do, and what came of it."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from attract.errors import ConfigurationError
from attract.playtest.causes import Cause
from attract.playtest.outcomes import Outcomes
from attract.playtest.rules import USUAL, Rules
from attract.schema.base import Seed
from attract.schema.game import GameReference
from attract.schema.playtest import (
    MAX_ORDER_SECONDS,
    GamePlaytested,
    PlaytestAlarm,
    PlaytestDrill,
    PlaytestGame,
    PlaytestObserved,
    PlaytestPlays,
    PlaytestPolicy,
)
from attract.schema.recorded_episode import RecordedEpisode


class Host(Protocol):
    """Plays an order; see `GameChecker.playtest`."""

    async def __call__(self, order: PlaytestGame, /) -> GamePlaytested:
        """Play it. Raises: AttractError: no browser, or it does not answer."""
        ...


@dataclass(frozen=True, kw_only=True)
class PlayPlan:
    """Who plays which game, and for how long."""

    game: GameReference
    players: Sequence[str]
    seed: Seed
    policies: Sequence[PlaytestPolicy] = ()
    max_steps: int | None = None
    seconds: float = 120.0
    observed: Sequence[PlaytestObserved] = ()
    """See `PlaytestGame.observed`."""

    async def play(self, host: Host, plays: Sequence[PlaytestPlays], **fields: Any) -> GamePlaytested:
        """What came of an order, which has the policies of its players alone.

        Args:
            fields: further ones of `PlaytestGame`.

        Raises: ConfigurationError: a policy or a recorded episode is not of this game.
        """
        wanted = {play.player.split(":")[0] for play in plays}
        policies = [policy for policy in self.policies if policy.name in wanted]
        order = PlaytestGame(
            game=self.game,
            seed=self.seed,
            plays=list(plays),
            policies=policies,
            max_steps=self.max_steps,
            observed=list(self.observed),
            **fields,
        )
        answer = await host(order)
        if answer.left_out:
            fix = "it is of another game, or the game sees or does something else now: train or record again"
            raise ConfigurationError(answer.left_out[0], fix=fix)
        return answer


@dataclass(frozen=True, kw_only=True)
class Plan(PlayPlan):
    """What a playtest plays."""

    recorded: Sequence[RecordedEpisode] = ()
    """What the players `recorded-K` play."""
    tick_seconds: float = 1.0
    has_page: bool = False
    fresh_every: int = 0
    """`PlaytestGame.fresh_every` of the baseline: not 0 where the game's restart leaves something behind."""
    is_restart_known: bool = True
    """False: of the page's restart is known only that there was no time to look for one."""
    is_judged_by_score: bool = True
    """False for a page of which no score is known."""
    known: frozenset[tuple[str, str]] = frozenset()
    """Id and text, without numbers, of what the baseline shows already."""
    rules: Rules = USUAL
    measures_keys: bool = True
    """Whether there is a baseline that tells what each key did, or one is written."""

    @property
    def restart_problem(self) -> str:
        """Why of a page that each episode loads anew the restart is not judged, nor what it leaves behind."""
        if self.is_restart_known:
            return "each episode loads the page anew: no restart is judged"
        return "no restart was found in time, and each episode loads the page anew: give more --seconds"

    def wants(self, oracle: str) -> bool:
        """Whether it is judged at all."""
        return oracle not in self.rules.off and (oracle != "dead-key" or self.measures_keys)


@dataclass(frozen=True)
class Confirmed:
    """A cause that was found, or a judgement, with the episode that shows it."""

    id: str
    text: str
    cause: Cause | None
    player: str | None
    alarm: PlaytestAlarm | None
    episode: RecordedEpisode | None
    times: int


@dataclass
class Played:
    """All that a playtest saw."""

    outcomes: Outcomes = field(default_factory=Outcomes)
    findings: list[Confirmed] = field(default_factory=list[Confirmed])
    measured: dict[str, float] = field(default_factory=dict[str, float])
    """What drills measured, as `Baseline.measured`."""
    problems: dict[str, str] = field(default_factory=dict[str, str])
    """Why an oracle did not judge, by its id."""
    drilled: set[str] = field(default_factory=set[str])
    """Drills that came to an end."""
    left_out: int = 0
    """Further causes of errors that were seen and not replayed."""
    fresh_every: int = 0
    """How it was played, see `PlaytestGame.fresh_every`."""


ORDER_SECONDS: Final = 10.0
"""Limit of one order: its answer has what a browser's frame holds."""
DRILL_SECONDS: Final = 12.0
ONE_DRILL_SHARE: Final = 0.15
"""Share of the time for one drill: a slow page leaves time for the other drills too."""
MIN_DRILL_SECONDS: Final = 2.0
"""However little is left: it began in time."""


class Orders:
    """Owned by one `Playtest`; its time begins when it is made."""

    def __init__(self, plan: Plan, host: Host, played: Played) -> None:
        """`played` says how often a page is loaded anew."""
        self._plan = plan
        self._host = host
        self._played = played
        self._began = time.monotonic()

    def left(self, share: float = 1.0) -> float:
        """Seconds until this share of the plan's time is over; negative: it is."""
        return share * self._plan.seconds - (time.monotonic() - self._began)

    def has_time(self, share: float = 1.0) -> bool:
        """Whether less than this share is over."""
        return self.left(share) > 0

    @property
    def drill_seconds(self) -> float:
        """For a drill before the others, or once more: it does not outlast the budget."""
        return max(MIN_DRILL_SECONDS, min(DRILL_SECONDS, ONE_DRILL_SHARE * self._plan.seconds, self.left()))

    @property
    def replay_seconds(self) -> float:
        """For what confirms findings: the time that is left, and some where none is."""
        return max(ORDER_SECONDS, self.left())

    async def give(
        self,
        plays: Sequence[PlaytestPlays] = (),
        drills: Sequence[PlaytestDrill] = (),
        *,
        episodes: Sequence[RecordedEpisode] | None = None,
        record: bool = False,
        is_fresh: bool = False,
        seconds: float = ORDER_SECONDS,
    ) -> GamePlaytested:
        """What came of it.

        Args:
            plays: with the policies of their players alone.
            episodes: of the players `recorded-K`; None: those of the plan.
            is_fresh: whether each episode begins in a new page.
            seconds: as many as an order may last, at most.

        Raises: ConfigurationError: a player cannot play this game. AttractError: no browser.
        """
        return await self._plan.play(
            self._host,
            plays,
            drills=list(drills),
            episodes=list(self._plan.recorded if episodes is None else episodes),
            fresh_every=1 if is_fresh else self._played.fresh_every,
            record=record,
            budget_seconds=min(seconds, MAX_ORDER_SECONDS),
        )
