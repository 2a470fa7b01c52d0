"""Commands for authors of games: `new`, `check`, `ci`, `difficulty`, `look`, `probe`, `skill`."""

import os
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter
from cyclopts.validators import Number

from attract.cli.completion import GameWord, RunWord
from attract.cli.configuration import served_game, server_settings
from attract.cli.flags import GameProjectDir, Include, PageDevice, RunsDir


def new(
    folder: Path,
    /,
    *,
    template: Literal["pure", "physics", "page"] = "pure",
    json_output: Annotated[bool, Parameter(name="--json", negative=())] = False,
) -> int:
    """Write a new game into FOLDER: the game, a page that plays it, and types for both.

    Parameters
    ----------
    folder
        A new folder; the game's package has its name.
    template
        pure: cells and a few actions. physics: forces, speeds and continuous actions. page: a game that
        lives in its page, and the adapter that trains it there.
    json_output
        Print one JSON object and nothing else on stdout.
    """
    from attract.commands.new import create_project, next_steps

    written = create_project(Path(os.path.normpath(folder.absolute())), template)
    if json_output:
        from attract.commands.json_output import print_answer
        from attract.schema.answers import NewAnswer

        steps = next_steps(folder, template).splitlines()
        print_answer(NewAnswer(folder=str(folder.resolve()), files=list(map(str, written)), next=steps))
        return 0
    for path in written:
        print(f"wrote {folder / path}")
    print(f"\nNext:\n\n{next_steps(folder, template)}", end="")
    return 0


def skill() -> int:
    """Print a SKILL.md: how a coding agent brings a game in a page to a trained agent."""
    from attract.commands.skill import skill_text

    print(skill_text(), end="")
    return 0


def check(
    game: Annotated[str, GameWord],
    /,
    *,
    save: Path | None = None,
    project_dir: GameProjectDir = None,
    device: PageDevice = None,
    include: Include = None,
    json_output: Annotated[bool, Parameter(name="--json", negative=())] = False,
) -> int:
    """Play GAME at random in a headless browser and report problems that keep agents from learning it.

    Exit code: 0 without errors, 1 with errors, 2 for wrong usage.

    Parameters
    ----------
    game
        Bundled name or path to a game module.
    save
        Folder for the first random episode and those in which the game failed; `attract replay` plays
        them again.
    json_output
        Print one JSON object and nothing else on stdout.
    """
    from attract.commands.check import CheckOptions, check_game
    from attract.server.app_server import run_async

    game, server = served_game(
        game, server_settings(port=0, project_dir=project_dir, include=include, page_device=device)
    )
    return run_async(check_game(CheckOptions(game, json_output, save), server))


