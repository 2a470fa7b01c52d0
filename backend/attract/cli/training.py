"""Commands that train a policy: `train`, `tune`, `imitate`."""

import os
import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from attract.cli.completion import GameWord, RunWord
from attract.cli.configuration import run_settings, served_game, server_settings
from attract.cli.flags import (
    RUN,
    SERVER,
    Alias,
    AtLeastOne,
    GameProjectDir,
    Port,
    RunFlags,
    RunsDir,
    ServedFlags,
    ServerFlags,
    SettingFlags,
    given_flags,
)
from attract.errors import ConfigurationError
from attract.games.page_places import names_page
from attract.settings.cells import Cell


def train(
    game: Annotated[str | None, GameWord] = None,
    /,
    *,
    run_id: Annotated[str | None, RunWord, Parameter(group=RUN)] = None,
    resume: Annotated[bool, Parameter(negative=(), group=RUN)] = False,
    resume_auto: Annotated[bool, Parameter(negative=(), group=RUN)] = False,
    force: Annotated[bool, Parameter(negative=(), group=RUN)] = False,
    initialize_from: Annotated[str | None, RunWord, Parameter(group=RUN)] = None,
    config: Annotated[Path | None, Parameter(group=RUN)] = None,
    runs_dir: Annotated[RunsDir, Parameter(group=RUN)] = None,
    project_dir: Annotated[GameProjectDir, Parameter(group=RUN)] = None,
    json_output: Annotated[bool, Parameter(name="--json", negative=(), group=RUN)] = False,
    json_lines: Annotated[bool, Parameter(negative=(), group=RUN)] = False,
    verbose: Annotated[bool, Parameter(negative=(), group=RUN)] = False,
    exit_at_end: Annotated[bool, Parameter(name="--exit", negative=(), group=RUN)] = False,
    port: Annotated[Port, Parameter(group=SERVER)] = None,
    headless: Annotated[bool, Parameter(group=RUN)] = True,
    check: Annotated[bool, Parameter(group=RUN)] = True,
    workers: Alias = None,
    max_workers: Alias = None,
    instances: Alias = None,
    demonstrations: Alias = None,
    server_flags: ServerFlags = ServedFlags(),  # noqa: B008 - cyclopts reads the shape of the default
    settings: RunFlags = SettingFlags(),  # noqa: B008 - cyclopts reads the shape of the default
) -> int:
    """Train an agent on GAME: a bundled name, a .js or .ts module, or a page (./dist, index.html).

    Without --until-return or --total-steps it runs until Ctrl-C, which saves and exports. Every setting below
    can also be given in a file (--config) or a variable: ATTRACT_PPO_GAMMA is --ppo.gamma.

    Parameters
    ----------
    game
        Bundled name, path to a game module, or a page with a game: its folder, its .html file, or its address
        on this machine. A resumed run needs none.
    run_id
        Name of the run's folder; by default game, time and four random digits.
    resume
        Continue the run named by --run-id, which may be `latest`.
    resume_auto
        Also written --resume=auto: continue the run named by --run-id, or start it if it does not exist.
    force
        Replace the run named by --run-id; the old one is moved to the trash of the runs folder.
    initialize_from
        Start with the policy of this run; `latest` is the newest one.
    demonstrations
        The same as --cloning.demonstrations.
    config
        YAML file with settings; variables and flags win over it.
    check
        Check the game briefly while the learner starts, and print the findings (see attract check).
    json_output
        Print one JSON object at the end, and nothing else, on stdout.
    json_lines
        As --json, with one line with a JSON object per update before it.
    verbose
        Also print at the start how an update is computed.
    exit_at_end
        Exit when the training ends. Otherwise, in a terminal, the dashboard is served until Ctrl-C.
    headless
        Start headless Chromium on this machine; with --no-headless, browsers join by the dashboard or a link.
    workers
        The same as --collection.num-workers.
    max_workers
        The same as --collection.max-workers.
    instances
        The same as --collection.instances-per-worker.
    """
    from attract.commands.output import is_watched
    from attract.commands.resuming import finished_code, game_of, goes_on
    from attract.commands.train import TrainOptions, train_game
    from attract.server.app_server import run_async

    server = server_settings(
        port=port, runs_dir=runs_dir, project_dir=project_dir, **given_flags(server_flags)
    )
    server = server.model_copy(update={"cell": Cell.from_environment(os.environ)})
    if resume_auto:
        resume = goes_on(server.runs_dir, run_id)
    if game is None and resume:
        game = game_of(server.runs_dir, run_id)
    if game is None:
        raise ConfigurationError("GAME is missing; attract train --help shows all")
    if names_page(game, server.web_dir):
        from attract.commands.probe import adapter_of

        game = str(run_async(adapter_of(game, server)))
    game, server = served_game(game, server)
    chosen = run_settings(
        game,
        server,
        config,
        settings,
        resumed=run_id if resume else None,
        workers=workers,
        max_workers=max_workers,
        instances=instances,
        demonstrations=demonstrations,
    )
    if resume_auto and resume and run_id is not None:
        code = finished_code(server.runs_dir, run_id, chosen.given)
        if code is not None:
            print(f"run {run_id} has reached its end already", file=sys.stderr)
            return code
    order = TrainOptions(
        game=game,
        settings=chosen,
        run_id=run_id,
        resume=resume,
        force=force,
        initialize_from=initialize_from,
        headless=headless,
        check=check,
        json_output=json_output or json_lines,
        json_lines=json_lines,
        verbose=verbose,
        stays=not (exit_at_end or json_output or json_lines or server.cell) and is_watched(os.environ),
    )
    return run_async(train_game(order, server, port_is_fixed="port" in server.model_fields_set))


