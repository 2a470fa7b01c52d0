"""The environment variables that are read: one meaning each, whatever the command."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, get_args

from pydantic import BaseModel

from attract.errors import nearest_name
from attract.settings.base import Settings
from attract.settings.errors import Path
from attract.settings.run import SERVER_VARIABLES, RunSettings

PREFIX: Final = "ATTRACT_"
OTHER_VARIABLES: Final = {
    "ATTRACT_CHROMIUM": "the browser to start; by default the first that is found",
    "ATTRACT_CHROMIUM_SANDBOX": "off: start Chromium without its sandbox",
    "ATTRACT_SKIP_WEB_BUILD": "read when a wheel is built: leave out the web side",
}
"""Variables that are neither a setting's nor the server's."""


def _settings(kind: type[BaseModel], path: Path = ()) -> Iterator[Path]:
    for name, field in kind.model_fields.items():
        section = _section(field.annotation)
        yield from [(*path, name)] if section is None else _settings(section, (*path, name))


def _section(annotation: Any) -> type[BaseModel] | None:
    """The class of an annotation `X` or `X | None`."""
    is_union = type(None) in get_args(annotation)
    for one in (annotation, *(get_args(annotation) if is_union else ())):
        if isinstance(one, type) and issubclass(one, Settings):
            return one
    return None


def _variable(path: Path) -> str:
    return PREFIX + "_".join(str(part).upper() for part in path)


SETTING_VARIABLES: Final[Mapping[str, Path]] = {
    _variable(path): path for path in _settings(RunSettings) if path != ("curriculum", "lessons")
}
"""Environment variable to the run setting it gives, read by `attract train`; lessons are for files."""


def given_by_variables(environment: Mapping[str, str]) -> dict[str, Any]:
    """Run settings from `ATTRACT_*` variables as nested texts, unchecked; an empty variable is none."""
    found: dict[str, Any] = {}
    for variable, (*sections, name) in SETTING_VARIABLES.items():
        text = environment.get(variable, "").strip()
        if not text:
            continue
        place = found
        for section in sections:
            place = place.setdefault(str(section), {})
        place[str(name)] = None if text.lower() in ("none", "null") and _may_be_none(variable) else text
    return found


def unread_variables(environment: Mapping[str, str], flags: Callable[[], Mapping[str, str]]) -> list[str]:
    """A warning for each variable with our prefix that nothing reads.

    Args:
        environment: of the process.
        flags: gives the flags of commands by the variable that somebody might take for theirs.
    """
    known = {*SETTING_VARIABLES, *SERVER_VARIABLES, *OTHER_VARIABLES}
    warnings: list[str] = []
    unread = sorted(name for name in environment if name.startswith(PREFIX) and name not in known)
    by_variable = flags() if unread else {}
    for name in unread:
        near = nearest_name(name.removeprefix(PREFIX), [one.removeprefix(PREFIX) for one in known])
        if name in by_variable:
            hint = f"give {by_variable[name]} instead"
        elif near is not None:
            hint = f"did you mean {PREFIX}{near}?"
        else:
            hint = "docs/commands.md lists those that are"
        warnings.append(f"{name} is not read: {hint}")
    return warnings


def _may_be_none(variable: str) -> bool:
    """Whether "none" means that nothing is set, and is not a name among others such as `recurrent: none`."""
    kind: Any = RunSettings
    for part in SETTING_VARIABLES[variable]:
        section = _section(kind)
        kind = None if section is None else section.model_fields[str(part)].annotation
    return type(None) in get_args(kind)