def look(
    page: Annotated[str, GameWord],
    /,
    *,
    press: Annotated[list[str] | None, Parameter(negative=())] = None,
    hold: Annotated[list[str] | None, Parameter(negative=())] = None,
    click: Annotated[list[str] | None, Parameter(negative=())] = None,
    pointer: Annotated[list[str] | None, Parameter(negative=())] = None,
    action: Annotated[list[str] | None, Parameter(negative=())] = None,
    frames: int | None = None,
    expression: Annotated[str | None, Parameter(name="--eval")] = None,
    png: Path | None = None,
    rotate: Annotated[list[int] | None, Parameter(negative=(), validator=Number(gte=0))] = None,
    size: tuple[int, int] = (800, 600),
    seed: Annotated[int, Parameter(validator=Number(gte=0, lt=2**32))] = 1,
    touch: Annotated[bool, Parameter(negative=())] = False,
    full: Annotated[bool, Parameter(negative=())] = False,
    project_dir: GameProjectDir = None,
    device: PageDevice = None,
    include: Include = None,
    json_output: Annotated[bool, Parameter(name="--json", negative=())] = False,
) -> int:
    """Open a PAGE or an adapter for some frames, press what is given, and say what is there.

    Prints texts, buttons and drawn things with their places, globals and which input moves them, the console,
    alerts, errors and missing files; of an adapter also each step's observation, score, end and mask.
    Exit code: 0 if it looked, 2 if it could not.

    Parameters
    ----------
    page
        Folder with an index.html, .html file, address on this machine, adapter, or bundled page game.
    press
        Key and frame: Enter@10. It is down for 4 frames. Keys are those of KeyboardEvent.code.
    hold
        Key, its first frame, and the first without it: ArrowLeft@60-90.
    click
        CSS selector or place, and frame: '#start@5', 120,80@5.
    pointer
        What the pointer does, where and when: 'right #cell@5', 'drag #card to 120,80@5-20'.
    action
        Action of the adapter, and frames: left@0-30.
    rotate
        Frame at which the phone or the tablet is turned: 60.
    frames
        Frames to play, of 1/60 s; by default 60, or 30 after the last input.
    expression
        JavaScript expression, or function of the window, evaluated in the page after the last frame. `w` is
        the window; `made` and `drawn` are those of adapters.
    png
        File for a picture of the last frame.
    size
        Width and height of the page's window in pixels; an adapter, a phone and a tablet have their own.
    seed
        Seed of the page's random numbers and date.
    touch
        The pointer is a finger, and the page on a phone; an adapter has its own.
    full
        Leave nothing out; by default the answer has at most 8 kB.
    json_output
        Print one JSON object and nothing else on stdout.
    """
    from attract.commands.look import LookOptions, look_at
    from attract.commands.look_inputs import given_inputs
    from attract.games.page_places import names_page
    from attract.server.app_server import run_async

    server = server_settings(port=0, project_dir=project_dir, include=include, page_device=device)
    if not names_page(page, server.web_dir):
        page, server = served_game(page, server)
    inputs = given_inputs(press or (), hold or (), click or (), action or (), pointer or (), rotate or ())
    order = LookOptions(
        page,
        inputs,
        frames=frames,
        expression=expression,
        png=png,
        size=size,
        seed=seed,
        touch=touch,
        full=full,
        json_output=json_output,
    )
    return run_async(look_at(order, server))


def probe(
    page: str,
    /,
    *,
    out: Path | None = None,
    size: tuple[int, int] = (800, 600),
    force: Annotated[bool, Parameter(negative=())] = False,
    device: PageDevice = None,
    include: Include = None,
    json_output: Annotated[bool, Parameter(name="--json", negative=())] = False,
) -> int:
    """Inspect a PAGE with a game, play it at random, and write a first adapter for it.

    Prints what it found: keys with an effect, readable state variables, likely score and end, how to start
    the game, its engine, and interfaces for agents that it has.

    Parameters
    ----------
    page
        Folder with an index.html, .html file, or address on this machine.
    out
        Adapter to write; by default game.page.ts in the page's folder, or next to a build folder.
    size
        Width and height of the page's window in pixels.
    force
        Replace an existing adapter.
    json_output
        Print one JSON object and nothing else on stdout.
    """
    from attract.commands.probe import ProbeOptions, probe_page
    from attract.server.app_server import run_async

    server = server_settings(port=0, include=include, page_device=device)
    return run_async(probe_page(ProbeOptions(page, out, size, force, json_output), server))


