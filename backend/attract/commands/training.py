"""The work of `attract train`: a gateway, a headless host, and the display, until the run ends."""

import asyncio
import contextlib
import dataclasses
import functools
import logging
import math
import os
import shlex
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, cast

from rich.console import Console

from attract.browser.chromium import require_chromium
from attract.browser.host import join_url
from attract.commands.check import checked_finding
from attract.commands.json_output import json_text, print_answer
from attract.commands.narrator import FIRST_LINE_SECONDS, Narrator
from attract.commands.output import CommandConsole, GuardedOutput, say, say_next
from attract.commands.own_host import running_host
from attract.commands.train import TrainOptions
from attract.commands.train_display import (
    Display,
    create_display,
    printable,
)
from attract.errors import ConfigurationError
from attract.processes.exit_codes import DONE, FAILED, GOAL_MISSED, USAGE
from attract.processes.interrupt import Interrupts
from attract.run.progress import RunResult
from attract.run.service import RunService
from attract.run.start_checks import trained_steps
from attract.runs.archive import RunArchive
from attract.runs.directory import LATEST, RunDirectory, discard_unused, find_run, trained_run_ids
from attract.runs.exports import export_models
from attract.schema.answers import TrainAnswer, TrainLine
from attract.schema.api import EvaluationView, MetricsRow, RunView
from attract.schema.base import WireModel
from attract.server.in_process import Gateway, running_gateway
from attract.settings.collection import policy_ids
from attract.settings.given import LayeredSettings
from attract.settings.run import RunSettings, ServerSettings

REFRESH_SECONDS = 0.25
FINAL_CODES = (DONE, GOAL_MISSED)
"""After any other end the run may be resumed: hosts elsewhere wait for that."""
NEXT_COMMANDS = (
    ("attract eval latest", "how good it is"),
    ("attract export latest --out policy --format js", "the agent, for a page"),
    ("attract serve", "the dashboard, at any time"),
)
MATCH = ("attract match latest latest:first random", "how good it is")
"""In place of an evaluation, in which a policy plays against itself."""
NEXT_WIDTH = max(len(command) for command, _why in NEXT_COMMANDS)
log = logging.getLogger(__name__)


def goes_on(runs_dir: Path, run_id: str | None) -> bool:
    """Whether the run is resumed; else it is started: there is none, or none that has a policy.

    Raises: ConfigurationError: when no run is named.
    """
    if run_id is None:
        raise ConfigurationError("which run?", setting="--resume=auto", fix="name it with --run-id")
    if run_id == LATEST:
        return bool(trained_run_ids(runs_dir))
    # A run that was killed before it had a policy cannot be resumed; its remains block the new one.
    discard_unused(runs_dir, run_id, keep_logs=True)
    return (runs_dir / run_id).is_dir()


def game_of(runs_dir: Path, run_id: str | None) -> str:
    """The game that a run was started with: a bundled name or a path.

    Raises: ConfigurationError: when no run is named, or there is no such run.
    """
    if run_id is None:
        raise ConfigurationError("which run?", setting="--resume", fix="name it with --run-id")
    run_id = find_run(runs_dir, run_id)
    return str(RunDirectory.view(runs_dir, run_id).read_config()["game"])


def finished_code(runs_dir: Path, run_id: str, settings: Mapping[str, Any]) -> int | None:
    """The exit code of a run that has reached its end already; None where there is more to do.

    A container that is started again after its work was done has nothing to do.

    Args:
        runs_dir: where it is.
        run_id: of the run, or `latest`.
        settings: nested; with more `total_steps` or another `until_return` the run continues.

    Raises: ConfigurationError: when there is no such run.
    """
    run_id = find_run(runs_dir, run_id)
    archive = RunArchive(runs_dir)
    directory = RunDirectory.view(runs_dir, run_id)
    if directory.marked("latest") is None:
        return None
    view = archive.view(run_id)
    total, goal = settings.get("total_steps"), settings.get("until_return")
    if view.state == "finished" and goal is not None and view.goal == float(goal):
        confirmed = view.evaluation
        if confirmed is not None and confirmed.return_mean >= float(goal):
            return DONE
    share = settings.get("until_win_rate")
    if view.goal_reached and share is not None and view.settings.get("until_win_rate") == float(share):
        return DONE
    if total is not None and trained_steps(directory) >= int(total):
        return DONE if goal is None and share is None else GOAL_MISSED
    return None


