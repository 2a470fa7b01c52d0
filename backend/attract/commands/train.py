"""`attract train`: its flags; `training.py` is the work."""

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from attract.commands import flags
from attract.commands.output import is_watched
from attract.commands.setting_flags import (
    NO_FLAGS,
    RUN,
    SERVER,
    Alias,
    RunFlags,
    ServerFlags,
    playable_game,
    run_settings,
)
from attract.errors import ConfigurationError
from attract.processes.extras import check_installed


@flags.options
class TrainOptions:
    """Flags of `attract train`, beside those of settings."""

    run_id: Annotated[str | None, flags.RunWord] = None
    """Name of the run's folder; by default game, time and four random digits."""
    resume: bool = False
    """Continue the run named by --run-id, which may be `latest`."""
    resume_auto: bool = False
    """Also written --resume=auto: continue the run named by --run-id, or start it if it does not exist."""
    force: bool = False
    """Replace the run named by --run-id; the old one is moved to the trash of the runs folder."""
    initialize_from: Annotated[str | None, flags.RunWord] = None
    """Start with the policy of this run; `latest` is the newest one."""
    config: Path | None = None
    """YAML file with settings; variables and flags win over it."""
    runs_dir: flags.RunsDir = None
    project_dir: flags.ProjectDir = None
    json_output: flags.JsonAtEnd = False
    json_lines: bool = False
    """As --json, with one line with a JSON object per update before it."""
    verbose: bool = False
    """Also print at the start how an update is computed."""
    exit_at_end: Annotated[bool, Parameter(name="--exit")] = False
    """Exit when the training ends. Otherwise, in a terminal, the dashboard is served until Ctrl-C."""
    outside: flags.Outside = ()
    outside_seconds: flags.OutsideSeconds = None
    port: Annotated[flags.Port, Parameter(group=SERVER)] = None
    headless: Annotated[bool, Parameter(negative="--no-headless")] = True
    """Start headless Chromium on this machine; with --no-headless, browsers join by the dashboard or a
    link."""
    check: Annotated[bool, Parameter(negative="--no-check")] = True
    """Check the game briefly while the learner starts, and print the findings (see attract check)."""
    workers: Alias = None
    """The same as --collection.num-workers."""
    max_workers: Alias = None
    """The same as --collection.max-workers."""
    instances: Alias = None
    """The same as --collection.instances-per-worker."""
    seats: Alias = None
    """The same as --self-play.seats."""
    against: Alias = None
    """The same as --self-play.against."""
    demonstrations: Alias = None
    """The same as --cloning.demonstrations."""


def train(
    game: Annotated[str | None, flags.GameWord] = None,
    /,
    *,
    options: Annotated[TrainOptions, Parameter(group=RUN)] = TrainOptions(),
    server_flags: ServerFlags = NO_FLAGS,
    settings: RunFlags = NO_FLAGS,
) -> int:
    """Train an agent on GAME: a bundled name, a .js or .ts module, or a page (./dist, index.html).

    Without --until-return or --total-steps it runs until Ctrl-C, which saves and exports. Every setting below
    can also be given in a file (--config) or a variable: ATTRACT_PPO_GAMMA is --ppo.gamma.

    Parameters
    ----------
    game
        Bundled name, path to a game module, or a page with a game: its folder, its .html file, or its address
        on this machine. A resumed run needs none.

    Examples
    --------
    attract train cartpole --until-return 475  # until it is good enough
    attract train src/game.ts --total-steps 200000  # your own game
    attract train --resume --run-id latest --total-steps 500000  # continue a run
    """
    check_installed("train", "attract train")
    # The gateway takes half a second to import, of which `--help` and wrong usage have no need.
    from attract.commands.training import finished_code, game_of, goes_on, train_game
    from attract.server.app_server import run_async

    server = flags.server_settings(options, **server_flags)
    run_id = options.run_id
    resume = goes_on(server.runs_dir, run_id) if options.resume_auto else options.resume
    if game is None and resume:
        game = game_of(server.runs_dir, run_id)
    if game is None:
        raise ConfigurationError("GAME is missing; attract train --help shows all")
    game, server = playable_game(game, server)
    chosen = run_settings(game, server, options, settings, resumed=run_id if resume else None)
    if options.resume_auto and resume and run_id is not None:
        code = finished_code(server.runs_dir, run_id, chosen.given)
        if code is not None:
            print(f"run {run_id} has reached its end already", file=sys.stderr)
            return code
    is_json = options.json_output or options.json_lines
    exits = options.exit_at_end or is_json or not is_watched(os.environ)
    options = replace(options, resume=resume, json_output=is_json, exit_at_end=exits)
    return run_async(train_game(game, chosen, options, server))
