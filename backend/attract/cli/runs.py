"""Commands for existing runs: `runs`, `metrics`, `eval`, `export`, `rollback`, `report`."""

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal
from urllib.parse import quote

from cyclopts import Parameter
from cyclopts.validators import Number

from attract.cli.completion import RunWord
from attract.cli.configuration import served_game, server_settings
from attract.cli.flags import (
    AtLeastOne,
    GameProjectDir,
    Include,
    ProjectDir,
    RunsDir,
)
from attract.processes.exit_codes import DONE

if TYPE_CHECKING:
    from attract.commands.episodes import Chosen
    from attract.settings.run import ServerSettings


def runs(
    *query: str,
    sort: Annotated[str, Parameter(allow_leading_hyphen=True)] = "-created",
    limit: Annotated[int, AtLeastOne] = 50,
    runs_dir: RunsDir = None,
    project_dir: ProjectDir = None,
    json_output: Annotated[bool, Parameter(name="--json", negative=())] = False,
) -> int:
    """List the runs that QUERY finds, as the dashboard does.

    Archived runs, and those that ended without an update, are left out unless QUERY has `is:all`.

    Parameters
    ----------
    query
        Words and conditions, all of which must hold, such as "game:snake return>20 lr<0.001 tag:good". Quote
        them: a shell takes < and > for itself.
    sort
        A field or setting, with - before it from the largest: -return, steps, learning_rate.
    limit
        Number of runs.
    json_output
        Print one JSON object and nothing else on stdout.
    """
    from attract.commands.runs import find_runs, print_runs

    server = server_settings(port=0, runs_dir=runs_dir, project_dir=project_dir)
    print_runs(find_runs(server, " ".join(query), sort, limit), json_output=json_output)
    return DONE


def metrics(
    run: Annotated[str, RunWord],
    /,
    *names: str,
    points: Annotated[int | None, Parameter(validator=Number(gte=0, lte=500))] = None,
    runs_dir: RunsDir = None,
    json_output: Annotated[bool, Parameter(name="--json", negative=())] = False,
) -> int:
    """Print the metrics of RUN: first, last, lowest and highest value of each, and values of those named.

    Parameters
    ----------
    run
        A run id, or `latest`: the newest run that has a policy.
    names
        Metrics, or patterns such as "rollout/*"; by default all.
    points
        Number of values of each metric; by default 20 of those that are named. With it nothing is left out;
        else the answer has at most 8 kB.
    json_output
        Print one JSON object and nothing else on stdout.
    """
    from attract.commands.json_output import print_answer
    from attract.commands.metrics import metrics_lines, run_metrics

    found = run_metrics(server_settings(port=0, runs_dir=runs_dir).runs_dir, run, names, points)
    if json_output:
        print_answer(found)
    else:
        print("\n".join(metrics_lines(found)))
    return DONE


def evaluate(
    run: Annotated[str, RunWord],
    /,
    *,
    version: str | None = None,
    episodes: Annotated[int | None, AtLeastOne] = None,
    seed: int | None = None,
    deterministic: bool | None = None,
    save: Path | None = None,
    game: Path | None = None,
    runs_dir: RunsDir = None,
    project_dir: GameProjectDir = None,
    include: Include = None,
    json_output: Annotated[bool, Parameter(name="--json", negative=())] = False,
) -> int:
    """Play fixed-seed episodes of RUN's policy in a real browser, each to its end.

    Parameters
    ----------
    run
        A run id, or `latest`: the newest run that has a policy.
    version
        Version to evaluate: a number, `best`, `newest` or `first`; by default the newest.
    episodes
        Number of episodes; by default the run's `evaluation.episodes`.
    seed
        Seed of the evaluation; by default the run's `evaluation.seed`.
    deterministic
        Take the most probable actions, or sample them; by default the run's `evaluation.deterministic`.
    save
        Folder for every episode, as a file each that can be played again.
    game
        Adapter of a game in a page, or its folder; by default where it was during training.
    json_output
        Print one JSON object and nothing else on stdout.
    """
    from attract.commands.evaluate import EvaluateOptions, evaluate_run
    from attract.server.app_server import run_async

    order = EvaluateOptions(run, episodes, seed, deterministic, json_output, game, version, save)
    server = server_settings(port=0, runs_dir=runs_dir, project_dir=project_dir, include=include)
    return run_async(evaluate_run(order, server))


