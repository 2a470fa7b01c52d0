"""The `attract` command: reads arguments, environment and files, and builds what they ask for."""

import os
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import cyclopts
from cyclopts import App, Parameter
from rich.console import Console
from rich.text import Text

from attract import __version__
from attract.commands.flags import (
    COLLECTION,
    RUN,
    SERVER,
    Alias,
    Host,
    Port,
    ProjectDir,
    RunFlags,
    RunsDir,
    ServedFlags,
    ServerFlags,
    SettingFlags,
    given_flags,
    mistake,
)
from attract.commands.output import CommandConsole, silence
from attract.errors import AttractError, ConfigurationError
from attract.games.page_places import names_page
from attract.processes.exit_codes import DONE, FAILED, INTERRUPTED, OUTPUT_GONE, TERMINATED
from attract.processes.interrupt import Terminated
from attract.runs.log_lines import LOG_FORMAT, LOG_LEVEL, show_logs
from attract.settings.cells import Cell
from attract.settings.run import ServerSettings
from attract.settings.variables import PREFIX, unread_variables

app = App(
    name="attract",
    version=__version__,
    help="Train an agent to play a browser game, in browsers, and ship it inside the game.",
    console=CommandConsole(),
    error_formatter=mistake,
    error_console=Console(stderr=True, soft_wrap=True, highlight=False),
)

DEFAULT_URL = f"http://{ServerSettings().host}:{ServerSettings().port}"
AtLeastOne = Parameter(validator=cyclopts.validators.Number(gte=1))

WRITTEN_SO = {"--resume=auto": "--resume-auto"}
"""`--resume` takes no value, so that a game's name may follow it; with one it is a flag of its own."""