async def train_game(
    game: str, settings: LayeredSettings, options: TrainOptions, server: ServerSettings
) -> int:
    """Train until the goal, the step count, a failure or a signal; the exit code.

    The first signal finishes the update, saves and exports; the second ends at once. A closed
    output counts as a signal. Without `exit_at_end` the dashboard is served after an end that
    no signal brought about, until a signal, which does not change the code.
    """
    if options.headless:
        require_chromium()
    # With --json only the final object may go to stdout.
    spoken = sys.stderr if options.json_output else sys.stdout
    output = GuardedOutput(spoken)
    console = CommandConsole(file=cast("IO[str]", output))
    started: RunView | None = None
    result: RunResult | None = None
    stopped_by: int | None = None
    stayed = False
    try:
        async with running_gateway(server, port_is_fixed="port" in server.model_fields_set) as gateway:
            started = await gateway.service.start_run(
                game,
                settings,
                run_id=options.run_id,
                resume=options.resume,
                force=options.force,
                initialize_from=options.initialize_from,
                check=options.check,
            )
            with create_display(console, gateway.url) as display:
                for line in gateway.addresses():
                    display.say(line)
                host = contextlib.nullcontext()
                if options.headless:
                    workers = settings.run.collection.num_workers
                    url = join_url(gateway.url, gateway.guard.issue("worker"), workers)
                    host = running_host(url, functools.partial(_host_event, display, gateway.service))
                async with host:
                    result, stopped_by = await _watch(
                        gateway, started.run_id, display, output, settings.run, options
                    )
            if result is not None:
                stayed = not options.exit_at_end and stopped_by is None and result.export is not None
                if stayed:
                    _print_result(console, result, started, server.runs_dir)
                    await _serve_on(gateway, console)
                if exit_code(result, goal_of(started), stopped_by) in FINAL_CODES:
                    await gateway.say_goodbye()
    finally:
        if started is not None and not options.resume:
            result = _clear_away(server.runs_dir, started.run_id, result)
    if started is None or result is None:
        # The second signal cut it off.
        return FAILED if stopped_by is None else stopped_by
    if not stayed:
        _print_result(console, result, started, server.runs_dir)
    if options.json_output:
        print_answer(train_answer(result, goal_of(started)))
    return exit_code(result, goal_of(started), stopped_by)


def goal_of(run: RunView) -> float | None:
    """The mean return or the win rate at which a run ends, if any."""
    return run.settings.get("until_win_rate") if run.goal is None else run.goal


def exit_code(result: RunResult, goal: float | None, stopped_by: int | None = None) -> int:
    """The exit code of a run that has ended (docs/commands.md).

    Args:
        result: of the run.
        goal: as `goal_of` has it.
        stopped_by: the code of what asked for the end, if something did.
    """
    if result.state == "failed":
        return USAGE if result.refused else FAILED
    if result.state == "finished":
        return GOAL_MISSED if goal is not None and not result.goal_reached else DONE
    # Stopped: on the dashboard, which is as good an end as any, or by a signal before the work was done.
    return DONE if stopped_by is None else stopped_by


