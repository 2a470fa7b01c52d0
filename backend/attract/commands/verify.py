"""`attract verify`: its flags; `verifying.py` is the work."""

from pathlib import Path
from typing import Annotated

from attract.commands import flags


@flags.options
class VerifyOptions:
    seconds: flags.SecondsOrFile = None
    """How long it may play. By default 60."""
    seed: flags.SeedOrFile = None
    """Seed of the episodes. By default 0."""
    policy: Annotated[str | None, flags.RunWord] = None
    """A trained policy that plays, too: a run id, `latest`, or a folder that `attract export` wrote."""
    out: Path = Path("attract-verify")
    """Folder for the episode that shows it."""
    project_dir: flags.ProjectDir = None
    page_device: flags.PageDevice = None
    include: flags.Include = None
    runs_dir: flags.RunsDir = None
    json_output: flags.Json = False


def verify(game: flags.Game, claim: str | None = None, /, options: VerifyOptions = VerifyOptions()) -> int:
    """Have many players try to make CLAIM true in GAME: whether what was built can happen.

    CONFIRMED: it held, and holds again when the episode is replayed in a new copy. DENIED: the players came
    to its limit again and again, and none came further. INCONCLUSIVE: neither; it says how far they came.
    Exit code: 0 confirmed, 1 denied, 3 inconclusive, 2 if it could not be played.

    Parameters
    ----------
    game
        As of `attract ci`. CLAIM alone: the one that `attract.config.ts` of this project names.
    claim
        An expression, evaluated after each step: in a page as by `attract look --eval`; of a module `game` is
        what its `create` returned.

    Examples
    --------
    attract verify site "player.jumps >= 2"  # the double jump that I have just built
    attract verify src/game.ts "game.level >= 2" --seconds 30  # the second level can be reached
    attract verify site "player.y<0" --json  # the player cannot leave the picture: denied is well
    """
    # Half a second to import, of which `--help` and wrong usage have no need.
    from attract.commands.project_play import planned
    from attract.commands.verifying import verify_claim
    from attract.server.app_server import run_async

    named, claim = (None, game) if claim is None else (game, claim)
    plan = planned(named, options, flags.server_settings(options), 'attract verify ./dist "CLAIM"')
    return run_async(verify_claim(claim, *plan))
