"""Orders of one playtest to its host: each has what the plan says, and no more time than is left."""

import time
from collections.abc import Sequence
from typing import Final

from attract.playtest.plan import Host, Plan, Played
from attract.schema.playtest import (
    MAX_ORDER_SECONDS,
    GamePlaytested,
    PlaytestDrill,
    PlaytestPlays,
)
from attract.schema.recorded_episode import RecordedEpisode

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