async def _watch(
    gateway: Gateway,
    run_id: str,
    display: Display,
    output: GuardedOutput,
    settings: RunSettings,
    options: TrainOptions,
) -> tuple[RunResult | None, int | None]:
    """Show the run until it ends; its result, None when it was cut off, and the code of what ended it."""
    service = gateway.service
    lines = GuardedOutput(sys.stdout)
    narrator = Narrator(
        display,
        settings,
        gateway.join_link,
        has_own=options.headless,
        due=time.monotonic() + FIRST_LINE_SECONDS,
        verbose=options.verbose,
    )

    def on_event(kind: str, body: WireModel) -> None:
        if not isinstance(body, MetricsRow):
            narrator.heard(body)
            return
        run = service.view(run_id)
        display.updated(run, body.values)
        if options.json_lines:
            lines.write(json_text(train_line(body, run)) + "\n")
            lines.flush()

    unsubscribe = service.subscribe(on_event)
    finished = asyncio.ensure_future(service.wait_finished())
    stopping: list[asyncio.Future[Any]] = []

    def on_interrupt() -> None:
        display.say("finishing the update, saving and exporting; Ctrl-C again exits at once")
        stopping.append(asyncio.ensure_future(service.stop(run_id)))

    try:
        with Interrupts(on_interrupt).listening() as interrupts:
            for stream in (output, lines):
                stream.when_gone(lambda: interrupts.count(signal.SIGPIPE))
            second = asyncio.ensure_future(interrupts.second.wait())
            while not finished.done() and not second.done():
                await asyncio.wait(
                    (finished, second), timeout=REFRESH_SECONDS, return_when=asyncio.FIRST_COMPLETED
                )
                if not finished.done():
                    fleet = service.fleet(run_id)
                    narrator.looked(
                        service.view(run_id),
                        time.monotonic(),
                        last_left_seconds=fleet.last_left_seconds,
                        has_workers=any(host.workers for host in fleet.hosts),
                    )
            second.cancel()
            if not finished.done():
                display.say("stopped at once; the newest checkpoint is kept")
                await service.abort()
                return None, interrupts.exit_code
            await asyncio.gather(*stopping, return_exceptions=True)
            return finished.result(), interrupts.exit_code
    finally:
        unsubscribe()


async def _serve_on(gateway: Gateway, console: Console) -> None:
    """Serve the dashboard of a run that is over, as `attract serve` does, until a signal."""
    with Interrupts().listening() as interrupts:
        for line in ("", "done; the dashboard stays open until Ctrl-C", *gateway.addresses()[:1]):
            say(console, line)
        await interrupts.first.wait()
        if gateway.service.active is not None:
            say(console, "stopping: the active run is saved and exported")


def _host_event(display: Display, service: RunService, event: Mapping[str, Any]) -> None:
    kind = event.get("event")
    said = " ".join(str(value) for name, value in event.items() if name != "event")
    log.info("the headless browser: %s %s", kind, printable(said))
    if kind == "page_error" or (kind == "console" and event.get("level") == "error"):
        display.say(f"browser: {event.get('text', kind)}")
    elif kind == "restart":
        service.host_restarts += 1
        display.say("browser: reopening the page")


def _clear_away(runs_dir: Path, run_id: str, result: RunResult | None) -> RunResult | None:
    """Remove a run that never had a policy; the result, with the new path of its logs.

    What its processes said is moved to the trash, unless the run was refused, which says all there is to say.
    """
    refused = result is not None and result.refused
    kept = discard_unused(runs_dir, run_id, keep_logs=not refused)
    if kept is None or result is None:
        return result
    error = (result.error or "").replace(str(runs_dir / run_id), str(kept))
    return dataclasses.replace(result, error=error or f"it ended before it had a policy; see {kept / 'logs'}")


