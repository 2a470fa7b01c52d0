"""`attract match`: its flags; `matching.py` is the work."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from attract.commands import flags
from attract.processes.extras import check_installed


@flags.options
class MatchOptions:
    episodes: Annotated[int, flags.AtLeastOne] = 200
    """Episodes of each pair of players; which seats they take changes over them."""
    seed: int = 20_000
    """Seed of the episodes. Every pair plays the same ones."""
    over: str | None = None
    """Play at each of these values of a parameter of the game, and say how often each seat wins there:
    speed=0.5:2:7 (7 values from 0.5 to 2) or speed=0.5,1,2."""
    save: Path | None = None
    """Folder for every episode that is played, for `attract replay`."""
    outside: flags.Outside = ()
    outside_seconds: flags.OutsideSeconds = None
    game: Path | None = None
    """Adapter of a game in a page, or its folder; by default where it was during training."""
    runs_dir: flags.RunsDir = None
    project_dir: flags.ProjectDir = None
    include: flags.Include = None
    json_output: flags.Json = False


def match(*players: Annotated[str, Parameter(required=True)], options: MatchOptions = MatchOptions()) -> int:
    """Let PLAYERS play against each other: who wins how often, how strong each is, which seat is better.

    Parameters
    ----------
    players
        Two or more: RUN, RUN:VERSION (a number, best, newest or first), random, a module that plays:
        script:players/greedy.ts, or a program that does: outside:NAME.

    Examples
    --------
    attract match latest:best latest:first random  # has it learned?
    attract match first-run second-run:best --episodes 500  # which run plays better
    attract match latest:10 latest:20 latest:30 --json  # does each version beat the one before
    """
    check_installed("train", "attract match")
    # The gateway takes a moment to import, of which `--help` and wrong usage have no need.
    from attract.commands.matching import play_match
    from attract.server.app_server import run_async

    return run_async(play_match(players, options, flags.server_settings(options)))