@app.command
def train(
    game: str | None = None,
    /,
    *,
    run_id: Annotated[str | None, Parameter(group=RUN)] = None,
    resume: Annotated[bool, Parameter(negative=(), group=RUN)] = False,
    resume_auto: Annotated[bool, Parameter(negative=(), group=RUN)] = False,
    force: Annotated[bool, Parameter(negative=(), group=RUN)] = False,
    initialize_from: Annotated[str | None, Parameter(group=RUN)] = None,
    config: Annotated[Path | None, Parameter(group=RUN)] = None,
    runs_dir: Annotated[RunsDir, Parameter(group=RUN)] = None,
    json_output: Annotated[bool, Parameter(name="--json", negative=(), group=RUN)] = False,
    json_lines: Annotated[bool, Parameter(negative=(), group=RUN)] = False,
    verbose: Annotated[bool, Parameter(negative=(), group=RUN)] = False,
    port: Annotated[Port, Parameter(group=SERVER)] = None,
    headless: Annotated[bool, Parameter(group=COLLECTION)] = True,
    check: Annotated[bool, Parameter(group=RUN)] = True,
    workers: Alias = None,
    max_workers: Alias = None,
    instances: Alias = None,
    demonstrations: Alias = None,
    server_flags: ServerFlags = ServedFlags(),  # noqa: B008 - cyclopts reads the shape of the default
    settings: RunFlags = SettingFlags(),  # noqa: B008 - cyclopts reads the shape of the default
) -> int:
    """Train an agent on GAME: a bundled name, a .js or .ts module, or a page (./dist, index.html).

    Without --until-return or --total-steps it goes on until Ctrl-C, which saves and exports. Every setting
    below can also stand in a file (--config), or in a variable: ATTRACT_PPO_GAMMA is --ppo.gamma.

    Parameters
    ----------
    game
        Bundled name, path to a game module, or a page that a game lives in: its folder, its .html file, or
        its address on this machine. A run that is resumed knows its own.
    run_id
        Name of the run's folder; by default game, time and four random digits.
    resume
        Go on with the run named by --run-id, which may be `latest`.
    resume_auto
        Also written --resume=auto: go on with the run named by --run-id, or start it where there is none yet.
    force
        Replace the run named by --run-id; the old one is moved to the trash of the runs folder.
    initialize_from
        Start from the policy of this run; `latest` is the newest one.
    demonstrations
        The same as --cloning.demonstrations.
    config
        YAML file with settings; variables and flags win over it.
    check
        Check the game for a moment while the learner starts, and print what was found (see attract check).
    json_output
        Print one JSON object at the end, and nothing else, on stdout.
    json_lines
        The same after a line with a JSON object for each update.
    verbose
        Say at the start how an update is made too.
    headless
        Start headless Chromium here; with --no-headless, browsers join by the dashboard or a link.
    workers
        The same as --collection.num-workers.
    max_workers
        The same as --collection.max-workers.
    instances
        The same as --collection.instances-per-worker.
    """
    from attract.commands.resuming import finished_code, game_of, goes_on
    from attract.commands.train import TrainOptions, settings_beneath, train_game
    from attract.server.in_process import run_async
    from attract.settings.given import from_aliases, from_file, from_flags, from_variables, join_layers

    server = _server_settings(port=port, runs_dir=runs_dir, **given_flags(server_flags))
    server = server.model_copy(update={"cell": Cell.from_environment(os.environ)})
    if resume_auto:
        resume = goes_on(server.runs_dir, run_id)
    if game is None and resume:
        game = game_of(server.runs_dir, run_id)
    if game is None:
        raise ConfigurationError("GAME is missing; attract train --help shows all")
    if names_page(game):
        from attract.commands.probe import adapter_of

        game = str(run_async(adapter_of(game, server)))
    if Path(game).suffix != "":
        game = str(Path(game).resolve())
        server = server.model_copy(update={"project_dir": Path(game).parent})
    given = join_layers(
        settings_beneath(game, server, resumed=run_id if resume else None),
        from_file(config),
        from_variables(os.environ),
        from_flags(given_flags(settings)),
        from_aliases(
            workers=workers,
            max_workers=max_workers,
            instances=instances,
            demonstrations=demonstrations,
        ),
    )
    if resume_auto and resume and run_id is not None:
        code = finished_code(server.runs_dir, run_id, given)
        if code is not None:
            print(f"run {run_id} has reached its end already", file=sys.stderr)
            return code
    order = TrainOptions(
        game=game,
        settings=given,
        run_id=run_id,
        resume=resume,
        force=force,
        initialize_from=initialize_from,
        headless=headless,
        check=check,
        json_output=json_output or json_lines,
        json_lines=json_lines,
        verbose=verbose,
    )
    return run_async(train_game(order, server, port_is_fixed="port" in server.model_fields_set))


