"""A host of playtests that plays by a table, and a playtest with it."""

import asyncio
import random
from collections.abc import Callable

from attract.playtest.outcomes import Outcomes
from attract.playtest.plan import Plan, Played
from attract.playtest.session import Playtest
from attract.schema.base import Seed
from attract.schema.playtest import (
    GamePlaytested,
    PlaytestAlarm,
    PlaytestDrilled,
    PlaytestEpisode,
    PlaytestGame,
)
from attract.schema.recorded_episode import RecordedEnd, RecordedEpisode
from fake_worker import counting_game
from recorded_episodes import recorded

RECORDED = recorded()
GAME = counting_game()
Alarms = Callable[[str, int], list[PlaytestAlarm]]


def no_alarms(player: str, index: int) -> list[PlaytestAlarm]:
    """Nothing goes wrong."""
    return []


class ScriptedHost:
    """Plays orders by a table of alarms, at most `per_order` episodes each; keeps what was asked of it."""

    def __init__(self, alarms: Alarms = no_alarms, per_order: int = 1000) -> None:
        self.alarms = alarms
        self.per_order = per_order
        self.orders: list[PlaytestGame] = []
        self.hangs_at: tuple[str, int] | None = None
        self.num_hangs = 99
        self.is_late = False
        self.is_steady = True
        self.left_out: list[str] = []
        self.end_reason: RecordedEnd = "terminated"
        self.info: dict[str, float] = {}
        self.drilled: dict[str, PlaytestDrilled] = {}

    @staticmethod
    def record_of(order: PlaytestGame) -> RecordedEpisode:
        """One that says by its instance whether it was played in a fresh page."""
        return RECORDED.model_copy(update={"instance": 1}) if order.fresh_every else RECORDED

    async def __call__(self, order: PlaytestGame, /) -> GamePlaytested:
        """Play it."""
        self.orders.append(order)
        episodes: list[PlaytestEpisode] = []
        problem = None
        asked = [
            (place, play.player, index)
            for place, play in enumerate(order.plays)
            for index in range(play.first, play.first + play.count)
        ]
        for place, player, index in asked[: self.per_order]:
            if (player, index) == self.hangs_at and self.num_hangs > 0:
                self.num_hangs -= 1
                problem = f"the game did not come back within 10 s, while {player} played episode {index}"
                break
            alarms = self.alarms(player, index)
            chance = random.Random(f"{player} {index}" if self.is_steady else None)
            episodes.append(
                PlaytestEpisode(
                    play=place,
                    index=index,
                    episode_return=chance.random(),
                    num_steps=10,
                    num_ticks=10,
                    end_reason=self.end_reason,
                    info=self.info,
                    play_seconds=0.0,
                    alarms=alarms,
                    recorded=self.record_of(order) if order.record or alarms else None,
                )
            )
        drilled = [self.drilled.get(drill.kind, PlaytestDrilled(kind=drill.kind)) for drill in order.drills]
        return GamePlaytested(
            playtest_id=0,
            episodes=episodes,
            drilled=drilled,
            left_out=self.left_out,
            problem=problem,
            is_late=problem is not None and self.is_late,
            seconds=0.0,
        )


def run(host: ScriptedHost, before: Outcomes | None = None, **options: object) -> Played:
    """Play two players, `options` being the plan's."""
    plan = Plan(game=GAME, players=["idle", "random"], seed=Seed(low=0, high=0), **options)  # type: ignore[arg-type]
    playtest = Playtest(plan, host, lambda stack, method: (stack, None), before)
    return asyncio.run(playtest.run())


def error(text: str, step: int = 5) -> PlaytestAlarm:
    """An error of a game."""
    return PlaytestAlarm(oracle="error", text=text, step=step)