def tune(
    game: Annotated[str, GameWord],
    /,
    *,
    study: Annotated[str | None, Parameter(group=RUN)] = None,
    trials: Annotated[int, AtLeastOne, Parameter(group=RUN)] = 20,
    minutes: Annotated[float | None, Parameter(group=RUN, validator=Number(gt=0))] = None,
    parallel: Annotated[int | None, AtLeastOne, Parameter(group=RUN)] = None,
    seeds: Annotated[int, Parameter(group=RUN, validator=Number(gte=3, lte=8))] = 4,
    search: Annotated[Path | None, Parameter(group=RUN)] = None,
    out: Annotated[Path | None, Parameter(group=RUN)] = None,
    force: Annotated[bool, Parameter(negative=(), group=RUN)] = False,
    config: Annotated[Path | None, Parameter(group=RUN)] = None,
    runs_dir: Annotated[RunsDir, Parameter(group=RUN)] = None,
    project_dir: Annotated[GameProjectDir, Parameter(group=RUN)] = None,
    json_output: Annotated[bool, Parameter(name="--json", negative=(), group=RUN)] = False,
    ray: Annotated[bool, Parameter(negative=(), group=RUN)] = False,
    workers: Alias = None,
    instances: Alias = None,
    settings: RunFlags = SettingFlags(),  # noqa: B008 - cyclopts reads the shape of the default
) -> int:
    """Search for settings with which GAME is learned better or faster than with the defaults.

    Each trial is a training of --total-steps, by default 100,000; with --until-return it ends at the goal.
    The best trials and the defaults are trained again on fresh seeds. The winner is written to a file only if
    it beats the defaults there. Ctrl-C stops; the same command continues. Given settings are not searched.

    Parameters
    ----------
    game
        Bundled name, path to a game module, or a page with a game.
    study
        Name of the study's folder in tuning/ of the runs folder; by default the game's.
    trials
        Number of trials, including the defaults.
    minutes
        Approximate time limit, including the last trial and the confirmation.
    parallel
        Parallel trials; by default as many as there are cores for all workers and one learner per trial, with
        --ray on the whole cluster.
    seeds
        Fresh seeds on which the best trials and the defaults are compared, 3 to 8.
    search
        YAML file with the search space: per setting a range, a list of values, or null to leave it out.
    out
        File for the winner; by default GAME.train.yaml next to your module, or for a bundled game only the
        study's folder.
    force
        Replace the file of --out.
    config
        YAML file with settings; variables and flags win over it.
    json_output
        Print one JSON object at the end, and nothing else, on stdout.
    ray
        Run the trials on the nodes of the Ray cluster that this machine is a node of, or that $RAY_ADDRESS
        names.
    workers
        The same as --collection.num-workers.
    instances
        The same as --collection.instances-per-worker.
    """
    from attract.commands.tune import TuneOptions, tune_game
    from attract.server.app_server import run_async

    server = server_settings(port=0, runs_dir=runs_dir, project_dir=project_dir)
    if names_page(game, server.web_dir):
        from attract.commands.probe import adapter_of

        game = str(run_async(adapter_of(game, server)))
    game, server = served_game(game, server)
    order = TuneOptions(
        game=game,
        settings=run_settings(game, server, config, settings, workers=workers, instances=instances),
        study=study,
        trials=trials,
        minutes=minutes,
        parallel=parallel,
        seeds=seeds,
        search=search,
        out=out,
        force=force,
        json_output=json_output,
        project_dir=server.project_dir if Path(game).suffix else None,
    )
    if ray:
        from attract.commands.cluster import tune_on_ray

        return tune_on_ray(order, server)
    return run_async(tune_game(order, server))