@app.command
def tune(
    game: str,
    /,
    *,
    study: Annotated[str | None, Parameter(group=RUN)] = None,
    trials: Annotated[int, AtLeastOne, Parameter(group=RUN)] = 20,
    minutes: Annotated[float | None, Parameter(group=RUN, validator=cyclopts.validators.Number(gt=0))] = None,
    parallel: Annotated[int | None, AtLeastOne, Parameter(group=RUN)] = None,
    seeds: Annotated[int, Parameter(group=RUN, validator=cyclopts.validators.Number(gte=3, lte=8))] = 4,
    search: Annotated[Path | None, Parameter(group=RUN)] = None,
    out: Annotated[Path | None, Parameter(group=RUN)] = None,
    force: Annotated[bool, Parameter(negative=(), group=RUN)] = False,
    config: Annotated[Path | None, Parameter(group=RUN)] = None,
    runs_dir: Annotated[RunsDir, Parameter(group=RUN)] = None,
    json_output: Annotated[bool, Parameter(name="--json", negative=(), group=RUN)] = False,
    workers: Alias = None,
    instances: Alias = None,
    settings: RunFlags = SettingFlags(),  # noqa: B008 - cyclopts reads the shape of the default
) -> int:
    """Search for settings with which GAME is learned better or sooner than with the defaults.

    Trials are trainings of --total-steps each, by default 100,000; with --until-return they end at the goal.
    The best are trained again on fresh seeds beside the defaults, and are written to a file only if they
    hold. Ctrl-C stops, and the same command goes on. Settings that are given stay as they are.

    Parameters
    ----------
    game
        Bundled name, path to a game module, or a page that a game lives in.
    study
        Name of the study's folder in tuning/ of the runs folder; by default the game's.
    trials
        How many the search has, the defaults among them.
    minutes
        End the search in time for the last trial and the confirmation to be done by then, about.
    parallel
        Trials at once; by default as many as have a core for each worker and one for the learner.
    seeds
        Fresh seeds on which the best trials and the defaults are compared, 3 to 8.
    search
        YAML file with what is searched: by setting a range, a list of values, or null for not at all.
    out
        Where to write the winner; by default GAME.train.yaml beside a module of yours, and for a bundled game
        the study's folder alone.
    force
        Replace that file.
    config
        YAML file with settings; variables and flags win over it.
    json_output
        Print one JSON object at the end, and nothing else, on stdout.
    workers
        The same as --collection.num-workers.
    instances
        The same as --collection.instances-per-worker.
    """
    from attract.commands.train import settings_beneath
    from attract.commands.tune import TuneOptions, tune_game
    from attract.server.in_process import run_async
    from attract.settings.given import from_aliases, from_file, from_flags, from_variables, join_layers

    server = _server_settings(port=0, runs_dir=runs_dir)
    if names_page(game):
        from attract.commands.probe import adapter_of

        game = str(run_async(adapter_of(game, server)))
    if Path(game).suffix != "":
        game = str(Path(game).resolve())
        server = server.model_copy(update={"project_dir": Path(game).parent})
    beneath = settings_beneath(game, server, resumed=None)
    given = join_layers(
        beneath,
        from_file(config),
        from_variables(os.environ),
        from_flags(given_flags(settings)),
        from_aliases(workers=workers, instances=instances),
    )
    order = TuneOptions(
        game=game,
        beneath=beneath.values,
        given=given,
        study=study,
        trials=trials,
        minutes=minutes,
        parallel=parallel,
        seeds=seeds,
        search=search,
        out=out,
        force=force,
        json_output=json_output,
    )
    return run_async(tune_game(order, server))


@app.command
def imitate(
    game: str,
    /,
    *,
    source: Annotated[Path | None, Parameter(name="--from", group=RUN)] = None,
    run_id: Annotated[str | None, Parameter(group=RUN)] = None,
    force: Annotated[bool, Parameter(negative=(), group=RUN)] = False,
    epochs: Annotated[int, AtLeastOne, Parameter(group=RUN)] = 2000,
    held_out: Annotated[float, Parameter(group=RUN, validator=cyclopts.validators.Number(gte=0, lt=1))] = 0.2,
    config: Annotated[Path | None, Parameter(group=RUN)] = None,
    runs_dir: Annotated[RunsDir, Parameter(group=RUN)] = None,
    json_output: Annotated[bool, Parameter(name="--json", negative=(), group=RUN)] = False,
    settings: RunFlags = SettingFlags(),  # noqa: B008 - cyclopts reads the shape of the default
) -> int:
    """Make a policy for GAME that plays as it was demonstrated, without playing a step of its own.

    What it leaves is a run: `attract eval`, `export` and `serve` take it, `attract train --resume` goes on
    from it, and `attract train --initialize-from` starts another from it.

    Parameters
    ----------
    game
        Bundled name or path to a game module.
    source
        A demonstration, or a folder of them; by default those of this game that the dashboard recorded, in
        demonstrations/ beside the runs folder.
    run_id
        Name of the run's folder; by default game, time and four random digits.
    force
        Replace the run named by --run-id; the old one is moved to the trash of the runs folder.
    epochs
        Passes over the demonstrations, at most.
    held_out
        Share of the demonstrations by which it is judged how many passes are best; 0 makes all of them.
    config
        YAML file with settings; variables and flags win over it.
    json_output
        Print one JSON object at the end, and nothing else, on stdout.
    """
    from attract.commands.imitate import ImitateOptions, imitate_game
    from attract.commands.train import settings_beneath
    from attract.server.in_process import run_async
    from attract.settings.given import from_file, from_flags, from_variables, join_layers

    server = _server_settings(port=0, runs_dir=runs_dir)
    if Path(game).suffix != "":
        game = str(Path(game).resolve())
        server = server.model_copy(update={"project_dir": Path(game).parent})
    given = join_layers(
        settings_beneath(game, server, resumed=None),
        from_file(config),
        from_variables(os.environ),
        from_flags(given_flags(settings)),
    )
    order = ImitateOptions(game, given, source, run_id, force, epochs, held_out, json_output)
    return run_async(imitate_game(order, server))


