"""`attract tune`: searches for the settings that suit a game, and writes those that hold on fresh seeds."""

import asyncio
import contextlib
import shlex
import signal
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Annotated, Any, Final, cast

from cyclopts import Parameter
from cyclopts.validators import Number

from attract.browser.chromium import require_chromium
from attract.commands import flags
from attract.commands.destination import check_writable, write_output
from attract.commands.json_output import print_answer
from attract.commands.output import CommandConsole, GuardedOutput
from attract.commands.setting_flags import NO_FLAGS, RUN, Alias, RunFlags, playable_game, run_settings
from attract.commands.tune_display import StudyDisplay, result_lines
from attract.errors import ConfigurationError, TrialError
from attract.processes.cores import usable_cores
from attract.processes.exit_codes import DONE, FAILED, USAGE
from attract.processes.extras import check_installed
from attract.processes.interrupt import Interrupts
from attract.runs.studies import locked_study, study_folder, write_view
from attract.schema.studies import StudyView
from attract.server.app_server import run_async
from attract.settings.file import settings_text
from attract.settings.given import LayeredSettings
from attract.settings.presets import layer_settings
from attract.settings.run import RunSettings, ServerSettings
from attract.tuning.process_runner import ProcessRunner, TrialRunner
from attract.tuning.space import read_search

TRIAL_STEPS: Final = 100_000
"""Agent steps per trial by default; most games show by then whether they learn."""
WINNER: Final = "winner.train.yaml"


@flags.options
class TuneOptions:
    """Flags of `attract tune`, beside those of settings."""

    study: str | None = None
    """Name of the study's folder in tuning/ of the runs folder; by default the game's."""
    trials: Annotated[int, flags.AtLeastOne] = 20
    """Number of trials, including the defaults."""
    minutes: Annotated[float | None, Parameter(validator=Number(gt=0))] = None
    """Approximate time limit, including the last trial and the confirmation."""
    parallel: Annotated[int | None, flags.AtLeastOne] = None
    """Parallel trials; by default as many as there are cores for all workers and one learner per trial, with
    --ray on the whole cluster."""
    seeds: Annotated[int, Parameter(validator=Number(gte=3, lte=8))] = 4
    """Fresh seeds on which the best trials and the defaults are compared, 3 to 8."""
    search: Path | None = None
    """YAML file with the search space: per setting a range, a list of values, or null to leave it out."""
    out: Path | None = None
    """File for the winner; by default GAME.train.yaml next to your module, or for a bundled game only the
    study's folder."""
    force: bool = False
    """Replace the file of --out."""
    config: Path | None = None
    """YAML file with settings; variables and flags win over it."""
    runs_dir: flags.RunsDir = None
    project_dir: flags.ProjectDir = None
    json_output: flags.JsonAtEnd = False
    ray: bool = False
    """Run the trials on the nodes of the Ray cluster that this machine is a node of, or that $RAY_ADDRESS
    names."""
    workers: Alias = None
    """The same as --collection.num-workers."""
    instances: Alias = None
    """The same as --collection.instances-per-worker."""


def tune(
    game: flags.Game,
    /,
    *,
    options: Annotated[TuneOptions, Parameter(group=RUN)] = TuneOptions(),
    settings: RunFlags = NO_FLAGS,
) -> int:
    """Search for settings with which GAME is learned better or faster than with the defaults.

    Each trial is a training of --total-steps, by default 100,000; with --until-return it ends at the goal.
    The best trials and the defaults are trained again on fresh seeds. The winner is written to a file only if
    it beats the defaults there. Ctrl-C stops; the same command continues. Given settings are not searched.

    Parameters
    ----------
    game
        Bundled name, path to a game module, or a page with a game.

    Examples
    --------
    attract tune src/game.ts --minutes 10  # a short search
    attract tune cartpole --until-return 475 --total-steps 300000  # settings that reach a goal first
    attract tune src/game.ts --trials 40 --out tuned.yaml  # a longer search, into a file
    """
    check_installed("tune", "attract tune")
    game, server = playable_game(game, flags.server_settings(options))
    chosen = run_settings(game, server, options, settings)
    if options.ray:
        return tune_on_ray(game, chosen, options, server)
    return run_async(tune_game(game, chosen, options, server))


