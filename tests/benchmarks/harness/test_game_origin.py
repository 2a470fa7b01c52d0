"""A page at a game's origin, with the trials in it."""

from pathlib import Path

import pytest

from attract.errors import ConfigurationError
from attract.games.library import GameLibrary
from attract_benchmarks.harness.game_origin import GameOrigin, at_origin


@pytest.mark.long
def test_trials_are_asked_beside_the_page() -> None:
    async def ask(origin: GameOrigin) -> tuple[int, list[str], int]:
        return origin.ticks_per_step, await origin.ask("hashes", 2, 5, False), await origin.renderer_bytes()

    ticks, hashes, size = at_origin("meteors", GameLibrary(Path.cwd()), ask)
    assert ticks == 4
    assert len(hashes) == 2 and len(set(hashes)) == 1
    assert size > 10 * 2**20


def test_a_game_without_a_page_has_no_origin() -> None:
    async def never(origin: GameOrigin) -> None:
        raise AssertionError(origin)

    with pytest.raises(ConfigurationError, match="cartpole lives in no page"):
        at_origin("cartpole", GameLibrary(Path.cwd()), never)