@app.command
def check(
    game: str,
    /,
    *,
    json_output: Annotated[bool, Parameter(name="--json", negative=())] = False,
) -> int:
    """Play GAME at random in a headless browser and say what would keep agents from learning it.

    Exit code 0 without errors, 1 with errors, 2 for wrong use.

    Parameters
    ----------
    game
        Bundled name or path to a game module.
    json_output
        Print one JSON object and nothing else on stdout.
    """
    from attract.commands.check import CheckOptions, check_game
    from attract.server.in_process import run_async

    own_game = Path(game).suffix != ""
    server = _server_settings(port=0, project_dir=Path(game).resolve().parent if own_game else None)
    order = CheckOptions(str(Path(game).resolve()) if own_game else game, json_output)
    return run_async(check_game(order, server))


@app.command
def probe(
    page: str,
    /,
    *,
    out: Path | None = None,
    size: tuple[int, int] = (800, 600),
    force: Annotated[bool, Parameter(negative=())] = False,
    json_output: Annotated[bool, Parameter(name="--json", negative=())] = False,
) -> int:
    """Look into a PAGE that a game lives in, play it at random, and write a first adapter for it.

    Says what it found: keys that have an effect, numbers that move, what may be the score and the end, how it
    is begun, which engine drew it, and what it offers agents by itself.

    Parameters
    ----------
    page
        Folder with an index.html, .html file, or address on this machine.
    out
        Adapter to write; by default game.page.ts in the page's folder, or beside a folder that is built.
    size
        Of the page's window in pixels: width and height.
    force
        Replace an adapter that is there.
    json_output
        Print one JSON object and nothing else on stdout.
    """
    from attract.commands.probe import ProbeOptions, probe_page
    from attract.server.in_process import run_async

    return run_async(probe_page(ProbeOptions(page, out, size, force, json_output), _server_settings(port=0)))


@app.command
def serve(
    *,
    host: Host = None,
    port: Port = None,
    runs_dir: RunsDir = None,
    project_dir: ProjectDir = None,
    server_flags: ServerFlags = ServedFlags(),  # noqa: B008 - cyclopts reads the shape of the default
) -> int:
    """Serve the dashboard: choose a game, train, watch, play."""
    from attract.commands.serve import serve_dashboard
    from attract.server.in_process import run_async

    server = _server_settings(
        host=host,
        port=port,
        runs_dir=runs_dir,
        project_dir=project_dir,
        **given_flags(server_flags),
    )
    return run_async(serve_dashboard(server))


