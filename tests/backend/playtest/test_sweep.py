import asyncio
from collections.abc import Callable

import pytest

from attract.errors import ConfigurationError
from attract.playtest.sweep import MAX_SEEDS, MAX_VALUES, SweepPlan, Swept, check_values, parse_over, sweep
from attract.schema.base import Seed
from attract.schema.game import ParameterRange
from attract.schema.playtest import GamePlaytested, PlaytestAlarm, PlaytestEpisode, PlaytestGame
from fake_worker import counting_description, counting_game

SPEED = {"speed": ParameterRange(default=1, low=0.5, high=2)}


class Host:
    """Plays at most `per_order` episodes of an order; the return is the parameter's value."""

    def __init__(self, per_order: int = 10_000, fails: Callable[[float], bool] = lambda value: False) -> None:
        self.per_order = per_order
        self.fails = fails
        self.problem: str | None = None
        self.orders: list[PlaytestGame] = []

    async def __call__(self, order: PlaytestGame, /) -> GamePlaytested:
        self.orders.append(order)
        (value,) = order.parameters.values()
        asked = [
            (play, index)
            for play, plays in enumerate(order.plays)
            for index in range(plays.first, plays.first + plays.count)
        ]
        is_failed = self.fails(value)
        alarm = PlaytestAlarm(oracle="error", text=f"no speed {value:g}", step=0)
        episodes = [
            PlaytestEpisode(
                play=play,
                index=index,
                episode_return=value,
                num_steps=5,
                num_ticks=5,
                end_reason="failed" if is_failed else "terminated",
                play_seconds=0.0,
                alarms=[alarm] if is_failed else [],
            )
            for play, index in asked[: self.per_order]
        ]
        return GamePlaytested(playtest_id=0, episodes=episodes, problem=self.problem, seconds=0.0)


def swept(host: Host, seconds: float = 60.0) -> Swept:
    plan = SweepPlan(
        game=counting_game(),
        parameter="speed",
        values=[0.5, 2.0],
        players=["idle", "random"],
        seed=Seed(low=7, high=0),
        seconds=seconds,
    )
    return asyncio.run(sweep(plan, host))


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("speed=0.5:2:7", [0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0]),
        ("speed=0:0.3:4", [0.0, 0.1, 0.2, 0.3]),
        ("speed=2:1:2", [1.0, 2.0]),
        ("speed=3,1,1,2", [1.0, 2.0, 3.0]),
    ],
)
def test_values_are_given_by_range_or_by_name_and_ascend(text: str, values: list[float]) -> None:
    assert parse_over(text) == ("speed", values)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "speed",
        "speed=",
        "speed=1",
        "speed=1,1",
        "=1,2",
        "speed=1:2",
        "speed=1:2:1",
        "speed=1:2:1e9",
        f"speed=1:2:{MAX_VALUES + 1}",
        "speed=1:2:-3",
        "speed=nan,1",
        "speed=1,inf",
        "speed=a,b",
        "speed=1:2:3:4",
    ],
)
def test_anything_else_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ConfigurationError, match=r"--over: .*does not name.*\n  such as speed=0.5:2:7"):
        parse_over(text)


def test_values_must_be_in_the_range_that_the_game_declares() -> None:
    game = counting_description().model_copy(update={"parameters": SPEED})
    check_values(game, "speed", [0.5, 2.0])
    with pytest.raises(ConfigurationError, match=r"speed is declared from 0\.5 to 2, got 3"):
        check_values(game, "speed", [1.0, 3.0])
    with pytest.raises(ConfigurationError, match=r"no parameter 'sped'\n  it has speed"):
        check_values(game, "sped", [1.0])
    with pytest.raises(ConfigurationError, match=r"declare it: parameters: \{ speed: "):
        check_values(counting_description(), "speed", [1.0])


def test_every_player_plays_the_same_seeds_at_every_value() -> None:
    host = Host(per_order=300)
    played = swept(host).played
    seeds = [sorted(episodes) for outcomes in played for episodes in outcomes.players.values()]
    assert seeds == [list(range(MAX_SEEDS))] * 4
    assert [outcomes.values("idle", "return")[3] for outcomes in played] == [0.5, 2.0]
    assert {order.seed.low for order in host.orders} == {7}


def test_a_round_of_all_values_comes_before_more_seeds_of_one() -> None:
    host = Host()
    swept(host)
    first = [(order.parameters["speed"], order.plays[0].first, order.plays[0].count) for order in host.orders]
    assert first[:4] == [(0.5, 0, 4), (2.0, 0, 4), (0.5, 4, 8), (2.0, 4, 8)]


def test_a_hang_is_reported_with_the_value() -> None:
    host = Host()
    host.problem = "the game did not come back"
    assert swept(host).problem == "speed = 0.5: the game did not come back"


def test_a_host_that_plays_nothing_ends_it() -> None:
    host = Host(per_order=0)
    assert [outcomes.num_episodes for outcomes in swept(host).played] == [0, 0]
    assert len(host.orders) == 1


def test_what_the_game_throws_is_kept_once() -> None:
    assert swept(Host(fails=lambda value: value == 2.0)).errors == ["no speed 2"]