def _print_result(console: Console, result: RunResult, started: RunView, runs_dir: Path) -> None:
    goal = started.goal
    mean = result.episode_return_mean
    outcome = "no episode ended" if mean is None else f"mean return {mean:.4g}"
    # Without any step the error is the whole result.
    if result.error is None or (result.updates > 0 and not result.refused):
        say(
            console,
            f"{result.state}: {result.agent_steps} steps in {result.updates} updates, "
            f"{result.wall_seconds:.1f} s, {result.steps_per_second:.0f} steps/s, {outcome}",
        )
    if result.verdict.text is not None:
        say(console, result.verdict.text)
    # A goal is confirmed by an evaluation, which is the verdict then.
    if result.verdict.is_open and not result.goal_reached and result.export is not None:
        decides = f"attract eval {result.run_id}{_runs_dir_option(runs_dir)}"
        say(console, f"training episodes lag behind the final policy; an evaluation decides: {decides}")
    if result.error is not None:
        say(console, f"error: {result.error}")
    if goal is not None and not result.refused:
        reached = (
            "reached, confirmed by an evaluation in the browser" if result.goal_reached else "not reached"
        )
        say(console, f"goal of {goal:g} {reached}")
    if result.win_rate is not None:
        say(console, f"won {result.win_rate:.0%} against opponents, over up to 100 whole episodes")
    share = started.settings.get("until_win_rate")
    if share is not None and not result.refused:
        say(console, f"win rate of {share:g} {'reached' if result.goal_reached else 'not reached'}")
    if result.evaluation is not None:
        say(console, _evaluated(result.evaluation))
    names = ", ".join(finding.finding_id for finding in result.findings if not finding.withdrawn)
    if names:
        what = "what else was found" if result.verdict.learned else "possible reasons why it did not learn"
        say(console, f"{what} (see above): {names}")
    if result.export is not None:
        for model in export_models(Path(result.export), policy_ids(started.settings["collection"]["seats"])):
            say(console, f"policy: {model}")
        _print_next(console, runs_dir, has_opponents=result.win_rate is not None)


def _evaluated(view: EvaluationView) -> str:
    error = view.return_std / math.sqrt(max(view.episodes, 1))
    return (
        f"evaluated: v{view.policy_version}, return {view.return_mean:.4g} +- {error:.2g} (standard error) "
        f"over {view.episodes} episodes"
    )


def _print_next(console: Console, runs_dir: Path, *, has_opponents: bool = False) -> None:
    """The three next commands, each ready to be copied."""
    where = _runs_dir_option(runs_dir)
    say(console, "next:")
    for command, why in (MATCH, *NEXT_COMMANDS[1:]) if has_opponents else NEXT_COMMANDS:
        say(console, f"  {command + where:<{NEXT_WIDTH + len(where)}}  # {why}")
    say_next(console, (MATCH if has_opponents else NEXT_COMMANDS[0])[0] + where)


def _runs_dir_option(runs_dir: Path) -> str:
    """The option that names `runs_dir` in a command; empty where it is the usual one."""
    usual = ServerSettings.from_environment(os.environ).runs_dir
    return "" if runs_dir.resolve() == usual.resolve() else f" --runs-dir {shlex.quote(str(runs_dir))}"


def train_line(row: MetricsRow, run: RunView) -> TrainLine:
    """A line of `--json-lines`."""
    return TrainLine(
        update=row.update,
        agent_steps=row.agent_steps,
        wall_seconds=row.seconds,
        episode_return_mean=run.episode_return_mean,
    )


def train_answer(result: RunResult, goal: float | None) -> TrainAnswer:
    """The answer of `--json`."""
    return TrainAnswer(
        run_id=result.run_id,
        agent_steps=result.agent_steps,
        updates=result.updates,
        policy_version=result.policy_version,
        wall_seconds=result.wall_seconds,
        steps_per_second=result.steps_per_second,
        episode_return_mean=result.episode_return_mean,
        goal_reached=None if goal is None else result.goal_reached,
        win_rate=result.win_rate,
        export=result.export,
        state=result.state,
        error=result.error,
        waited_seconds=result.waited_seconds,
        findings=result.findings,
        check=None if result.check is None else [checked_finding(finding) for finding in result.check],
        **result.verdict.numbers(),
    )