@app.command(name="eval")
def evaluate(
    run: str,
    /,
    *,
    episodes: Annotated[int | None, AtLeastOne] = None,
    seed: int | None = None,
    deterministic: bool | None = None,
    game: Path | None = None,
    runs_dir: RunsDir = None,
    json_output: Annotated[bool, Parameter(name="--json", negative=())] = False,
) -> int:
    """Play fixed-seed episodes of RUN's newest policy in a real browser, each to its end.

    Parameters
    ----------
    run
        A run id, or `latest`: the newest run that has a policy.
    episodes
        How many; by default the run's own `evaluation.episodes`.
    seed
        Seed of the evaluation; by default the run's own `evaluation.seed`.
    deterministic
        Take the most probable actions, or sample them; by default the run's own `evaluation.deterministic`.
    game
        Where the adapter of a game that lives in a page is now, or its folder; by default where it was.
    json_output
        Print one JSON object and nothing else on stdout.
    """
    from attract.commands.evaluate import EvaluateOptions, evaluate_run
    from attract.server.in_process import run_async

    order = EvaluateOptions(run, episodes, seed, deterministic, json_output, game)
    return run_async(evaluate_run(order, _server_settings(port=0, runs_dir=runs_dir)))


@app.command
def new(folder: Path, /, *, template: Literal["pure", "physics", "page"] = "pure") -> int:
    """Write a new game into FOLDER: the game, a page that plays it, and types for both.

    Parameters
    ----------
    folder
        A new folder; the game's package has its name.
    template
        pure: cells and a few actions. physics: forces, speeds and continuous actions. page: a game that
        lives in its page, and the adapter that trains it there.
    """
    from attract.commands.new import create_project, next_steps

    for path in create_project(folder.resolve(), template):
        print(f"wrote {folder / path}")
    print(f"\nNext:\n\n{next_steps(folder, template)}", end="")
    return 0


@app.command
def export(
    run: str,
    /,
    *,
    out: Path,
    export_format: Annotated[Literal["onnx", "js"], Parameter(name="--format")] = "onnx",
    page: Annotated[bool, Parameter(negative="")] = False,
    version: int | None = None,
    game: Path | None = None,
    runs_dir: RunsDir = None,
) -> int:
    """Write RUN's policy.onnx and policy.json into a folder, ready to ship inside the game.

    A run of several policies gives one <name>.onnx each.

    Parameters
    ----------
    run
        A run id, or `latest`: the newest run that has a policy.
    out
        The folder; made if it is not there.
    export_format
        js: with agent.js, which plays the policy in any page, without ONNX Runtime.
    page
        A whole page: the game with the agent playing it, and you in its place. Any static server shows it.
    version
        Another than the run's best, such as a weaker opponent; one of those that are kept.
    game
        With --page, where the adapter of a game that lives in a page is now, or its folder; by default
        where it was.
    """
    from attract.commands.export import export_run
    from attract.commands.exported_page import left_out_text
    from attract.server.in_process import run_async

    server = _server_settings(port=0, runs_dir=runs_dir)
    exported = run_async(
        export_run(run, out.resolve(), server, export_format, version, with_page=page, game_path=game)
    )
    shown = [out / model.relative_to(out.resolve()) for model in exported.written]
    # The policies come first, and their document lies beside them.
    document = shown[0].with_name("policy.json")
    of_run = f"run {exported.run_id}, version {exported.version}"
    print(f"wrote {', '.join(map(str, shown))} and {document} ({of_run})")
    if exported.left_out:
        print(left_out_text(exported.left_out))
    if export_format == "js":
        print(
            f'In the page:  import {{ loadAgent }} from "./{out.name}/agent.js";\n'
            f'              const agent = await loadAgent("./{out.name}/");\n'
            "              game.update(deltaTime, agent.tick(() => observation));"
        )
    if page:
        print(f"See it:  python3 -m http.server --directory {out} 8000\n         http://localhost:8000")
    return 0


@app.command
def rollback(run: str, /, *, to_version: int, runs_dir: RunsDir = None) -> int:
    """Take RUN back to a version before a guest's false experience was trained: later ones are set aside.

    The run must not be active. `attract train --resume` then goes on from there.

    Parameters
    ----------
    run
        A run id, or `latest`: the newest run that has a policy.
    to_version
        The last version to keep; where it is no longer there, the next older one, or else the oldest.
    """
    from attract.run.rollback import roll_back

    run, version = roll_back(_server_settings(port=0, runs_dir=runs_dir).runs_dir, run, to_version)
    print(f"run {run} is at version {version}; go on with `attract train --resume --run-id {run}`")
    return 0


