"""`attract runs`: the runs of a runs folder as a table, or as JSON."""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Final

from cyclopts import Parameter
from rich.table import Table
from rich.text import Text

from attract.commands import flags
from attract.commands.json_output import print_answer
from attract.commands.output import CommandConsole, for_table, print_table
from attract.commands.train_display import duration, number
from attract.games.library import GameLibrary
from attract.processes.exit_codes import DONE
from attract.run.settings_view import settings_of
from attract.runs.archive import RunArchive
from attract.runs.catalogue import RunCatalogue
from attract.runs.plain_text import plain
from attract.schema.run_list import RunList, RunRow
from attract.settings.run import ServerSettings

BARS: Final = "▁▂▃▄▅▆▇█"
CURVE_COLUMNS: Final = 16
MAX_NAME: Final = 60
GAP: Final = 2
"""Spaces between columns."""


@flags.options
class RunsOptions:
    sort: Annotated[str, Parameter(allow_leading_hyphen=True)] = "-created"
    """A field or setting, with - before it from the largest: -return, steps, learning_rate."""
    limit: Annotated[int, flags.AtLeastOne] = 50
    """Number of runs."""
    runs_dir: flags.RunsDir = None
    project_dir: flags.ProjectDir = None
    json_output: flags.Json = False


def runs(*query: str, options: RunsOptions = RunsOptions()) -> int:
    """List the runs that QUERY finds, as the dashboard does.

    Archived runs, and those that ended without an update, are left out unless QUERY has `is:all`.

    Parameters
    ----------
    query
        Words and conditions, all of which must hold, such as "game:snake return>20 lr<0.001 tag:good". Quote
        them: a shell takes < and > for itself.

    Examples
    --------
    attract runs  # the newest runs
    attract runs "game:snake return>20" --sort -return  # the best of one game
    attract runs "lr<0.001 is:all" --json  # by a setting, for scripts
    """
    found = find_runs(flags.server_settings(options), " ".join(query), options.sort, options.limit)
    if options.json_output:
        print_answer(found)
        return DONE
    console = for_table(CommandConsole())
    if found.runs:
        print_table(console, table_of(found.runs, console.width))
    console.print(count_text(found), highlight=False)
    return DONE


def find_runs(server: ServerSettings, query: str, sort: str, limit: int) -> RunList:
    """The first `limit` runs that a search finds. Raises: QueryError: the search or order cannot be read."""
    games = GameLibrary(server.project_dir, server.web_dir, runs_dir=server.runs_dir)
    catalogue = RunCatalogue(RunArchive(server.runs_dir), lambda game: settings_of(games, game, {}))
    return catalogue.list(query, sort, limit=limit, seconds=None)


def count_text(found: RunList) -> str:
    """How many runs there are, and how the others are shown."""
    parts = [f"{len(found.runs)} of {found.num_found} runs" if found.next else f"{found.num_found} runs"]
    if found.num_hidden:
        parts.append(f"{found.num_hidden} hidden (archived or without an update; show them by is:all)")
    return ", ".join(parts)


def table_of(rows: Sequence[RunRow], width: int) -> Table:
    """The table: run, game, state, returns, curve, steps, time, labels, and the changed settings.

    Args:
        rows: at least one.
        width: characters of a line. Where that is too little, the last columns are cut or left out.
    """
    columns = {title: [plain(cell(row)) for row in rows] for title, cell in COLUMNS.items()}
    columns = {title: cells for title, cells in columns.items() if any(cells)}
    needs = {title: max(len(title), *map(len, cells)) + GAP for title, cells in columns.items()}
    for title in LEFT_OUT:
        if sum(needs.values()) <= width:
            break
        room = width - (sum(needs.values()) - needs[title])
        if title == LEFT_OUT[0] and room >= len(title) + GAP:
            columns[title] = [shortened_to(cell, room - GAP) for cell in columns[title]]
            break
        del columns[title], needs[title]
    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0))
    for title in columns:
        table.add_column(title, justify="right" if title in NUMBERS else "left", no_wrap=True)
    for cells in zip(*columns.values(), strict=True):
        table.add_row(*map(Text, cells))
    return table


def shortened_to(text: str, limit: int) -> str:
    """The text in at most `limit` characters, at least 1."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def curve(values: Sequence[float]) -> str:
    """The mean return over the run in at most 16 characters; empty without updates."""
    if not values:
        return ""
    count = min(CURVE_COLUMNS, len(values))
    points = [values[round(place * (len(values) - 1) / max(1, count - 1))] for place in range(count)]
    low, high = min(values), max(values)
    span = high - low
    # Differences of numbers near the largest float are infinite.
    if not 0 < span < float("inf"):
        return BARS[0] * count
    return "".join(BARS[round((point - low) / span * (len(BARS) - 1))] for point in points)


def _state(row: RunRow) -> str:
    is_live = row.state in ("running", "paused", "evaluating") and row.progress is not None
    return f"{row.state} {row.progress:.0%}" if is_live else row.state


def _labels(row: RunRow) -> str:
    star = ["*"] if row.starred else []
    name = [row.name[:MAX_NAME]] if row.name else []
    return " ".join([*star, *name, *(f"#{tag}" for tag in row.tags)])


def _changed(row: RunRow) -> str:
    if row.error is not None:
        return row.error
    preset = [f"preset {row.preset}"] if row.preset is not None else []
    changed = [f"{path.rpartition('.')[2]} {row.settings[path]}" for path in row.changed]
    return ", ".join([*preset, *changed])


COLUMNS: Final[Mapping[str, Callable[[RunRow], str]]] = {
    "run": lambda row: row.run_id,
    "game": lambda row: row.title or row.game,
    "state": _state,
    "return": lambda row: number(row.episode_return_mean),
    "best": lambda row: number(row.return_best),
    "eval": lambda row: number(row.return_eval),
    "curve": lambda row: curve(row.sparkline),
    "steps": lambda row: f"{row.agent_steps:,}",
    "time": lambda row: duration(row.elapsed_seconds),
    "labels": _labels,
    "changed settings": _changed,
}
"""Cells by title, in order."""
NUMBERS: Final = ("return", "best", "eval", "steps", "time")
LEFT_OUT: Final = ("changed settings", "labels", "time", "eval", "best", "game", "curve")
"""Columns that a narrow terminal lacks, the first ones first."""
