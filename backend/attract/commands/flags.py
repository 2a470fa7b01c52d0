"""Flags that several commands have, completion of their words, and the server's settings that they give."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar, dataclass_transform

from cyclopts import Parameter
from cyclopts.completion import CompletionContext
from cyclopts.validators import Number

from attract.games.project import find_project_dir
from attract.runs.log_lines import LOG_FORMAT, LOG_LEVEL, show_logs
from attract.schema.devices import DeviceName
from attract.settings.base import variable
from attract.settings.fields import unset_text
from attract.settings.run import ServerSettings, server_default

Options = TypeVar("Options")
GAME_SUFFIXES: Final = (".ts", ".js", ".html")
SKIPPED_FOLDERS: Final = ("node_modules", "runs")


@dataclass_transform(kw_only_default=True, frozen_default=True)
def options(kind: type[Options]) -> type[Options]:
    """Make a class a frozen dataclass whose fields are flags of the command that takes it.

    The docstring of a field is the help of its flag. No flag has a `--no-` form but those that name one.
    """
    return Parameter(name="*", negative=())(dataclass(frozen=True, kw_only=True)(kind))


def _games(context: CompletionContext) -> Iterator[str]:
    from attract.games.library import GameLibrary

    server = ServerSettings.from_environment(os.environ)
    yield from GameLibrary(server.project_dir, server.web_dir).bundled_names()
    # A completer stands in for the shell's own completion of paths.
    folder = context.incomplete.rpartition("/")[0] + "/" if "/" in context.incomplete else ""
    try:
        entries = sorted(Path(folder or ".").iterdir())
    except OSError:
        return
    for entry in entries:
        if entry.name.startswith(".") or entry.name in SKIPPED_FOLDERS:
            continue
        if entry.is_dir():
            yield f"{folder}{entry.name}/"
        elif entry.suffix in GAME_SUFFIXES:
            yield f"{folder}{entry.name}"


def _runs(context: CompletionContext) -> Iterator[str]:
    from attract.runs.directory import LATEST, list_run_ids

    given = context.get("--runs-dir")
    server = ServerSettings.from_environment(os.environ)
    yield LATEST
    yield from list_run_ids(server.runs_dir if given is None or not given.provided else given.value)


def flag_help(field: Any) -> str:
    """Help of a setting, a field of pydantic: its docstring, with the text that unsets it for None."""
    unset = unset_text(field.annotation)
    text = " ".join((field.description or "").split())
    return text if unset is None else text.replace("None:", f"`{unset}`:")


def server_help(name: str) -> str:
    """Help of a setting of the server: its docstring, its variable and its default."""
    default = server_default(name)
    otherwise = "" if default is None else f" or {default}"
    return f"{flag_help(ServerSettings.model_fields[name])} By default ${variable(name)}{otherwise}."


GameWord: Final = Parameter(completer=_games)
"""Completed with bundled games, modules and pages."""
RunWord: Final = Parameter(completer=_runs)
"""Completed with runs."""
AtLeastOne: Final = Parameter(validator=Number(gte=1))
Game = Annotated[str, GameWord]
RUN_HELP: Final = "A run id, or `latest`: the newest run that has a policy."
Run = Annotated[str, RunWord, Parameter(help=RUN_HELP)]
Host = Annotated[str | None, Parameter(help=server_help("host"))]
Port = Annotated[int | None, Parameter(help=server_help("port"))]
RunsDir = Annotated[Path | None, Parameter(help=server_help("runs_dir"))]
ProjectDir = Annotated[Path | None, Parameter(help=server_help("project_dir"))]
Include = Annotated[str | None, Parameter(help=server_help("include"))]
Outside = Annotated[
    tuple[str, ...],
    Parameter(
        name="--outside",
        consume_multiple=False,
        show_default=False,
        help='A program that may play as outside:NAME: bot="python bot.py" is asked line by line, '
        "bot=http://127.0.0.1:8123/ over HTTP. Give the flag once for each.",
    ),
]
OutsideSeconds = Annotated[
    float | None,
    Parameter(
        name="--outside-seconds",
        help="Deadline of each decision of such a program; the game waits meanwhile. By default 5.",
    ),
]
PageDevice = Annotated[
    DeviceName | None,
    Parameter(
        name="--device",
        help="Play the page on this device. By default what its adapter says, or a desktop.",
    ),
]
Seconds = Annotated[float, Parameter(validator=Number(gte=10, lte=3600), help="How long it may play.")]
SecondsOrFile = Annotated[float | None, Parameter(validator=Number(gte=10, lte=3600))]
SeedOrFile = Annotated[int | None, Parameter(validator=Number(gte=0, lt=2**64))]
"""None: not given, so that the project's file may say it."""
Json = Annotated[bool, Parameter(name="--json", help="Print one JSON object and nothing else on stdout.")]
JsonAtEnd = Annotated[
    bool, Parameter(name="--json", help="Print one JSON object at the end, and nothing else, on stdout.")
]


def server_settings(options: object, **given: Any) -> ServerSettings:
    """Server settings from a command's flags, then from the environment; turns logging on if they ask for it.

    Args:
        options: its fields that have the name of a setting give it. Without a port any free one is taken.
        given: further settings.

    Raises: ConfigurationError: for a value that cannot work.
    """
    own = {name: value for name, value in vars(options).items() if name in ServerSettings.model_fields}
    server = ServerSettings.from_environment(os.environ, **{"port": 0} | own | given)
    if {"log_format", "log_level"} & server.model_fields_set:
        show_logs(server.log_format, server.log_level)
        # The learner and the browser process read these.
        os.environ |= {LOG_FORMAT: server.log_format, LOG_LEVEL: server.log_level}
    # The trainers that a search or a cluster starts read them.
    if server.include:
        os.environ[variable("include")] = ",".join(server.include)
    if server.page_device is not None:
        os.environ[variable("page_device")] = server.page_device
    return server


def served_game(game: str, server: ServerSettings) -> tuple[str, ServerSettings]:
    """A bundled game as it is; a module by its whole path, with settings that have its project directory.

    That is the one which a flag or variable gave, else `find_project_dir`. A path is relative to the current
    folder, or to the given project directory where the module is only there. A page is its one adapter.

    Raises: ConfigurationError: there is no such page, it has several adapters, or it is a folder of modules.
    """
    from attract.games.page_places import names_page

    if names_page(game, server.web_dir):
        from attract.commands.given_page import page_to_play
        from attract.commands.output import CommandConsole

        _, adapter = page_to_play(game, server, CommandConsole(stderr=True))
        game = game if adapter is None else str(adapter)
    if Path(game).suffix == "":
        return game, server
    path = Path(game).resolve()
    if "project_dir" not in server.model_fields_set:
        return str(path), server.model_copy(update={"project_dir": find_project_dir(path)})
    below = (server.project_dir / game).resolve()
    return str(below if below.is_file() and not path.is_file() else path), server


def page_or_game(game: str, server: ServerSettings) -> tuple[str, ServerSettings]:
    """As `served_game`; a page, which is no module, stays as it is."""
    from attract.games.page_places import names_page

    return (game, server) if names_page(game, server.web_dir) else served_game(game, server)