@app.command
def join(
    url: str,
    /,
    *,
    workers: Annotated[int, AtLeastOne] = 1,
    token: str | None = None,
    until_gone: Annotated[float | None, Parameter(validator=cyclopts.validators.Number(gt=0))] = None,
) -> int:
    """Join a trainer elsewhere with a headless browser, until the trainer says good-bye or Ctrl-C.

    While the trainer is away it waits. What will not mend itself (a wrong token, a certificate that is not
    trusted, nobody at the address) ends it with exit code 2 and the reason.

    Parameters
    ----------
    url
        Address of the trainer, or a join link with its token; `-` reads it from stdin, so that the list of
        processes does not show the token.
    workers
        How many workers to run.
    token
        Worker token; by default from the link, $ATTRACT_WORKER_TOKEN_FILE or $ATTRACT_WORKER_TOKEN.
    until_gone
        Seconds that the trainer may be away, at the start too; then exit code 4. By default it waits for ever
        for a trainer that it has reached.
    """
    from attract.commands.join import join_trainer, worker_token
    from attract.server.in_process import run_async

    link = sys.stdin.readline().strip() if url == "-" else url
    token = token or worker_token(os.environ)
    return run_async(join_trainer(link, workers, token, until_gone_seconds=until_gone))


@app.command
def health(url: str = DEFAULT_URL, /) -> int:
    """Exit 0 when the gateway at URL answers; for health checks of containers.

    Parameters
    ----------
    url
        Address of the trainer.
    """
    from attract.commands.join import ill_health

    problem = ill_health(url)
    if problem is not None:
        print(f"{url} is not well: {problem}", file=sys.stderr)
    return DONE if problem is None else FAILED


@app.command
def results(
    *,
    suite: Literal["bundled", "defaults", "pages"] = "bundled",
    only: str | None = None,
    seed: int | None = None,
    reward_scale: float | None = None,
    out: Path = Path("docs/results.md"),
    scale: Annotated[float, Parameter(validator=cyclopts.validators.Number(gt=0))] = 1.0,
    runs_dir: RunsDir = None,
) -> int:
    """Train every task of the table of results, Stable-Baselines3's PPO beside it, and write the table.

    Finished runs are kept in a JSON file beside the table, not done again. After three hours none is begun.

    Parameters
    ----------
    suite
        `bundled`: the games that come with Attract, with their settings; `defaults`: plain games without any;
        `pages`: the bundled games that live in a page, random play beside them.
    only
        One task: a game's name, or `schedules`.
    seed
        One seed instead of 1, 2 and 3.
    reward_scale
        With `--suite defaults`: one factor on all rewards, instead of 1, 0.001 and 1000.
    out
        The table; the record of finished runs lies beside it, as .json.
    scale
        Fraction of each task's steps: below 1 it tries the command out, and the table says so.
    """
    from attract.commands.results import ResultsOptions, make_results

    server = _server_settings(port=0, runs_dir=runs_dir)
    order = ResultsOptions(out, server.runs_dir, suite, only, seed, scale, reward_scale)
    return make_results(order, lambda text: print(text, flush=True))


