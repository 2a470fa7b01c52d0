"""`attract difficulty`: how hard a game is at each value of one of its parameters."""

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, cast

from cyclopts import Parameter
from cyclopts.validators import Number
from rich.table import Table

from attract.browser.chromium import require_chromium
from attract.commands import flags
from attract.commands.crowd_play import (
    MAX_STEPS,
    crowd_gateway,
    find_build,
    find_policies,
    play,
    problem_of,
    seed_of,
)
from attract.commands.destination import check_writable, write_output
from attract.commands.json_output import print_answer
from attract.commands.output import CommandConsole, print_table, say
from attract.errors import AttractError, ConfigurationError
from attract.playtest.difficulty import (
    DIFFICULTY,
    WON,
    Band,
    BandName,
    DifficultyReport,
    Step,
    ValueDifficulty,
    Wins,
    measure,
    rank_correlation,
)
from attract.playtest.findings import Build, players_of
from attract.playtest.players import crowd
from attract.playtest.report_page import page_of
from attract.playtest.sweep import SweepPlan, check_values, parse_over, sweep
from attract.schema.match import Estimate
from attract.server.app_server import run_async
from attract.settings.file import read_settings_file
from attract.settings.run import ServerSettings

if TYPE_CHECKING:
    from attract.server.in_process import Gateway

BAND_NAMES: Final[tuple[BandName, ...]] = BandName.__args__  # pyright: ignore[reportAttributeAccessIssue]
RULES: Final = {
    "metric": "won: the metric {metric} is above 0",
    "time_limit": "won: the episode reaches the time limit",
    "ended": "won: the game ends the episode",
}
CAUTION: Final = "relative between settings of this game; not what people will do"


@flags.options
class DifficultyOptions:
    over: str
    """Parameter and values: speed=0.5:2:7 (7 values from 0.5 to 2) or speed=0.5,1,2."""
    bands: Path | None = None
    """YAML file with limits: `win_rate: [0.3, 0.7]`; also of difficulty, attempts, return and length."""
    policy: Annotated[str | None, flags.RunWord] = None
    """A policy that was trained over the whole range: a run id, `latest`, or a folder that `attract export`
    wrote. Then no other player plays."""
    won: str | None = None
    """Metric of the game that is above 0 in a won episode; by default `won`, if the game has it."""
    seconds: flags.Seconds = 120.0
    seed: Annotated[int, Parameter(validator=Number(gte=0, lt=2**64))] = 0
    """Seed of the episodes, the same at every value."""
    html: Path | None = None
    """Write a page with a chart into this file."""
    project_dir: flags.ProjectDir = None
    include: flags.Include = None
    runs_dir: flags.RunsDir = None
    json_output: flags.Json = False


def difficulty(game: flags.Game, /, options: DifficultyOptions) -> int:
    """Play GAME by many players at several values of one of its parameters and report how hard each is.

    Exit code: 0 inside the bands, 1 outside, 2 if it could not be played.

    Parameters
    ----------
    game
        Bundled name, or path to a game module or an adapter.

    Examples
    --------
    attract difficulty snake --over size=6:20:5  # how hard each size of the board is
    attract difficulty snake --over size=8,9 --policy latest  # by a trained agent
    attract difficulty snake --over size=6:20:5 --bands bands.yaml  # exit code 1 outside a band
    """
    game, server = flags.served_game(game, flags.server_settings(options))
    return run_async(judge_difficulty(game, options, server))


async def judge_difficulty(game: str, options: DifficultyOptions, server: ServerSettings) -> int:
    """Play, measure and report; 0: inside the bands, 1: outside, 2: it could not be played.

    Raises: ConfigurationError: an option is wrong. AttractError: no browser.
    """
    parameter, values = parse_over(options.over)
    bands = {} if options.bands is None else read_bands(options.bands)
    if options.html is not None:
        check_writable(options.html)
    require_chromium()
    console = CommandConsole(stderr=options.json_output)
    began = asyncio.get_running_loop().time()

    async with crowd_gateway(server, options.policy, console) as gateway:
        try:
            build = await find_build(gateway, game)
            report = await _measured(game, options, gateway, build, parameter, values, bands, console)
        except ConfigurationError:
            raise
        except AttractError as error:
            # The code of any other error is that of a game outside its bands.
            report = not_played(game, parameter, problem_of(error))
    report = report.model_copy(update={"seconds": asyncio.get_running_loop().time() - began})
    if options.html is not None and report.values:
        write_output(options.html, page_of(report).encode())
    show(console, report)
    if options.json_output:
        print_answer(report)
    return report.exit_code


def read_bands(path: Path) -> dict[BandName, Band]:
    """Limits per number, `win_rate: [0.3, 0.7]`; null: none. Raises: ConfigurationError: it has others."""
    found: dict[BandName, Band] = {}
    for name, given in read_settings_file(path).items():
        if name not in BAND_NAMES:
            raise ConfigurationError(
                f"there is no number {name!r}", setting=str(path), fix=f"there are {', '.join(BAND_NAMES)}"
            )
        limits = cast("list[Any]", given) if isinstance(given, list) else []
        are_numbers = all(limit is None or type(limit) in (int, float) for limit in limits)
        if len(limits) != 2 or not are_numbers or (None not in limits and limits[0] > limits[1]):
            raise ConfigurationError(
                f"must be [low, high], got {given!r}",
                setting=f"{path}: {name}",
                fix=f"such as {name}: [0.3, 0.7]; null is no limit",
            )
        found[name] = (limits[0], limits[1])
    if not found:
        raise ConfigurationError("has no band", setting=str(path), fix="such as win_rate: [0.3, 0.7]")
    return found


