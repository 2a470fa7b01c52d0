"""The environment variables that are read; each has the same meaning for all commands."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from pydantic import BaseModel

from attract.errors import nearest_name
from attract.settings.base import PREFIX, variable
from attract.settings.errors import Path
from attract.settings.fields import section_of
from attract.settings.run import SERVER_VARIABLES, RunSettings

OTHER_VARIABLES: Final = {
    "ATTRACT_CHROMIUM": "Path of the browser to start; by default the first one found.",
    "ATTRACT_CHROMIUM_SANDBOX": "`off`: start Chromium without its sandbox, for containers without user "
    "namespaces.",
    "ATTRACT_SKIP_WEB_BUILD": "While a wheel is built: leave out the web side.",
}
"""Other variables, and their meaning."""


def _settings(kind: type[BaseModel], path: Path = ()) -> Iterator[Path]:
    for name, field in kind.model_fields.items():
        section = section_of(field.annotation)
        yield from [(*path, name)] if section is None else _settings(section, (*path, name))


SETTING_VARIABLES: Final[Mapping[str, Path]] = {
    variable(*map(str, path)): path for path in _settings(RunSettings) if path != ("curriculum", "lessons")
}
"""Environment variable to the run setting it gives, read by `attract train`; lessons need a file."""


def given_by_variables(environment: Mapping[str, str]) -> dict[str, Any]:
    """Run settings from `ATTRACT_*` variables as nested texts, unchecked; an empty variable is none."""
    found: dict[str, Any] = {}
    for source, (*sections, name) in SETTING_VARIABLES.items():
        text = environment.get(source, "").strip()
        if not text:
            continue
        place = found
        for section in sections:
            place = place.setdefault(str(section), {})
        place[str(name)] = text
    return found


def unread_variables(environment: Mapping[str, str], flags: Callable[[], Mapping[str, str]]) -> list[str]:
    """A warning for each variable with our prefix that nothing reads.

    Args:
        environment: of the process.
        flags: gives the flags of commands, by the variable that a user might expect to set them.
    """
    known = {*SETTING_VARIABLES, *SERVER_VARIABLES, *OTHER_VARIABLES}
    warnings: list[str] = []
    unread = sorted(name for name in environment if name.startswith(PREFIX) and name not in known)
    by_variable = flags() if unread else {}
    for name in unread:
        near = nearest_name(name.removeprefix(PREFIX), [other.removeprefix(PREFIX) for other in known])
        if name in by_variable:
            hint = f"give {by_variable[name]} instead"
        elif near is not None:
            hint = f"did you mean {PREFIX}{near}?"
        else:
            hint = "a setting such as `policy.hidden-sizes` has the variable ATTRACT_POLICY_HIDDEN_SIZES"
        warnings.append(f"{name} is not read: {hint}")
    return warnings
