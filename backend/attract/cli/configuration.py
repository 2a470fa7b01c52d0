"""Merges flags, variables and files; resolves the path of a game."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attract.cli.flags import given_flags
from attract.games.project import find_project_dir
from attract.runs.log_lines import LOG_FORMAT, LOG_LEVEL, show_logs
from attract.settings.base import variable
from attract.settings.run import ServerSettings

if TYPE_CHECKING:
    from attract.settings.given import LayeredSettings


def server_settings(**given: Any) -> ServerSettings:
    """Server settings from flags, then from the environment; turns logging on if they ask for it.

    Raises: ConfigurationError: for a value that cannot work.
    """
    server = ServerSettings.from_environment(os.environ, **given)
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


def run_settings(
    game: str,
    server: ServerSettings,
    config: Path | None,
    flags: Any,
    *,
    resumed: str | None = None,
    **aliases: str | None,
) -> "LayeredSettings":
    """Settings of a run from its game or itself, a file, variables, flags and short flags, later ones above.

    Args:
        game: bundled name or path; its own settings are the lowest layer of a new run.
        server: where runs and games are.
        config: YAML file, or none.
        flags: what the parameter of all settings got.
        resumed: id of the run whose settings are the lowest layer, or `latest`; None: a new run.
        aliases: what the flags of `attract.settings.given.ALIASES` got.

    Raises: ConfigurationError: no such game or run, or invalid values; names each setting as it was written.
    """
    from attract.games.library import GameLibrary
    from attract.run.settings_view import settings_beneath, settings_resumed
    from attract.settings.given import from_aliases, from_file, from_flags, from_variables, join_layers

    return join_layers(
        settings_beneath(GameLibrary(server.project_dir, server.web_dir), game)
        if resumed is None
        else settings_resumed(server.runs_dir, resumed),
        from_file(config),
        from_variables(os.environ),
        from_flags(given_flags(flags)),
        from_aliases(**aliases),
    )


def served_game(game: str, server: ServerSettings) -> tuple[str, ServerSettings]:
    """A bundled game as it is; a module by its whole path, with settings that have its project directory.

    That is the one which a flag or variable gave, else `find_project_dir`. A path is relative to the current
    folder, or to the given project directory where the module is only there.
    """
    if Path(game).suffix == "":
        return game, server
    path = Path(game).resolve()
    if "project_dir" not in server.model_fields_set:
        return str(path), server.model_copy(update={"project_dir": find_project_dir(path)})
    below = (server.project_dir / game).resolve()
    return str(below if below.is_file() and not path.is_file() else path), server