def not_played(game: str, parameter: str, problem: str, build: str = "") -> DifficultyReport:
    """The report of a game that could not be played."""
    return DifficultyReport(
        game=game, build=build, parameter=parameter, verdict="not_played", problem=problem
    )


async def _measured(
    game: str,
    options: DifficultyOptions,
    gateway: "Gateway",
    build: Build,
    parameter: str,
    values: Sequence[float],
    bands: Mapping[BandName, Band],
    console: CommandConsole,
) -> DifficultyReport:
    description = build.description
    check_values(description, parameter, values)
    if options.won is not None and options.won not in description.metrics:
        known = ", ".join(sorted(description.metrics)) or "none: declare one, metrics: { won: 'last' }"
        raise ConfigurationError(
            f"{description.id} has no metric {options.won!r}", setting="--won", fix=f"it has {known}"
        )
    policies = await find_policies(gateway, options.policy)
    players = crowd(description, [policy.name for policy in policies], 0)
    plan = SweepPlan(
        game=build.module.reference,
        parameter=parameter,
        values=values,
        players=[player for player in players if ":" in player] or players,
        seed=seed_of(options.seed),
        policies=policies,
        max_steps=MAX_STEPS,
        seconds=options.seconds,
    )

    with console.status("playing") as status:
        swept = await sweep(
            plan, partial(play, gateway, build), lambda text: status.update(f"playing: {text}")
        )
    wins = Wins.of(description, options.won)
    try:
        rows, steps = measure(values, swept.played, plan.players, wins, bands)
    except ValueError as error:
        problem = swept.problem or next(iter(swept.errors), None) or f"{error}; give more --seconds"
        return not_played(game, parameter, problem, build.sha256)
    if swept.problem is not None:
        return not_played(game, parameter, swept.problem, build.sha256)
    rows = [
        row.model_copy(update={"players": players_of(outcomes)})
        for row, outcomes in zip(rows, swept.played, strict=True)
    ]
    is_outside = any(state != "unsure" for row in rows for state in row.outside.values())
    return DifficultyReport(
        game=game,
        build=build.sha256,
        parameter=parameter,
        verdict="outside" if is_outside else "inside",
        win_rule=wins.rule,
        win_metric=wins.metric,
        difficulty_of="win_rate" if wins.rule == "metric" else "return",
        players=list(plan.players),
        learned=bool(policies),
        values=rows,
        steps=steps,
        rank_correlation=rank_correlation(rows),
        bands=dict(bands),
        seeds=rows[0].episodes // len(plan.players),
    )


def show(console: CommandConsole, report: DifficultyReport) -> None:
    if report.verdict == "not_played":
        say(console, f"{report.game} could not be played: {report.problem}")
        return
    table = Table(title=f"{report.game}: difficulty by {report.parameter}", title_justify="left")
    names = (report.parameter, "difficulty", "win rate", "attempts", "return", "length", "new p")
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    for row, step in zip(report.values, [None, *report.steps], strict=True):
        table.add_row(f"{row.value:g}", *cells(row), "" if step is None else p_text(step))
    print_table(console, table)
    who = "trained players" if report.learned else "players without training"
    say(console, f"{report.seeds} seeds of each of {len(report.players)} {who} at each value")
    say(console, RULES[report.win_rule or "ended"].format(metric=report.win_metric or WON))
    if report.rank_correlation is not None:
        text = f"rank correlation of {report.parameter} and difficulty"
        say(console, f"{text}: {report.rank_correlation:.2f}; {CAUTION}")
    for row in report.values:
        for name, state in row.outside.items():
            low, high = report.bands[name]
            where = "is not sure to be inside" if state == "unsure" else f"is {state}"
            limits = f"{'-' if low is None else f'{low:g}'} to {'-' if high is None else f'{high:g}'}"
            say(console, f"{report.parameter} = {row.value:g}: {name} {where} {limits}")


def cells(row: ValueDifficulty) -> list[str]:
    """The numbers of a value, each with its interval."""
    return [
        "-" if row.difficulty is None else spread(row.difficulty, ".2f"),
        ranged(row.win_rate, ".2f"),
        ranged(row.attempts, ".3g"),
        spread(row.episode_return, ".4g"),
        spread(row.length, ".4g"),
    ]


def spread(estimate: Estimate, form: str) -> str:
    """`0.52 +- 0.04`."""
    if estimate.mean is None or estimate.high is None:
        return "-" if estimate.mean is None else f"{estimate.mean:{form}}"
    return f"{estimate.mean:{form}} +- {estimate.high - estimate.mean:.2g}"


def ranged(estimate: Estimate, form: str) -> str:
    """`0.52 (0.48-0.56)`; `> 21` where only that is known."""
    mean, low, high = estimate.mean, estimate.low, estimate.high
    if mean is None:
        return "-" if low is None else f"> {low:{form}}"
    return (
        f"{mean:{form}} ({'' if low is None else f'{low:{form}}'}-{'' if high is None else f'{high:{form}}'})"
    )


def p_text(step: Step) -> str:
    """What tells a value from the one before."""
    if not step.differs:
        return "-"
    return f"{step.p_value:.0e}" if step.number == DIFFICULTY else f"{step.p_value:.0e} ({step.number})"
