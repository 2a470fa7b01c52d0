"""The page that a command was given, and the adapter it is played with."""

from pathlib import Path

from attract.commands.destination import shown_path
from attract.commands.output import CommandConsole, say
from attract.errors import ConfigurationError
from attract.games.modules import refuse_project
from attract.games.page_places import PagePlace, page_place
from attract.settings.run import ServerSettings


def page_to_play(
    given: str, server: ServerSettings, console: CommandConsole
) -> tuple[PagePlace, Path | None]:
    """A page and its adapter; None: it has none yet.

    Raises: ConfigurationError: there is no such page, it has several adapters, or it holds modules.
    """
    try:
        place = page_place(given, server.runs_dir, server.include)
    except ConfigurationError:
        refuse_project(Path(given), given)
        raise
    known = place.adapters()
    if len(known) > 1:
        raise ConfigurationError(
            f"{given} has {len(known)} adapters",
            setting="game",
            fix=f"name one: {', '.join(map(shown_path, known))}",
        )
    if known:
        say(console, f"{given} is played with the adapter {shown_path(known[0])}")
        return place, known[0]
    # A page that a game of the folder is played in, as `attract new` writes one, is no game of its own.
    refuse_project(Path(given), given)
    return place, None