def replay(
    episode: Annotated[str, RunWord],
    /,
    *,
    worst: Annotated[bool, Parameter(negative="")] = False,
    best: Annotated[bool, Parameter(negative="")] = False,
    failed: Annotated[bool, Parameter(negative="")] = False,
    game: str | None = None,
    runs_dir: RunsDir = None,
    project_dir: GameProjectDir = None,
    include: Include = None,
    json_output: Annotated[bool, Parameter(name="--json", negative=())] = False,
) -> int:
    """Play a recorded EPISODE again in a headless browser and say where it differs, if it does.

    Exit code: 0 if it is the same, 1 if it is not, 2 if it could not be played.

    Parameters
    ----------
    episode
        A file, a folder of files, or RUN:EPISODE. With --worst, --best or --failed: a run id, or `latest`.
    worst
        The episode with the lowest return that the run keeps.
    best
        The episode with the highest return that the run keeps.
    failed
        The last episode in which the game failed.
    game
        Another build to play it in: a bundled name, a module or an adapter.
    json_output
        Print one JSON object and nothing else on stdout.
    """
    from attract.commands.replay import ReplayOptions, replay_episodes
    from attract.server.app_server import run_async

    server = server_settings(port=0, runs_dir=runs_dir, project_dir=project_dir, include=include)
    if game is not None:
        game, server = served_game(game, server)
    order = ReplayOptions(episode, _chosen(worst=worst, best=best, failed=failed), game, json_output)
    return run_async(replay_episodes(order, server))


def _chosen(**given: bool) -> "Chosen | None":
    """Which of the episodes that a run keeps. Raises: ConfigurationError: several."""
    from attract.errors import ConfigurationError

    names: list[Chosen] = [name for name in ("worst", "best", "failed") if given[name]]
    if len(names) > 1:
        raise ConfigurationError("one at a time", setting=" ".join(f"--{name}" for name in names))
    return names[0] if names else None


def export(
    run: Annotated[str | None, RunWord] = None,
    /,
    *,
    out: Path,
    export_format: Annotated[Literal["onnx", "js"], Parameter(name="--format")] = "onnx",
    page: Annotated[bool, Parameter(negative="")] = False,
    version: str | None = None,
    replay: str | None = None,
    worst: Annotated[bool, Parameter(negative="")] = False,
    best: Annotated[bool, Parameter(negative="")] = False,
    failed: Annotated[bool, Parameter(negative="")] = False,
    game: Path | None = None,
    runs_dir: RunsDir = None,
    project_dir: GameProjectDir = None,
    include: Include = None,
    json_output: Annotated[bool, Parameter(name="--json", negative=())] = False,
) -> int:
    """Write RUN's policy.onnx and policy.json into a folder, ready to ship inside the game.

    A run with several policies writes one <name>.onnx each. With --page --replay EPISODE: a page that plays a
    recorded episode.

    Parameters
    ----------
    run
        A run id, or `latest`: the newest run that has a policy.
    out
        Output folder; created if needed.
    export_format
        js: adds agent.js, which runs the policy in any page without ONNX Runtime.
    page
        Write a complete page with the game and the agent that plays it; you can take over. Any static server
        can serve it.
    version
        Version to export, for example a weaker opponent: a number, `best`, `newest` or `first`; by default
        the best.
    replay
        In place of RUN: a recorded episode, as `attract replay` takes it. With --page.
    worst
        With --replay RUN: the episode with the lowest return that the run keeps.
    best
        With --replay RUN: the episode with the highest return that the run keeps.
    failed
        With --replay RUN: the last episode in which the game failed.
    game
        With --page: adapter of a game in a page, or its folder; by default where it was during training.
        With --replay: another build to play it in, as of `attract replay`.
    json_output
        Print one JSON object and nothing else on stdout.
    """
    from attract.commands.export import export_run
    from attract.commands.exported_page import left_out_text
    from attract.commands.json_output import print_answer
    from attract.errors import ConfigurationError
    from attract.schema.answers import ExportAnswer
    from attract.server.app_server import run_async

    server = server_settings(port=0, runs_dir=runs_dir, project_dir=project_dir, include=include)
    chosen = _chosen(worst=worst, best=best, failed=failed)
    if replay is not None:
        if run is not None or version is not None or export_format != "onnx" or not page:
            raise ConfigurationError(
                "an episode is exported as a page, without a run's policy",
                setting="--replay",
                fix="attract export --page --replay EPISODE --out DIR",
            )
        return _export_episode(replay, chosen, out, server, game, json_output=json_output)
    if run is None or chosen is not None:
        raise ConfigurationError(
            "which run?" if run is None else f"--{chosen} is of a recorded episode",
            setting="RUN",
            fix="attract export RUN --out DIR, or --page --replay EPISODE for a recorded episode",
        )
    exported = run_async(
        export_run(run, out.absolute(), server, export_format, version, with_page=page, game_path=game)
    )
    if json_output:
        answer = ExportAnswer(
            run_id=exported.run_id,
            version=exported.version,
            episode=None,
            # Their document lies beside the policies.
            files=[*map(str, exported.written), str(exported.written[0].with_name("policy.json"))],
            page=exported.page if page else None,
            left_out=exported.left_out,
            notes=exported.notes,
        )
        print_answer(answer)
        return DONE
    shown = [out / model.relative_to(out.absolute()) for model in exported.written]
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
    for note in exported.notes:
        print(f"note: {note}")
    if page:
        _say_where(out, "" if exported.page == "index.html" else f"/{quote(exported.page)}")
    return 0


