"""Shell completion of games and runs."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from cyclopts import Parameter
from cyclopts.completion import CompletionContext

from attract.settings.run import ServerSettings

GAME_SUFFIXES: Final = (".ts", ".js", ".html")
SKIPPED_FOLDERS: Final = ("node_modules", "runs")


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


GameWord: Final = Parameter(completer=_games)
"""A parameter that is completed with bundled games, modules and pages."""
RunWord: Final = Parameter(completer=_runs)
"""A parameter that is completed with runs."""
