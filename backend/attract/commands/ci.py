"""`attract ci`: its flags; `ci_playing.py` is the work."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Final

from cyclopts import Parameter

from attract.commands import flags
from attract.commands.output import is_github

OWN_PLACES: Final = ("baseline", "out", "junit", "html")
"""Its paths in the project's file."""


@flags.options
class CiOptions:
    baseline: Path | None = None
    """File with the outcomes of a build that plays well. By default `attract-ci.json` beside the game."""
    update_baseline: bool = False
    """Write the baseline of this build."""
    seconds: flags.SecondsOrFile = None
    """How long it may play, on each device. By default 120."""
    seed: flags.SeedOrFile = None
    """Seed of the episodes; those of a baseline have their own. By default 0."""
    policy: Annotated[str | None, flags.RunWord] = None
    """A trained policy that plays, too: a run id, `latest`, or a folder that `attract export` wrote."""
    episodes: Path | None = None
    """Folder of recorded episodes that are played, too."""
    outside: flags.Outside = ()
    outside_seconds: flags.OutsideSeconds = None
    out: Path | None = None
    """Folder for the episodes of the findings, and a Playwright test of each. By default `attract-ci`."""
    junit: Path | None = None
    """File for the result as JUnit XML."""
    html: Path | None = None
    """File for a report that plays the episodes in it."""
    github: Annotated[bool | None, Parameter(negative="--no-github")] = None
    """Print annotations and add to the summary of the step, as GitHub Actions reads them; by default in its
    jobs ($GITHUB_ACTIONS)."""
    project_dir: flags.ProjectDir = None
    page_device: flags.PageDevice = None
    include: flags.Include = None
    runs_dir: flags.RunsDir = None
    json_output: flags.Json = False

    @property
    def play_seconds(self) -> float:
        """`seconds`, or the default."""
        return 120.0 if self.seconds is None else self.seconds

    @property
    def folder(self) -> Path:
        """`out`, or the default."""
        return self.out or Path("attract-ci")


def ci(game: flags.Game | None = None, /, options: CiOptions = CiOptions()) -> int:
    """Play a build of GAME by many players and report what is wrong with it, or differs from the baseline.

    Without GAME the one that `attract.config.ts` or `.yaml` of this project names, as it says; flags win.

    Exit code: 0 if it plays, 1 with findings, 2 if it could not be played.

    Parameters
    ----------
    game
        Bundled name, path to a game module or an adapter, or a page: a folder, an .html file, or an address
        on this machine. A page without an adapter is played with what `attract probe` finds.

    Examples
    --------
    attract ci src/game.ts  # what is wrong with this build
    attract ci src/game.ts --update-baseline  # this build plays well: compare later ones with it
    attract ci src/game.ts --policy latest  # a trained agent plays, too
    """
    # Half a second to import, of which `--help` and wrong usage have no need.
    from attract.commands.ci_playing import play_build
    from attract.commands.project_play import planned
    from attract.server.app_server import run_async

    if options.github is None:
        options = replace(options, github=is_github(os.environ))
    given = flags.server_settings(options)
    return run_async(play_build(*planned(game, options, given, "attract ci ./dist", OWN_PLACES)))