def ci(
    game: Annotated[str, GameWord],
    /,
    *,
    baseline: Path | None = None,
    update_baseline: Annotated[bool, Parameter(negative=())] = False,
    seconds: Annotated[float, Parameter(validator=Number(gte=10, lte=3600))] = 120.0,
    seed: Annotated[int, Parameter(validator=Number(gte=0, lt=2**64))] = 0,
    policy: Annotated[str | None, RunWord] = None,
    episodes: Path | None = None,
    out: Path = Path("attract-ci"),
    junit: Path | None = None,
    html: Path | None = None,
    github: Annotated[bool, Parameter(negative=())] = False,
    project_dir: GameProjectDir = None,
    device: PageDevice = None,
    include: Include = None,
    runs_dir: RunsDir = None,
    json_output: Annotated[bool, Parameter(name="--json", negative=())] = False,
) -> int:
    """Play a build of GAME by many players and report what is wrong with it, or differs from the baseline.

    Exit code: 0 if it plays, 1 with findings, 2 if it could not be played.

    Parameters
    ----------
    game
        Bundled name, path to a game module or an adapter, or a page: a folder, an .html file, or an address
        on this machine. A page without an adapter is played with what `attract probe` finds.
    baseline
        File with the outcomes of a build that plays well; by default `attract-ci.json` beside the game.
    update_baseline
        Write the baseline of this build.
    seconds
        How long it may play.
    seed
        Seed of the episodes; those of a baseline have their own.
    policy
        A trained policy that plays, too: a run id, `latest`, or a folder that `attract export` wrote.
    episodes
        Folder of recorded episodes that are played, too.
    out
        Folder for the episodes of the findings, and a Playwright test of each.
    junit
        File for the result as JUnit XML.
    html
        File for a report that plays the episodes in it.
    github
        Print annotations and add to the summary of the step, as GitHub Actions reads them.
    json_output
        Print one JSON object and nothing else on stdout.
    """
    from attract.commands.ci import CiOptions, play_build
    from attract.commands.ci_output import Outputs
    from attract.games.page_places import names_page
    from attract.server.app_server import run_async

    server = server_settings(
        port=0, project_dir=project_dir, runs_dir=runs_dir, include=include, page_device=device
    )
    if not names_page(game, server.web_dir):
        game, server = served_game(game, server)
    order = CiOptions(
        game,
        baseline,
        update_baseline=update_baseline,
        seconds=seconds,
        seed=seed,
        policy=policy,
        episodes=episodes,
        outputs=Outputs(out.absolute(), junit, html, github),
        json_output=json_output,
    )
    return run_async(play_build(order, server))


def difficulty(
    game: Annotated[str, GameWord],
    /,
    *,
    over: str,
    bands: Path | None = None,
    policy: Annotated[str | None, RunWord] = None,
    won: str | None = None,
    seconds: Annotated[float, Parameter(validator=Number(gte=10, lte=3600))] = 120.0,
    seed: Annotated[int, Parameter(validator=Number(gte=0, lt=2**64))] = 0,
    html: Path | None = None,
    project_dir: GameProjectDir = None,
    include: Include = None,
    runs_dir: RunsDir = None,
    json_output: Annotated[bool, Parameter(name="--json", negative=())] = False,
) -> int:
    """Play GAME by many players at several values of one of its parameters and report how hard each is.

    Exit code: 0 inside the bands, 1 outside, 2 if it could not be played.

    Parameters
    ----------
    game
        Bundled name, or path to a game module or an adapter.
    over
        Parameter and values: speed=0.5:2:7 (7 values from 0.5 to 2) or speed=0.5,1,2.
    bands
        YAML file with limits: `win_rate: [0.3, 0.7]`; also of difficulty, attempts, return and length.
    policy
        A policy that was trained over the whole range: a run id, `latest`, or a folder that `attract export`
        wrote. Then no other player plays.
    won
        Metric of the game that is above 0 in a won episode; by default `won`, if the game has it.
    seconds
        How long it may play.
    seed
        Seed of the episodes, the same at every value.
    html
        Write a page with a chart into this file.
    json_output
        Print one JSON object and nothing else on stdout.
    """
    from attract.commands.difficulty import DifficultyOptions, judge_difficulty
    from attract.server.app_server import run_async

    server = server_settings(port=0, project_dir=project_dir, runs_dir=runs_dir, include=include)
    game, server = served_game(game, server)
    order = DifficultyOptions(game, over, bands, policy, won, seconds, seed, html, json_output)
    return run_async(judge_difficulty(order, server))