@dataclass(frozen=True)
class Trials:
    """The runner of the trials, and the number of parallel ones."""

    runner: TrialRunner
    parallel: int


TrialsOf = Callable[[TuneOptions, RunSettings, Path], Trials]
"""By the flags, the defaults' settings and the study's folder."""


def trials_here(options: TuneOptions, settings: RunSettings, folder: Path) -> Trials:
    """A runner of trials as processes of this machine."""
    # A study lies in `tuning/` of the runs folder.
    runner = ProcessRunner(folder, kept_in=folder.parent.parent)
    return Trials(runner, parallel_of(options, settings))


def tune_on_ray(game: str, settings: LayeredSettings, options: TuneOptions, server: ServerSettings) -> int:
    """`attract tune` whose trials run on the nodes of a cluster; the exit code.

    Raises: ConfigurationError: when what was asked for cannot be, there is no Ray or no cluster.
    """
    from attract.cluster.engine import check_address, connected
    from attract.cluster.trials import ClusterRunner, cpus_for, parallel_on
    from attract.commands.cluster import cluster_text, say_of_cluster

    check_installed("ray", "attract tune --ray")
    check_address("auto")
    with connected("auto", cpus_for(1)) as cluster:
        say_of_cluster(cluster_text(cluster))

        def trials_of(options: TuneOptions, settings: RunSettings, folder: Path) -> Trials:
            parallel = options.parallel or parallel_on(cluster.node_cpus(), settings.collection.num_workers)
            return Trials(ClusterRunner(folder, cluster), parallel)

        return run_async(tune_game(game, settings, options, server, trials_of))


async def tune_game(
    game: str,
    settings: LayeredSettings,
    options: TuneOptions,
    server: ServerSettings,
    trials_of: TrialsOf = trials_here,
) -> int:
    """Search, confirm, and write the winner's file if there is one; the exit code.

    The first signal ends the trials cleanly, the second at once; the same command continues.

    Args:
        game: a bundled name, or an absolute path.
        settings: of all trials.
        options: the flags.
        server: where runs and games are.
        trials_of: gives what runs the trials.

    Raises: ConfigurationError: when what was asked for cannot be.
    """
    if trials_of is trials_here:
        require_chromium()
    name = options.study or _stem(game)
    folder = study_folder(server.runs_dir, name)
    target = file_of(game, options.out)
    with locked_study(folder):
        _check_target(target, folder, force=options.force)
        # A module of the user's may import from its project.
        project = str(server.project_dir.resolve()) if Path(game).suffix else None
        return await _tune(game, settings, options, project, name, folder, target, trials_of)


