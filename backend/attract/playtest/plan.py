"""What a playtest is to do, and what came of it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from attract.errors import ConfigurationError
from attract.playtest.causes import Cause
from attract.playtest.outcomes import Outcomes
from attract.schema.base import Seed
from attract.schema.game import GameReference
from attract.schema.playtest import GamePlaytested, PlaytestAlarm, PlaytestGame, PlaytestPlays, PlaytestPolicy
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
    is_judged_by_score: bool = True
    """False for a page of which no score is known."""
    known: frozenset[tuple[str, str]] = frozenset()
    """Id and text, without numbers, of what the baseline shows already."""
    measures_keys: bool = True
    """Whether there is a baseline that tells what each key did, or one is written."""


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