def _export_episode(
    replay: str,
    chosen: "Chosen | None",
    out: Path,
    server: "ServerSettings",
    game: Path | None,
    *,
    json_output: bool,
) -> int:
    from attract.commands.exported_episode import export_episode
    from attract.commands.exported_page import left_out_text
    from attract.commands.json_output import print_answer
    from attract.schema.answers import ExportAnswer
    from attract.server.app_server import run_async

    build = None
    if game is not None:
        build, server = served_game(str(game), server)
    exported = run_async(export_episode(replay, chosen, out.absolute(), server, build))
    if json_output:
        answer = ExportAnswer(
            run_id=None,
            version=None,
            episode=exported.name,
            files=list(map(str, exported.written)),
            page="index.html",
            left_out=exported.left_out,
            notes=exported.notes,
        )
        print_answer(answer)
        return DONE
    shown = [str(out / path.relative_to(out.absolute())) for path in exported.written]
    print(f"wrote {', '.join(shown)} ({exported.name})")
    if exported.left_out:
        print(left_out_text(exported.left_out))
    for note in exported.notes:
        print(f"note: {note}")
    _say_where(out, "")
    return 0


def _say_where(out: Path, address: str) -> None:
    folder = shlex.quote(str(out))
    print(
        f"See it:  python3 -m http.server --directory {folder} 8000\n         http://localhost:8000{address}"
    )


def rollback(
    run: Annotated[str, RunWord],
    /,
    *,
    to_version: int,
    runs_dir: RunsDir = None,
    json_output: Annotated[bool, Parameter(name="--json", negative=())] = False,
) -> int:
    """Reset RUN to an earlier version, for example from before a guest sent false experience.

    Later versions are set aside. The run must not be active. `attract train --resume` continues from there.

    Parameters
    ----------
    run
        A run id, or `latest`: the newest run that has a policy.
    to_version
        The last version to keep. If it no longer exists: the next older one, or else the oldest.
    json_output
        Print one JSON object and nothing else on stdout.
    """
    from attract.run.rollback import roll_back

    run, version = roll_back(server_settings(port=0, runs_dir=runs_dir).runs_dir, run, to_version)
    if json_output:
        from attract.commands.json_output import print_answer
        from attract.schema.answers import RollbackAnswer

        print_answer(RollbackAnswer(run_id=run, version=version))
        return DONE
    print(f"run {run} is at version {version}; continue with `attract train --resume --run-id {run}`")
    return 0


def report(
    run: Annotated[str, RunWord],
    /,
    *,
    out: Path | None = None,
    runs_dir: RunsDir = None,
    json_output: Annotated[bool, Parameter(name="--json", negative=())] = False,
) -> int:
    """Pack RUN's logs, settings and metrics into a zip for a bug report, without secrets.

    Parameters
    ----------
    run
        A run id, also of a run in the trash, or `latest`: the newest run, with or without a policy.
    out
        Output file; by default <run>-report.zip in the current folder.
    json_output
        Print one JSON object and nothing else on stdout.
    """
    from attract.commands.json_output import print_answer
    from attract.commands.report import pack_report, report_lines
    from attract.schema.answers import ReportAnswer

    written, parts = pack_report(run, server_settings(runs_dir=runs_dir).runs_dir, out, os.environ)
    if json_output:
        print_answer(ReportAnswer(file=str(written), parts=parts))
    else:
        print(f"wrote {written}", *report_lines(parts), sep="\n")
    return DONE
