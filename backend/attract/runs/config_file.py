"""The `config.yaml` of a run's folder: the game asked for, the time of creation, and every setting."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from attract.errors import ConfigurationError, FileError
from attract.settings.file import read_settings_file
from attract.settings.run import RunSettings

CONFIG: Final = "config.yaml"
PARTS: Final = {
    "game": (str, "the name of a game"),
    "created": (str, "a time"),
    "settings": (dict, "a mapping of settings"),
}


def read_config_file(path: Path) -> dict[str, Any]:
    """`game`, `created` and the nested `settings`, each of its type; the settings are not checked.

    Raises: FileError: it cannot be read, or lacks one of them.
    """
    try:
        found = read_settings_file(path)
    except FileError:
        raise
    except ConfigurationError as error:
        raise FileError(path, error.problem) from None
    if not found:
        raise FileError(path, "is empty")
    for name, (kind, what) in PARTS.items():
        if name not in found:
            raise FileError(path, f"has no `{name}`")
        if not isinstance(found[name], kind):
            raise FileError(path, f"`{name}` is not {what}")
    return found


def settings_in(config: Mapping[str, Any], path: Path) -> RunSettings:
    """The settings of what `read_config_file` read from `path`.

    Raises: FileError: some cannot work, or this version does not know them.
    """
    try:
        return RunSettings.from_mapping(config["settings"])
    except ConfigurationError as error:
        raise FileError(path, " ".join(str(error).split())) from None
