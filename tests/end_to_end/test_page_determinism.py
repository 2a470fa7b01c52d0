"""Whether games that live in a page play the same way twice: alone, in a crowd, drawn, on another machine."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from attract.games.library import GameLibrary
from attract_benchmarks.harness.game_origin import GameOrigin, at_origin
from attract_benchmarks.speed.page_games import GAMES

OTHER_MACHINE = (
    "--disable-accelerated-2d-canvas",
    "--force-device-scale-factor=2",
    "--lang=de-DE",
    "--window-size=500,400",
    "--js-flags=--no-opt",
)
"""Switches that make the browser another machine's: pixels, language, window, no optimised code."""


def hashes(
    game: str, count: int, steps: int, *, draws: bool = False, switches: Sequence[str] = ()
) -> list[str]:
    """What `count` fresh pages of one seed come to after so many steps of random play, one hash each."""

    async def ask(origin: GameOrigin) -> list[str]:
        return await origin.ask("hashes", count, steps, draws)

    return at_origin(game, GameLibrary(Path.cwd()), ask, switches=tuple(switches))


def replayed(game: str, count: int, most: int) -> int:
    """How many of `count` recorded episodes play again in a fresh page."""

    async def ask(origin: GameOrigin) -> int:
        return await origin.ask("replays", count, most)

    return at_origin(game, GameLibrary(Path.cwd()), ask)


@pytest.mark.parametrize("game", ["meteors", pytest.param("hopper", marks=pytest.mark.soak)])
def test_pages_of_one_seed_play_alike(game: str) -> None:
    alone = hashes(game, 1, 200)
    assert hashes(game, 4, 200, draws=True, switches=OTHER_MACHINE) == alone * 4
    # Another number of steps is another state: the hash tells.
    assert hashes(game, 1, 199) != alone


def test_recorded_episodes_play_again() -> None:
    assert replayed("moles", 3, 100) == 3


@pytest.mark.soak
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("game", GAMES)
def test_ten_thousand_frames_are_the_same_everywhere(game: str) -> None:
    """2,500 steps of four frames: alone, in a crowd, drawn, and on another machine."""
    alone = hashes(game, 1, 2_500)
    assert hashes(game, 32, 2_500) == alone * 32
    assert hashes(game, 1, 2_500, draws=True) == alone
    assert hashes(game, 1, 2_500, switches=OTHER_MACHINE) == alone


@pytest.mark.soak
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("game", GAMES)
def test_a_hundred_recorded_episodes_play_again(game: str) -> None:
    assert replayed(game, 100, 10_000) == 100
