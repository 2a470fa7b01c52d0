"""How random play is measured: by the check where that played enough, else for as long as it takes."""

from collections.abc import Mapping
from pathlib import Path

from attract.games.library import GameLibrary, GameModule
from attract.run.random_play import LEAST, NEEDED, WANTED, measure
from attract.schema.api import RandomPlay
from attract.schema.game_messages import CheckedPlay, ParameterDistribution
from socket_fleet import random_play

FIXED = {"size": ParameterDistribution(values=[6.0])}


class Player:
    """Answers with what it is given, one after the other, and remembers what it was asked."""

    def __init__(self, *answers: CheckedPlay | None) -> None:
        self._answers = list(answers)
        self.asked: list[tuple[int, float]] = []
        self.parameters: list[Mapping[str, ParameterDistribution]] = []

    async def play(
        self,
        module: GameModule,
        episodes: int,
        budget_seconds: float,
        parameters: Mapping[str, ParameterDistribution],
        *,
        is_fresh: bool = False,
    ) -> CheckedPlay | None:
        self.fresh = is_fresh
        self.asked.append((episodes, budget_seconds))
        self.parameters.append(parameters)
        return self._answers.pop(0)


async def module(folder: Path) -> GameModule:
    (folder / "g.js").write_text("export default 1;\n")
    return await GameLibrary(folder).resolve("g.js")


async def test_the_check_s_own_play_is_enough_where_a_hundred_episodes_ended(tmp_path: Path) -> None:
    player = Player()
    found = await measure(player, await module(tmp_path), {}, checked=random_play(7.0, 2.0, episodes=100))
    # 2 / sqrt(100)
    assert found == RandomPlay(episodes=100, return_mean=7.0, standard_error=0.2)
    assert player.asked == []


async def test_a_game_whose_check_was_left_out_is_played_for_a_second(tmp_path: Path) -> None:
    player = Player(random_play(7.0, 4.0, episodes=64))
    found = await measure(player, await module(tmp_path), {})
    # 4 / sqrt(64)
    assert found == RandomPlay(episodes=64, return_mean=7.0, standard_error=0.5)
    assert player.asked == [WANTED]


async def test_a_slow_game_is_played_on_for_the_episodes_that_a_comparison_takes(tmp_path: Path) -> None:
    player = Player(random_play(1.0, episodes=3), random_play(2.0, episodes=39))
    found = await measure(player, await module(tmp_path), {}, checked=random_play(9.0, episodes=1))
    assert found is not None and (found.episodes, found.return_mean) == (39, 2.0)
    assert player.asked == [WANTED, NEEDED]
    # What was measured stands, where the game fails later.
    player = Player(None, None)
    found = await measure(player, await module(tmp_path), {}, checked=random_play(9.0, episodes=1))
    assert found is not None and found.episodes == 1
    assert await measure(Player(None, None), await module(tmp_path), {}) is None


async def test_a_very_slow_game_is_played_for_a_minute_where_that_is_enough_for_a_comparison(
    tmp_path: Path,
) -> None:
    # 4 in ten seconds are 24 in a minute, of the 20 that a comparison takes; 3 would be 18.
    player = Player(random_play(1.0, episodes=1), random_play(2.0, episodes=4), random_play(3.0, episodes=20))
    found = await measure(player, await module(tmp_path), {})
    assert found is not None and (found.episodes, found.return_mean) == (20, 3.0)
    assert player.asked == [WANTED, NEEDED, LEAST]
    player = Player(random_play(1.0, episodes=1), random_play(2.0, episodes=3))
    found = await measure(player, await module(tmp_path), {})
    assert found is not None and (found.episodes, found.return_mean) == (3, 2.0)
    assert player.asked == [WANTED, NEEDED]


async def test_under_the_run_s_parameters_the_check_says_nothing(tmp_path: Path) -> None:
    player = Player(random_play(4.0, episodes=100))
    found = await measure(player, await module(tmp_path), FIXED, checked=random_play(9.0, episodes=500))
    assert found is not None and (found.return_mean, found.parameters) == (4.0, FIXED)
    assert player.parameters == [FIXED]


async def test_fresh_pages_are_slow_and_are_played_for_the_least(tmp_path: Path) -> None:
    few = random_play(2.0, episodes=7).model_copy(update={"returns": [2.0] * 7})
    player = Player(few, random_play(2.0, episodes=24))
    found = await measure(player, await module(tmp_path), {}, is_fresh=True)
    assert found is not None and (found.episodes, player.fresh) == (24, True)
    assert player.asked == [(20, 10.0), LEAST]
    player = Player(few.model_copy(update={"episodes": 3, "returns": [1.0, 2.0, 3.0]}))
    found = await measure(player, await module(tmp_path), {}, is_fresh=True)
    assert found is not None and found.returns == [1.0, 2.0, 3.0]