async def _tune(
    game: str,
    asked: LayeredSettings,
    options: TuneOptions,
    project: str | None,
    name: str,
    folder: Path,
    target: Path | None,
    trials_of: TrialsOf,
) -> int:
    # Optuna is an extra: what needs it is imported once it is known to be there.
    from attract.tuning.search import Search
    from attract.tuning.tuner import Budget, StudyOrder, Tuner, same_study

    given = layer_settings({"total_steps": asked.run.total_steps or TRIAL_STEPS}, asked.given)
    searched = {} if options.search is None else read_search(options.search)
    study = StudyOrder(game, asked.beneath, given, searched, project)
    trials = trials_of(options, study.settings, folder)
    budget = Budget(options.trials, options.minutes, trials.parallel, options.seeds)
    search = Search(folder)
    kept = search.fact("order")
    if kept is None:
        search.keep("order", study.data())
    else:
        study = same_study(kept, study)
    output = GuardedOutput(sys.stderr if options.json_output else sys.stdout)
    command = shlex.join(["attract", *sys.argv[1:]])
    newest: list[StudyView] = []

    with StudyDisplay(CommandConsole(file=cast("IO[str]", output))) as display:

        def on_change(view: StudyView) -> None:
            view = view.model_copy(update={"command": command})
            newest[:] = [view]
            write_view(folder, view)
            display.changed(view)

        tuner = Tuner(name, study, budget, search, trials.runner, on_change)
        task = asyncio.ensure_future(tuner.run())

        def on_interrupt() -> None:
            display.say("stopping the trials; the same command continues; Ctrl-C again exits at once")
            task.cancel()

        error: TrialError | ConfigurationError | None = None
        with Interrupts(on_interrupt).listening() as interrupts:
            output.when_gone(lambda: interrupts.count(signal.SIGPIPE))
            second = asyncio.ensure_future(interrupts.second.wait())
            second.add_done_callback(lambda done: done.cancelled() or task.cancel())
            try:
                await task
            except (TrialError, ConfigurationError) as failed:
                error = failed
            except asyncio.CancelledError:
                if interrupts.exit_code is None:
                    raise
            finally:
                second.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await second
        view = _ended(newest[-1], error, is_stopped=interrupts.exit_code is not None)
        if view.winner is not None and view.state == "finished":
            view = _write_winner(view, yaml_of(view, tuner.winning_settings(view.winner)), folder, target)
        write_view(folder, view)
        display.changed(view)
    if isinstance(error, ConfigurationError):
        raise error
    for line in result_lines(view):
        print(line, file=cast("IO[str]", output))
    if options.json_output:
        print_answer(view)
    if isinstance(error, TrialError):
        return USAGE if error.refused else FAILED
    return DONE if view.state == "finished" else interrupts.exit_code or FAILED


def _ended(view: StudyView, error: TrialError | ConfigurationError | None, *, is_stopped: bool) -> StudyView:
    if error is not None:
        return view.model_copy(update={"state": "failed", "error": str(error), "trials": _over(view)})
    if view.state == "finished" or not is_stopped:
        return view
    return view.model_copy(update={"state": "stopped", "trials": _over(view)})


def _over(view: StudyView) -> list[Any]:
    return [trial for trial in view.trials if trial.state != "running"]


def parallel_of(options: TuneOptions, settings: Any, cores: int | None = None) -> int:
    """Number of parallel trials: as given, or one per `num_workers` + 1 cores (workers and a learner)."""
    if options.parallel is not None:
        return options.parallel
    available = usable_cores() if cores is None else cores
    return max(1, available // (settings.collection.num_workers + 1))


def file_of(game: str, out: Path | None) -> Path | None:
    """Where the winner's file goes besides the study's folder: --out, or beside a module of the user's."""
    if out is not None:
        return out
    return Path(game).with_suffix(".train.yaml") if Path(game).suffix else None


def _check_target(target: Path | None, folder: Path, *, force: bool) -> None:
    if target is None:
        return
    check_writable(target)
    if force or not target.exists():
        return
    own = folder / WINNER
    if own.is_file() and target.is_file() and own.read_bytes() == target.read_bytes():
        return
    raise ConfigurationError(
        f"{target} already exists, and its settings would be lost",
        setting="attract tune",
        fix="give another --out, or --force to replace it",
    )


def yaml_of(view: StudyView, settings: Mapping[str, Any]) -> str:
    """The winner's file: what it was measured by, and the settings."""
    rows = {row.trial: row for row in view.confirmations}
    lines = [f"# Found by `attract tune`: {len(view.trials)} trials of {view.total_steps:,} steps."]
    for label, number in (("with these settings", view.winner), ("without them", 0)):
        row = rows[cast("int", number)]
        score, seconds = sum(row.scores) / len(row.scores), sum(row.seconds) / len(row.seconds)
        lines.append(f"# Mean return {label}, {len(row.seeds)} fresh seeds: {score:.4g}, {seconds:.1f} s.")
    return "\n".join(lines) + "\n" + settings_text(settings)


def _write_winner(view: StudyView, text: str, folder: Path, target: Path | None) -> StudyView:
    file = folder / WINNER if target is None else target
    for path in {folder / WINNER, file}:
        write_output(path, text.encode())
    return view.model_copy(update={"winner_yaml": text, "file": str(file)})


def _stem(game: str) -> str:
    return Path(game).name.split(".")[0] or "game"
