"""Measures random play of a run's game, with which the run's return is compared."""

import math
from collections.abc import Mapping
from typing import Final, Protocol

from attract.curriculum.lessons import resolve_parameters
from attract.diagnosis.verdict import MIN_EPISODES
from attract.games.library import GameLibrary, GameModule
from attract.schema.api import RandomPlay, RunView
from attract.schema.game_messages import CheckedPlay, ParameterDistribution
from attract.settings.run import RunSettings

WANTED: Final = (100, 1.0)
"""Episodes, and the seconds within which most games have played them."""
NEEDED: Final = (3 * MIN_EPISODES, 10.0)
"""The same of a slow game, or of one with long episodes. As few episodes as a comparison takes have so large
an error that a policy which is better passes for random: 2 of 12 trainings of page games."""
LEAST: Final = (MIN_EPISODES, 60.0)
"""The same where fewer ended than a comparison takes, as in a page that loads again for each episode."""

FRESH: Final = ((MIN_EPISODES, 10.0), LEAST)


class Player(Protocol):
    """Has a browser play a game at random; `GameChecker` is one."""

    async def play(
        self,
        module: GameModule,
        episodes: int,
        budget_seconds: float,
        parameters: Mapping[str, ParameterDistribution],
        *,
        is_fresh: bool = False,
    ) -> CheckedPlay | None:
        """Play until so many episodes have ended or the time is over; None where the game failed.

        `is_fresh`: each episode in a fresh page.
        """
        ...


async def measure(
    player: Player,
    module: GameModule,
    parameters: Mapping[str, ParameterDistribution],
    *,
    checked: CheckedPlay | None = None,
    is_fresh: bool = False,
) -> RandomPlay | None:
    """What random play returns; None where not one episode ended.

    Args:
        player: asked only where episodes are missing.
        module: the game.
        parameters: of the game, as the run sets them; kept with the result.
        checked: of the check of the game, which knows no parameters: not used where there are some.

        is_fresh: each episode in a fresh page, as evaluations are played; these load for so long that only as
            many are asked for as a comparison needs.

    Raises: AttractError: as `player` does.
    """
    best = None if parameters else checked
    for episodes, seconds in FRESH if is_fresh else (WANTED, NEEDED, LEAST):
        if _num_episodes(best) >= episodes or (seconds == LEAST[1] and not _is_in_reach(best)):
            break
        found = await player.play(module, episodes, seconds, parameters, is_fresh=is_fresh)
        if _num_episodes(found) > _num_episodes(best):
            best = found
    if best is None or best.return_mean is None or best.return_std is None:
        return None
    return RandomPlay(
        episodes=best.episodes,
        return_mean=best.return_mean,
        standard_error=best.return_std / math.sqrt(best.episodes),
        returns=best.returns,
        parameters=dict(parameters),
    )


async def of_run(player: Player, games: GameLibrary, run: RunView) -> RandomPlay | None:
    """As `RunService.random_play`."""
    if run.game_reference is None or run.description is None:
        return run.random_play
    is_fresh = run.description.page is not None
    if run.random_play is not None and not is_fresh:
        return run.random_play
    module = games.by_hash(run.game_reference.sha256) or await games.resolve(run.game)
    own = RunSettings.from_mapping(run.settings).parameters
    parameters = resolve_parameters(own, run.description, setting="parameters")
    return await measure(player, module, parameters, is_fresh=is_fresh)


def _is_in_reach(play: CheckedPlay | None) -> bool:
    """Whether a comparison's episodes would end in `LEAST`, if they end as often as in `NEEDED`."""
    return _num_episodes(play) * LEAST[1] >= MIN_EPISODES * NEEDED[1]


def _num_episodes(play: CheckedPlay | None) -> int:
    return 0 if play is None else play.episodes