@app.command
def bench(
    *,
    only: Annotated[list[str] | None, Parameter(consume_multiple=True, negative=())] = None,
    peers: Annotated[bool, Parameter(negative=())] = False,
    rounds: Annotated[int, AtLeastOne] = 5,
    device: Literal["cpu", "cuda"] = "cpu",
    quick: Annotated[bool, Parameter(negative=())] = False,
    compare: Path | None = None,
    out: Path | None = None,
    list_figures: Annotated[bool, Parameter(name="--list", negative=())] = False,
    json_output: Annotated[bool, Parameter(name="--json", negative=())] = False,
) -> int:
    """Measure what this machine reaches, each figure as a ratio to its bare parts of the same run.

    Parameters
    ----------
    only
        Figures to measure, by name or by the part before the slash.
    peers
        Train with the baselines too and print the ratios.
    rounds
        Rounds of each figure; medians are printed.
    device
        Torch's device for the learner's figures.
    quick
        Short rounds: shows a collapse, not a few percent.
    compare
        An earlier result; says what got slower than there. Exit code 1 when something did, 2 when a measure
        failed.
    out
        Where to keep the JSON, to be compared with later.
    list_figures
        Name every figure and what it is, and measure nothing.
    json_output
        Print one JSON object and nothing else on stdout.
    """
    from attract.benchmarks.harness.measure import BenchOptions
    from attract.commands.bench import BenchCommandOptions, list_measures, run_bench

    if list_figures:
        print(list_measures())
        return 0
    # Progress goes to stderr: stdout has the result alone.
    say = Console(stderr=True, highlight=False, markup=False, soft_wrap=True).print
    options = BenchOptions(rounds=rounds, device=device, quick=quick, say=say)
    order = BenchCommandOptions(options, only or (), peers, json_output, out, compare)
    return run_bench(order, say, print)


@app.command
def report(run: str, /, *, out: Path | None = None, runs_dir: RunsDir = None) -> int:
    """Pack what somebody needs to look into RUN's trouble into a zip, without secrets.

    Parameters
    ----------
    run
        A run id, also of a run in the trash, or `latest`: the newest run, with a policy or without.
    out
        The file; by default <run>-report.zip in the current folder.
    """
    from attract.commands.report import pack_report

    written, said = pack_report(run, _server_settings(runs_dir=runs_dir).runs_dir, out, os.environ)
    print(f"wrote {written}", *said, sep="\n")
    return DONE


@app.command
def doctor() -> int:
    """Report what this machine has and lacks, with the command that mends it."""
    from attract.commands.doctor import examine, table_of

    findings = examine()
    CommandConsole().print(table_of(findings))
    return 0 if all(finding.ok or not finding.required for finding in findings) else 1


def main() -> None:
    """Run the command line; the exit codes are those of `attract.processes.exit_codes`."""
    for warning in unread_variables(os.environ, _flags):
        print(f"warning: {warning}", file=sys.stderr)
    try:
        code = app(
            [WRITTEN_SO.get(word, word) for word in sys.argv[1:]],
            exit_on_error=True,
            result_action="return_value",
        )
        sys.stdout.flush()
    except AttractError as error:
        text = Text.assemble(("error:", "red"), f" {error}")
        Console(stderr=True).print(text, highlight=False, soft_wrap=True)
        code = error.exit_code
    except KeyboardInterrupt:
        code = INTERRUPTED
    except Terminated:
        code = TERMINATED
    except BrokenPipeError:
        silence(sys.stdout)
        silence(sys.stderr)
        code = OUTPUT_GONE
    sys.exit(code if isinstance(code, int) else DONE)


def _flags() -> dict[str, str]:
    """Flags of all commands by the variable that somebody might take for theirs."""
    arguments = (
        argument
        for command in app
        if not command.startswith("-")
        for argument in app[command].assemble_argument_collection()
    )
    names = (name for argument in arguments for name in argument.names if name.startswith("--"))
    return {PREFIX + name.strip("-").upper().replace("-", "_"): name for name in names}


def _server_settings(**given: Any) -> ServerSettings:
    """Server settings from flags, with the environment below them; logs are shown where that is asked for."""
    server = ServerSettings.from_environment(os.environ, **given)
    if {"log_format", "log_level"} & server.model_fields_set:
        show_logs(server.log_format, server.log_level)
        # The learner and the browser's process are told so.
        os.environ |= {LOG_FORMAT: server.log_format, LOG_LEVEL: server.log_level}
    return server
