"""`attract imitate`: its flags; `imitating.py` is the work."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from attract.commands import flags
from attract.commands.setting_flags import NO_FLAGS, RUN, RunFlags, run_settings
from attract.processes.extras import check_installed


@flags.options
class ImitateOptions:
    """Flags of `attract imitate`, beside those of settings."""

    source: Annotated[str | None, Parameter(name="--from")] = None
    """A demonstration, a folder of them, or `outside:NAME`: a program that plays them now. By default those
    that the dashboard recorded of this game, in demonstrations/ next to the runs folder."""
    outside: flags.Outside = ()
    outside_seconds: flags.OutsideSeconds = None
    episodes: Annotated[int, flags.AtLeastOne] = 20
    """Maximum episodes that such a program plays."""
    seconds: flags.Seconds = 120.0
    run_id: str | None = None
    """Name of the run's folder; by default game, time and four random digits."""
    force: bool = False
    """Replace the run named by --run-id; the old one is moved to the trash of the runs folder."""
    epochs: Annotated[int, flags.AtLeastOne] = 2000
    """Maximum passes over the demonstrations."""
    held_out: Annotated[float, Parameter(validator=Number(gte=0, lt=1))] = 0.2
    """Share of the demonstrations held out to choose the best number of passes; 0: all passes are made."""
    config: Path | None = None
    """YAML file with settings; variables and flags win over it."""
    runs_dir: flags.RunsDir = None
    project_dir: flags.ProjectDir = None
    json_output: flags.JsonAtEnd = False


def imitate(
    game: flags.Game,
    /,
    *,
    options: Annotated[ImitateOptions, Parameter(group=RUN)] = ImitateOptions(),
    settings: RunFlags = NO_FLAGS,
) -> int:
    """Train a policy for GAME from demonstrations only (behaviour cloning), without playing.

    The result is a run, for `attract eval`, `export` and `serve`. `attract train --resume` continues it, and
    `attract train --initialize-from` starts a new run with its policy.

    Parameters
    ----------
    game
        Bundled name, path to a game module, or a page that has an adapter.

    Examples
    --------
    attract imitate keydoor  # from what the dashboard recorded
    attract imitate keydoor --from episodes  # from a folder
    attract imitate keydoor --run-id copy --epochs 500  # another name, fewer passes
    """
    check_installed("train", "attract imitate")
    # Torch takes seconds to import, of which `--help` and wrong usage have no need.
    from attract.commands.imitating import imitate_game
    from attract.server.app_server import run_async

    game, server = flags.served_game(game, flags.server_settings(options))
    chosen = run_settings(game, server, options, settings)
    return run_async(imitate_game(game, chosen.run, options, server))
