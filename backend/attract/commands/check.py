"""`attract check`: plays a game in a headless browser and reports what keeps agents from learning it."""

import json
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from attract.browser.chromium import require_chromium
from attract.browser.host import join_url
from attract.browser.process import HostProcess
from attract.commands.output import CommandConsole
from attract.commands.train_display import check_text
from attract.errors import GameError
from attract.processes.exit_codes import DONE, FAILED
from attract.schema.api import CheckFinding, CheckView
from attract.schema.game import GameDescription
from attract.server.in_process import running_gateway
from attract.settings.run import ServerSettings

BUDGET_SECONDS = 6.0
"""Most games need a tenth of that; a slow one is played as far as it gets."""
HOST_SECONDS = 30.0
BUNDLER_PLACE = re.compile(r"^ +(\S.*):(\d+):(\d+):$", re.MULTILINE)
"""Where the bundler's picture of an error begins; its columns count from 0."""


@dataclass(frozen=True)
class CheckOptions:
    """Options of the command line."""

    game: str
    json_output: bool = False


async def check_game(order: CheckOptions, server: ServerSettings) -> int:
    """Check the game and print what was found; 0, or 1 when something of it is an error.

    Raises: ConfigurationError: there is no such game. AttractError: the browser could not be had.
    """
    require_chromium()
    console = CommandConsole(stderr=order.json_output)

    def on_event(event: dict[str, Any]) -> None:
        if event.get("event") in ("page_error", "failed"):
            _say(console, f"browser: {event.get('text')}")

    # A check leaves nothing behind, not even who asked for it.
    with tempfile.TemporaryDirectory() as folder:
        server = server.model_copy(update={"runs_dir": Path(folder)})
        async with running_gateway(server, port_is_fixed=False) as gateway:
            url = join_url(gateway.url, gateway.guard.issue("worker"), 1)
            host = await HostProcess.start(url, on_event)
            try:
                view = await gateway.service.check_game(
                    order.game, budget_seconds=BUDGET_SECONDS, wait_seconds=HOST_SECONDS
                )
            except GameError as error:
                view = _not_loaded(order.game, error)
            finally:
                await host.stop()
    for line in check_lines(view):
        _say(console, line)
    if order.json_output:
        print(json.dumps(json_object(view)), flush=True)
    return FAILED if any(finding.severity == "error" for finding in view.findings) else DONE


def check_lines(view: CheckView) -> list[str]:
    """The printed lines: the game, its findings, and their number."""
    lines = [] if view.description is None else [_described(view.description)]
    if view.play is not None:
        play = view.play
        mean = "no episode ended" if play.return_mean is None else f"mean return {play.return_mean:.4g}"
        length = "" if play.length_mean is None else f", mean length {play.length_mean:.4g} steps"
        lines.append(
            f"random play: {play.steps:,} steps, {play.episodes:,} episodes, {mean}{length}, "
            f"{play.microseconds_per_tick:.2g} microseconds a tick"
        )
    for finding in view.findings:
        lines += ["", check_text(finding)]
    errors = sum(finding.severity == "error" for finding in view.findings)
    warnings = len(view.findings) - errors
    found = (
        "nothing found" if not view.findings else f"{_count(errors, 'error')}, {_count(warnings, 'warning')}"
    )
    return [*lines, "", f"{found} in {view.seconds:.1f} s"]


def json_object(view: CheckView) -> dict[str, Any]:
    """The one object of `--json`."""
    return {
        "game": view.game,
        "ok": all(finding.severity != "error" for finding in view.findings),
        "findings": [finding.model_dump(mode="json") for finding in view.findings],
        "play": None if view.play is None else view.play.model_dump(mode="json"),
        "unplayable": view.unplayable,
    }


def _described(game: GameDescription) -> str:
    agents = "" if game.num_agents == 1 else f", {game.num_agents} agents"
    limit = "no time limit" if game.max_steps is None else f"at most {game.max_steps:,} steps"
    ticks = "1 tick" if game.ticks_per_step == 1 else f"{game.ticks_per_step} ticks"
    return (
        f"{game.id}: observes {game.observation.kind}, acts by {game.action.kind}{agents}; "
        f"{ticks} of {game.tick_seconds:g} s a step, {limit}"
    )


def _not_loaded(game: str, error: GameError) -> CheckView:
    place = BUNDLER_PLACE.search(error.text)
    finding = CheckFinding(
        id="load",
        severity="error",
        text=error.text,
        fix="fix the module",
        file=place[1] if place else None,
        line=int(place[2]) if place else None,
        column=int(place[3]) + 1 if place else None,
        stack=None,
    )
    return CheckView(game=game, findings=[finding], description=None, play=None, unplayable=True, seconds=0.0)


def _count(number: int, noun: str) -> str:
    return f"1 {noun}" if number == 1 else f"{number} {noun}s"


def _say(console: Console, text: str) -> None:
    console.print(text, markup=False, highlight=False, soft_wrap=True)
