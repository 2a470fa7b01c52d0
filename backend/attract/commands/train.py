"""`attract train`: a gateway, a headless host, and the display, until the run ends."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from attract.browser.chromium import require_chromium
from attract.browser.host import join_url
from attract.browser.process import HostProcess
from attract.commands.gateway import Gateway, running_gateway
from attract.commands.interrupt import Interrupts
from attract.runs.exports import export_models
from attract.schema.api import Finding, GameReport, LessonView, LogLine, MetricsRow, RunView
from attract.schema.base import WireModel
from attract.server.plan_text import plan_lines
from attract.server.run_plan import policy_ids
from attract.server.run_progress import RunResult
from attract.settings import RunSettings, ServerSettings
from attract.terminal import Display, create_display, finding_text, lesson_text, log_text

REFRESH_SECONDS = 0.25
EXIT_DONE, EXIT_FAILED, EXIT_GOAL_MISSED = 0, 1, 3


@dataclass(frozen=True)
class TrainOrder:
    """What the command line was asked for."""

    game: str
    settings: Mapping[str, Any]
    """Nested run settings that were given; the rest are defaults."""
    run_id: str | None = None
    resume: bool = False
    force: bool = False
    initialize_from: str | None = None
    headless: bool = True
    check: bool = True
    """Have the game checked while the learner starts."""
    json_output: bool = False


async def train_game(order: TrainOrder, server: ServerSettings, *, port_is_fixed: bool) -> int:
    """Train until the goal, the step count, a failure or Ctrl-C; the exit code.

    The first Ctrl-C finishes the update, saves, exports and gives 0; the second ends at once.
    """
    if order.headless:
        require_chromium()
    # With --json only the final object may go to stdout.
    console = Console(stderr=order.json_output)
    async with running_gateway(server, port_is_fixed=port_is_fixed) as gateway:
        started = await gateway.service.start_run(
            order.game,
            order.settings,
            run_id=order.run_id,
            resume=order.resume,
            force=order.force,
            initialize_from=order.initialize_from,
            check=order.check,
        )
        host: HostProcess | None = None
        with create_display(console, gateway.url) as display:
            display.say(f"dashboard: {gateway.dashboard_url}")
            try:
                if order.headless:
                    workers = int(started.settings["collection"]["num_workers"])
                    url = join_url(gateway.url, gateway.guard.issue("worker"), workers)
                    host = await HostProcess.start(url, lambda event: _host_event(display, event))
                result = await _watch(gateway, started.run_id, display)
            finally:
                if host is not None:
                    await host.stop()
    if result is None:
        return EXIT_FAILED
    models = [] if result.export is None else export_models(Path(result.export), _policy_ids(started))
    _tell_result(console, result, started.goal, models)
    if order.json_output:
        print(json.dumps(_json_object(result)), flush=True)
    return exit_code(result, started.goal)


def exit_code(result: RunResult, goal: float | None) -> int:
    """0 done or stopped on request, 1 failed, 3 the return asked for was not reached."""
    if result.state == "failed":
        return EXIT_FAILED
    if result.state == "finished" and not result.goal_reached and goal is not None:
        return EXIT_GOAL_MISSED
    return EXIT_DONE


async def _watch(gateway: Gateway, run_id: str, display: Display) -> RunResult | None:
    """Show the run until it ends; None when a second Ctrl-C cut it off."""
    service = gateway.service
    standing, plan = _Standing(display), _Plan(display)

    def on_event(kind: str, body: WireModel) -> None:
        if isinstance(body, MetricsRow):
            display.updated(service.view(run_id), body.values)
        elif isinstance(body, LessonView):
            display.say(lesson_text(body))
        elif isinstance(body, Finding):
            display.say(finding_text(body))
        elif isinstance(body, GameReport) and body.count & (body.count - 1) == 0:
            # A game that fails in every episode is told of at 1, 2, 4, 8, ... failures.
            display.reported(body)
        elif isinstance(body, LogLine):
            display.say(log_text(body))
        elif isinstance(body, RunView):
            standing.tell(body)

    unsubscribe = service.subscribe(on_event)
    finished = asyncio.ensure_future(service.wait_finished())
    stopping: list[asyncio.Future[Any]] = []

    def on_interrupt() -> None:
        display.say("finishing the update, saving and exporting; Ctrl-C again ends at once")
        stopping.append(asyncio.ensure_future(service.stop(run_id)))

    try:
        with Interrupts(on_interrupt).listening() as interrupts:
            second = asyncio.ensure_future(interrupts.second.wait())
            while not finished.done() and not second.done():
                await asyncio.wait(
                    (finished, second), timeout=REFRESH_SECONDS, return_when=asyncio.FIRST_COMPLETED
                )
                if not finished.done():
                    run = service.view(run_id)
                    plan.tell(run)
                    display.refreshed(run)
            second.cancel()
            if not finished.done():
                display.say("ended at once; the newest checkpoint is kept")
                await service.abort()
                return None
            await asyncio.gather(*stopping, return_exceptions=True)
            return finished.result()
    finally:
        unsubscribe()


class _Plan:
    """Says once what follows from the settings, as soon as the first worker has told what the game is."""

    def __init__(self, display: Display) -> None:
        self._display = display
        self._is_told = False

    def tell(self, run: RunView) -> None:
        """The run as it stands now."""
        if self._is_told or run.description is None or run.game_reference is None:
            return
        self._is_told = True
        for line in plan_lines(RunSettings.from_mapping(run.settings), run.description, run.game_reference):
            self._display.say(line)


class _Standing:
    """Says when a run is paused and why, and when it goes on."""

    def __init__(self, display: Display) -> None:
        self._display = display
        self._told: str | None = None

    def tell(self, run: RunView) -> None:
        """The run as it stands now; what was said last is not said again."""
        if run.state == "paused":
            now = run.error or "paused: it goes on when it is resumed on the dashboard"
        elif run.state in ("running", "evaluating") and self._told is not None:
            now = None
        else:
            return
        if now != self._told:
            self._display.say(now or "going on")
        self._told = now


def _host_event(display: Display, event: Mapping[str, Any]) -> None:
    kind = event.get("event")
    if kind in ("page_error", "failed") or (kind == "console" and event.get("level") == "error"):
        display.say(f"browser: {event.get('text', kind)}")
    elif kind == "restart":
        display.say("browser: the page is opened again")


def _policy_ids(run: RunView) -> tuple[str, ...]:
    return policy_ids(run.settings["collection"]["seats"])


def _tell_result(console: Console, result: RunResult, goal: float | None, models: list[Path]) -> None:
    def say(text: str) -> None:
        console.print(text, markup=False, highlight=False, soft_wrap=True)

    mean = "none" if result.episode_return_mean is None else f"{result.episode_return_mean:.1f}"
    say(
        f"{result.state}: {result.agent_steps} steps in {result.updates} updates, "
        f"{result.wall_seconds:.1f} s, {result.steps_per_second:.0f} steps/s, mean return {mean}"
    )
    if result.error is not None:
        say(f"error: {result.error}")
    if goal is not None:
        reached = (
            "reached, confirmed by an evaluation in the browser" if result.goal_reached else "not reached"
        )
        say(f"goal of {goal:g} {reached}")
    if result.findings:
        names = ", ".join(finding.finding_id for finding in result.findings)
        say(f"what may have kept it from learning, said above: {names}; see docs/not-learning.md")
    for model in models:
        say(f"policy: {model}")
    if models:
        say(f"watch it: attract serve, then choose {result.run_id}")


def _json_object(result: RunResult) -> dict[str, Any]:
    return {
        "run_id": result.run_id,
        "agent_steps": result.agent_steps,
        "updates": result.updates,
        "policy_version": result.policy_version,
        "wall_seconds": result.wall_seconds,
        "steps_per_second": result.steps_per_second,
        "episode_return_mean": result.episode_return_mean,
        "goal_reached": result.goal_reached,
        "export": result.export,
        "findings": [finding.model_dump(mode="json") for finding in result.findings],
    }
