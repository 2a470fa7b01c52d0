"""What a playtest is to do, and what came of it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from attract.errors import ConfigurationError
from attract.playtest.causes import Cause
from attract.playtest.outcomes import Outcomes
from attract.schema.base import Seed
from attract.schema.game import GameReference
from attract.schema.playtest import GamePlaytested, PlaytestAlarm, PlaytestGame, PlaytestPolicy
from attract.schema.recorded_episode import RecordedEpisode


class Host(Protocol):
    """Plays an order; see `GameChecker.playtest`."""

    async def __call__(self, order: PlaytestGame, /) -> GamePlaytested:
        """Play it. Raises: AttractError: no browser, or it does not answer."""
        ...


def check_all_play(answer: GamePlaytested) -> None:
    """Raises: ConfigurationError: a policy or a recorded episode is not of this game."""
    if answer.left_out:
        raise ConfigurationError(
            answer.left_out[0],
            fix="it is of another game, or the game sees or does something else now: train or record again",
        )


@dataclass(frozen=True)
class Plan:
    """What is played, and for how long."""

    game: GameReference
    players: Sequence[str]
    seed: Seed
    policies: Sequence[PlaytestPolicy] = ()
    recorded: Sequence[RecordedEpisode] = ()
    """What the players `recorded-K` play."""
    max_steps: int | None = None
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
    seconds: float = 120.0


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
