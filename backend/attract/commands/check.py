"""`attract check`: plays a game in a headless browser and reports what keeps agents from learning it."""

import asyncio
import re
import shlex
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from attract.browser.chromium import require_chromium
from attract.commands import flags
from attract.commands.destination import check_writable, shown_path, write_output, writing
from attract.commands.json_output import print_answer
from attract.commands.output import CommandConsole, say, say_next
from attract.commands.own_host import gateway_with_host
from attract.commands.train_display import check_text
from attract.errors import GameError
from attract.processes.exit_codes import DONE, FAILED
from attract.runs.episodes import SUFFIX, written
from attract.schema.answers import CheckAnswer, CheckedFinding
from attract.schema.api import CheckFinding, CheckView
from attract.schema.game import GameDescription
from attract.schema.recorded_episode import RecordedEpisode
from attract.server.app_server import run_async
from attract.settings.run import ServerSettings

BUDGET_SECONDS = 6.0
"""Most games need a tenth of that; a slow one is played as far as it gets."""
HOST_SECONDS = 30.0
BUNDLER_PLACE = re.compile(r"^ +(\S.*):(\d+):(\d+):$", re.MULTILINE)
"""Where the bundler's picture of an error begins; its columns count from 0."""


@flags.options
class CheckOptions:
    save: Path | None = None
    """Folder for the first random episode and those in which the game failed; `attract replay` plays
    them again."""
    project_dir: flags.ProjectDir = None
    page_device: flags.PageDevice = None
    include: flags.Include = None
    json_output: flags.Json = False


def check(game: flags.Game, /, options: CheckOptions = CheckOptions()) -> int:
    """Play GAME at random in a headless browser and report problems that keep agents from learning it.

    Exit code: 0 without errors, 1 with errors, 2 for wrong usage.

    Parameters
    ----------
    game
        Bundled name, path to a game module, or a page that has an adapter.

    Examples
    --------
    attract check src/game.ts  # your own game
    attract check snake --json  # a bundled game, for scripts
    attract check src/game.ts --save checked  # keep the episodes in which it failed
    """
    game, server = flags.served_game(game, flags.server_settings(options))
    return run_async(check_game(game, options, server))


async def check_game(game: str, options: CheckOptions, server: ServerSettings) -> int:
    """Check the game and print what was found; 0, or 1 when something of it is an error.

    Raises:
        ConfigurationError: there is no such game, or the folder cannot be written.
        AttractError: the browser could not be had.
    """
    if options.save is not None:
        check_writable(options.save)
    require_chromium()
    console = CommandConsole(stderr=options.json_output)

    # A check leaves nothing behind, not even who asked for it.
    with tempfile.TemporaryDirectory() as folder:
        server = server.model_copy(update={"runs_dir": Path(folder)})
        async with gateway_with_host(server, console) as gateway:
            try:
                view = await gateway.service.check_game(
                    game, budget_seconds=BUDGET_SECONDS, wait_seconds=HOST_SECONDS, record=True
                )
            except GameError as error:
                view = _not_loaded(game, error)
    view = judged_play(view)
    saved = Saved() if options.save is None else await asyncio.to_thread(save_checked, options.save, view)
    for line in check_lines(view, saved):
        say(console, line)
    if options.json_output:
        print_answer(check_answer(view, saved))
    is_wrong = any(finding.severity == "error" for finding in view.findings)
    say_next(console, f"attract {'check' if is_wrong else 'train'} {shlex.quote(shown_path(Path(game)))}")
    return FAILED if is_wrong else DONE


@dataclass(frozen=True)
class Saved:
    """Files of the episodes of a check."""

    first: Path | None = None
    failed: Mapping[int, Path] = field(default_factory=dict[int, Path])
    """By the index of the finding."""


