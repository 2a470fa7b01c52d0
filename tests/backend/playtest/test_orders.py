"""What a host is asked for in a playtest, and for how long."""

import asyncio

import pytest

from attract.errors import ConfigurationError
from attract.playtest.orders import DRILL_SECONDS, MIN_DRILL_SECONDS, ORDER_SECONDS, Orders
from attract.playtest.plan import Plan, Played
from attract.schema.base import Seed
from attract.schema.playtest import (
    MAX_ORDER_SECONDS,
    GamePlaytested,
    PlaytestDrill,
    PlaytestGame,
    PlaytestPlays,
    PlaytestPolicy,
)
from fake_worker import counting_game
from recorded_episodes import recorded

POLICIES = [PlaytestPolicy(name=name, document="{}", model=b"") for name in ("trained", "younger-1")]
GREEDY = PlaytestPlays(player="trained:greedy", first=3, count=2)


class Host:
    """Keeps what it is asked for, and plays nothing."""

    def __init__(self, left_out: list[str]) -> None:
        self.left_out = left_out
        self.asked: list[PlaytestGame] = []

    async def __call__(self, order: PlaytestGame, /) -> GamePlaytested:
        self.asked.append(order)
        return GamePlaytested(playtest_id=0, episodes=[], left_out=self.left_out, seconds=0.0)


def orders(seconds: float, fresh_every: int = 0, left_out: list[str] | None = None) -> tuple[Orders, Host]:
    plan = Plan(
        game=counting_game(),
        players=["idle", "trained:greedy"],
        seed=Seed(low=7, high=0),
        policies=POLICIES,
        recorded=[recorded()],
        max_steps=30,
        seconds=seconds,
    )
    host = Host(left_out or [])
    return Orders(plan, host, Played(fresh_every=fresh_every)), host


def test_an_order_has_the_terms_of_its_plan_and_the_policies_that_it_needs() -> None:
    given, host = orders(100.0, fresh_every=2)
    asyncio.run(given.give([GREEDY], record=True))
    asyncio.run(given.give(drills=[PlaytestDrill(kind="slow")], episodes=[], is_fresh=True, seconds=3.0))
    play, drill = host.asked
    assert (play.seed.low, play.max_steps, play.plays, play.record) == (7, 30, [GREEDY], True)
    assert ([policy.name for policy in play.policies], play.episodes) == (["trained"], [recorded()])
    assert (play.fresh_every, play.budget_seconds) == (2, ORDER_SECONDS)
    assert (drill.policies, drill.episodes, drill.plays, drill.record) == ([], [], [], False)
    assert (drill.fresh_every, drill.budget_seconds) == (1, 3.0)


def test_no_order_lasts_longer_than_the_wire_allows() -> None:
    given, host = orders(3600.0)
    assert given.replay_seconds == pytest.approx(3600, abs=30)
    asyncio.run(given.give([GREEDY], seconds=given.replay_seconds))
    assert host.asked[0].budget_seconds == MAX_ORDER_SECONDS == 600


def test_a_share_of_the_time_is_left_and_for_replays_always_some() -> None:
    given, _ = orders(1000.0)
    assert given.left(0.5) == pytest.approx(500, abs=30) and given.has_time(0.5)
    assert (given.drill_seconds, orders(40.0)[0].drill_seconds) == (DRILL_SECONDS, pytest.approx(6))
    spent, _ = orders(0.0)
    assert spent.left() <= 0 and not spent.has_time()
    assert (spent.drill_seconds, spent.replay_seconds) == (MIN_DRILL_SECONDS, ORDER_SECONDS)


def test_a_player_of_another_game_is_refused() -> None:
    given, _ = orders(100.0, left_out=["the player trained cannot play: 3 actions"])
    with pytest.raises(ConfigurationError, match="3 actions"):
        asyncio.run(given.give([GREEDY]))
