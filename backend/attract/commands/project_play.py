"""What `attract ci` and `attract verify` play, and how: by their flags, else by `attract.config.ts`."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from attract.commands import flags
from attract.commands.output import CommandConsole, say
from attract.errors import ConfigurationError
from attract.playtest.project_file import find_project_file
from attract.playtest.rules import USUAL, Rules
from attract.schema.devices import DeviceName
from attract.settings.run import ServerSettings

Options = TypeVar("Options")


@dataclass(frozen=True)
class ProjectPlay:
    """What the project's file says of a play, beside what it says in place of flags."""

    rules: Rules = USUAL
    players: tuple[str, ...] = ()
    """Who plays beside `idle`; empty: all."""
    devices: tuple[DeviceName, ...] = ()
    file: str | None = None
    """Its name; None: there is none, or it is of another game."""

    def crowd(self, players: list[str]) -> list[str]:
        """Those who play, of all that could."""
        wanted = {"idle", *self.players}
        return [name for name in players if not self.players or name.split(":")[0].split("-")[0] in wanted]


def planned(
    game: str | None, options: Options, given: ServerSettings, example: str, own: tuple[str, ...] = ()
) -> tuple[str, Options, ServerSettings, ProjectPlay]:
    """What is played: flags win over the file of the current folder's project, never that of a page's folder.

    Args:
        game: as it was named; None: what the file names.
        options: `seconds`, `seed`, `policy` and those of `own` are the file's where they are None.
        given: settings from flags and variables.
        example: of the command with a game.
        own: paths of the file that this command has flags for.

    Raises: ConfigurationError: the file is wrong, or there is none and no game was named.
    """
    file = find_project_file(Path.cwd())
    if file is not None and game is not None and not file.is_of(game, given.runs_dir):
        console = CommandConsole(stderr=getattr(options, "json_output", False))
        say(console, f"{file.path.name} is of another game: nothing of it is used for {game}")
        file = None
    if game is None:
        if file is None:
            raise ConfigurationError(
                "there is no attract.config.ts here that names a game",
                setting="GAME",
                fix=f"name it: {example}; or write the file: attract init",
            )
        game = file.game
    if file is not None:
        said = {name: getattr(file.settings, name) for name in ("seconds", "seed")} | {"policy": file.policy}
        said |= {name: file.place(name) for name in own}
        flagless: Any = options
        missing = {name: value for name, value in said.items() if getattr(options, name) is None}
        options = replace(flagless, **missing)
    game, server = flags.page_or_game(game, given)
    if file is None:
        return game, options, server, ProjectPlay()
    devices = file.settings.devices if server.page_device is None else ()
    return game, options, server, ProjectPlay(file.rules, file.settings.players, devices, file.path.name)