def save_checked(folder: Path, view: CheckView) -> Saved:
    """Write each episode into a file of its own; other files stay.

    Their names are `GAME-check-first.episode.json` and `GAME-check-FINDING-NUMBER.episode.json`.

    Raises: ConfigurationError: the folder cannot be written.
    """

    def save(episode: RecordedEpisode, name: str) -> Path:
        game_id = re.sub(r"[^A-Za-z0-9._-]+", "-", episode.game_id)
        return write_output(folder / f"{game_id}-check-{name}{SUFFIX}", written(episode))

    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    first = None if view.first_episode is None else save(view.first_episode, "first")
    failed = [
        (i, found, found.recorded) for i, found in enumerate(view.findings) if found.recorded is not None
    ]
    return Saved(
        first, {i: save(episode, f"{found.id}-{n}") for n, (i, found, episode) in enumerate(failed, 1)}
    )


def judged_play(view: CheckView) -> CheckView:
    """The view with a finding where too little was played for the others to mean anything."""
    play = view.play
    known = {finding.id if finding.severity == "warning" else "error" for finding in view.findings}
    if "error" in known or (play is not None and play.episodes > 0):
        return view
    severity: Literal["error", "warning"] = "error"
    if play is None or play.steps == 0:
        name, text = (
            "not-played",
            f"not one step was played in {view.seconds:.0f} s: nothing else was checked",
        )
        fix = "make the start and a step faster; `attract look` shows how long the page takes"
    elif "endless" in known:
        return view
    else:
        name, severity = "no-episode", "warning"
        text = f"no episode ended in {play.steps:,} steps: ends, restarts and returns were not checked"
        fix = "end episodes earlier while it is checked, or make steps faster"
    found = CheckFinding(
        id=name, severity=severity, text=text, fix=fix, file=None, line=None, column=None, stack=None
    )
    both = [found, *view.findings] if severity == "error" else [*view.findings, found]
    return view.model_copy(update={"findings": both})


def check_lines(view: CheckView, saved: Saved | None = None) -> list[str]:
    """The printed lines: the game, its findings, and their number."""
    saved = saved or Saved()
    lines = [] if view.description is None else [_described(view.description)]
    if view.play is not None:
        play = view.play
        mean = "no episode ended" if play.return_mean is None else f"mean return {play.return_mean:.4g}"
        length = "" if play.length_mean is None else f", mean length {play.length_mean:.4g} steps"
        lines.append(
            f"random play: {play.steps:,} steps, {play.episodes:,} episodes, {mean}{length}, "
            f"{play.microseconds_per_tick:.2g} microseconds a tick"
        )
    if saved.first is not None:
        lines.append(f"its first episode: {_replay_command(view, saved.first)}")
    for index, finding in enumerate(view.findings):
        lines += ["", check_text(finding)]
        if index in saved.failed:
            lines.append(f"  play it again: {_replay_command(view, saved.failed[index])}")
        elif finding.recorded is not None:
            lines.append("  `attract check GAME --save DIR` keeps the episode in which it failed")
    errors = sum(finding.severity == "error" for finding in view.findings)
    warnings = len(view.findings) - errors
    found = (
        "nothing found" if not view.findings else f"{_count(errors, 'error')}, {_count(warnings, 'warning')}"
    )
    return [*lines, "", f"{found} in {view.seconds:.1f} s"]


def check_answer(view: CheckView, saved: Saved | None = None) -> CheckAnswer:
    """The answer of `--json`; `episode` and `first_episode` are the files that were saved."""
    saved = saved or Saved()
    return CheckAnswer(
        game=view.game,
        ok=all(finding.severity != "error" for finding in view.findings),
        findings=[
            checked_finding(finding, saved.failed.get(index)) for index, finding in enumerate(view.findings)
        ],
        first_episode=_text(saved.first),
        play=view.play,
        unplayable=view.unplayable,
    )


def checked_finding(finding: CheckFinding, episode: Path | None = None) -> CheckedFinding:
    """The finding without its recorded episode; `episode`: the file that has it."""
    return CheckedFinding(**finding.model_dump(exclude={"recorded"}), episode=_text(episode))


def _replay_command(view: CheckView, file: Path) -> str:
    """What plays it again; the build of a game of one's own is named, for no run keeps it."""
    # A bundled game has a name and no path.
    shown = shlex.quote(shown_path(file))
    if not Path(view.game).suffix:
        return f"attract replay {shown}"
    return f"attract replay {shown} --game {shlex.quote(shown_path(Path(view.game)))}"


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)


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