def imitate(
    game: Annotated[str, GameWord],
    /,
    *,
    source: Annotated[Path | None, Parameter(name="--from", group=RUN)] = None,
    run_id: Annotated[str | None, Parameter(group=RUN)] = None,
    force: Annotated[bool, Parameter(negative=(), group=RUN)] = False,
    epochs: Annotated[int, AtLeastOne, Parameter(group=RUN)] = 2000,
    held_out: Annotated[float, Parameter(group=RUN, validator=Number(gte=0, lt=1))] = 0.2,
    config: Annotated[Path | None, Parameter(group=RUN)] = None,
    runs_dir: Annotated[RunsDir, Parameter(group=RUN)] = None,
    project_dir: Annotated[GameProjectDir, Parameter(group=RUN)] = None,
    json_output: Annotated[bool, Parameter(name="--json", negative=(), group=RUN)] = False,
    settings: RunFlags = SettingFlags(),  # noqa: B008 - cyclopts reads the shape of the default
) -> int:
    """Train a policy for GAME from demonstrations only (behaviour cloning), without playing.

    The result is a run, for `attract eval`, `export` and `serve`. `attract train --resume` continues it, and
    `attract train --initialize-from` starts a new run with its policy.

    Parameters
    ----------
    game
        Bundled name or path to a game module.
    source
        A demonstration, or a folder of them; by default those that the dashboard recorded of this game, in
        demonstrations/ next to the runs folder.
    run_id
        Name of the run's folder; by default game, time and four random digits.
    force
        Replace the run named by --run-id; the old one is moved to the trash of the runs folder.
    epochs
        Maximum passes over the demonstrations.
    held_out
        Share of the demonstrations held out to choose the best number of passes; 0: all passes are made.
    config
        YAML file with settings; variables and flags win over it.
    json_output
        Print one JSON object at the end, and nothing else, on stdout.
    """
    from attract.commands.imitate import ImitateOptions, imitate_game
    from attract.server.app_server import run_async

    server = server_settings(port=0, runs_dir=runs_dir, project_dir=project_dir)
    game, server = served_game(game, server)
    chosen = run_settings(game, server, config, settings)
    order = ImitateOptions(game, chosen.run, source, run_id, force, epochs, held_out, json_output)
    return run_async(imitate_game(order, server))
