"""The space that a study searches: settings by dotted name, each with a range or a list of values."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from pydantic import TypeAdapter, ValidationError

from attract.errors import ConfigurationError, nearest_name
from attract.schema.game import GameDescription
from attract.schema.spaces import BoxSpace, MixedSpace
from attract.settings.errors import refusal
from attract.settings.file import read_settings_file
from attract.settings.presets import layer_settings
from attract.settings.run import ALGORITHM_SETTINGS, RunSettings
from attract.settings.variables import SETTING_VARIABLES

NOT_SEARCHED = (
    *("seed", "total_steps", "until_return", "until_win_rate", "self_play.against"),
    *("collection.num_workers", "preset", "parameters"),
)
"""They are the measure, or what is measured with."""
ABSENT = object()
SETTING_NAMES = tuple(".".join(map(str, path)) for path in SETTING_VARIABLES.values())


@dataclass(frozen=True)
class Range:
    """Numbers from `low` to `high`, both of them included."""

    low: float
    high: float
    log: bool
    """Drawn evenly by their logarithm."""
    whole: bool

    def holds(self, value: Any) -> bool:
        """Whether `value` is one of them."""
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return is_number and self.low <= value <= self.high

    @property
    def samples(self) -> tuple[Any, ...]:
        """Values which stand for all when it is checked what a run takes."""
        return (int(self.low), int(self.high)) if self.whole else (self.low, self.high)


@dataclass(frozen=True)
class Choice:
    """One of several values, in no order."""

    values: tuple[Any, ...]

    def holds(self, value: Any) -> bool:
        """Whether `value` is one of them."""
        return any(value == choice and type(value) is type(choice) for choice in self.values)

    @property
    def samples(self) -> tuple[Any, ...]:
        return self.values


Domain = Range | Choice
Space = dict[str, Domain]
"""By dotted name, in a fixed order."""
SPACE_DATA: Final = TypeAdapter(Space)
"""As JSON."""


def nested(values: Mapping[str, Any]) -> dict[str, Any]:
    """Settings by dotted name as nested mappings."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        *sections, last = name.split(".")
        place = found
        for section in sections:
            place = place.setdefault(section, {})
        place[last] = value
    return found


def value_at(settings: Mapping[str, Any], name: str, absent: Any = None) -> Any:
    """The value of a dotted name in nested settings; `absent` where it is not given."""
    place: Any = settings
    for part in name.split("."):
        if not isinstance(place, Mapping) or part not in place:
            return absent
        place = cast("Mapping[str, Any]", place)[part]
    return place


def base_values(settings: RunSettings, names: Sequence[str]) -> dict[str, Any]:
    """The values of these settings in `settings`, as plain data."""
    whole = settings.model_dump(mode="json")
    return {name: value_at(whole, name) for name in names}


def promising_values(space: Space, usual: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Values for the first trials, by dotted name, restricted to the space.

    Args:
        space: what is searched.
        usual: the defaults' values of it.
    """
    found: list[dict[str, Any]] = []
    for algorithm, kind in ALGORITHM_SETTINGS.items():
        own = {name.removeprefix(f"{algorithm}."): usual[name] for name in space if name in usual}
        found += [_under(algorithm, changes) for changes in kind.promising(own)]
    return [
        each
        for each in found
        if all(name in space and space[name].holds(value) for name, value in each.items())
    ]


def default_space(settings: RunSettings, description: GameDescription | None) -> Space:
    """The default search space: around the run's own values, which are always in it.

    Args:
        settings: those of the defaults.
        description: of the game; None: not known.
    """
    policy, games = settings.policy, settings.collection.instances_per_worker
    algorithm = settings.algorithm_settings
    space: dict[str, Any] = {
        **_under(settings.algorithm, algorithm.search_space),
        "policy.hidden_sizes": _choice(list(policy.hidden_sizes), [64, 64], [128, 128], [64]),
        "collection.instances_per_worker": _choice(games, *algorithm.studied_copies),
    }
    if not algorithm.shares_trunk:
        space["policy.shared_trunk"] = [False, True]
    if description is not None and isinstance(description.action, BoxSpace | MixedSpace):
        # Left empty it stands for one of these, which is then no other value.
        used = policy.log_std_for(is_mixed=isinstance(description.action, MixedSpace))
        others = (value for value in (-0.5, 0.0, 0.5) if value != used)
        space["policy.log_std_init"] = [policy.log_std_init, *others]
    return {
        name: Range(**said, whole=False) if isinstance(said, dict) else Choice(tuple(said))
        for name, said in space.items()
    }


def _under(algorithm: str, values: Mapping[str, Any]) -> dict[str, Any]:
    return {f"{algorithm}.{name}": value for name, value in values.items()}


def _choice(base: Any, *values: Any) -> list[Any]:
    return [base, *(value for value in values if value != base)]


def search_space(
    settings: RunSettings,
    given: Mapping[str, Any],
    description: GameDescription | None,
    searched: Mapping[str, Domain | None],
) -> Space:
    """The space of a study: the default one without the fixed settings, with those to search.

    Args:
        settings: those of the defaults: the game's and those given.
        given: nested, by file, variables or flags: these stay as they are.
        description: of the game; None: not known.
        searched: by dotted name, see `read_search`.

    Raises: ConfigurationError: when nothing is left, or a run could not have one of the values.
    """
    base, fixed = settings.model_dump(mode="json"), layer_settings(given)
    space: Space = {}
    for name, domain in default_space(settings, description).items():
        is_fixed = value_at(fixed, name, ABSENT) is not ABSENT
        if name not in searched and not is_fixed and _fits(base, name, domain):
            space[name] = domain
    space |= {name: domain for name, domain in searched.items() if domain is not None}
    if not space:
        raise ConfigurationError(
            "every setting that is searched is fixed",
            fix="give fewer settings, or name some in --search FILE",
        )
    for name, domain in space.items():
        for value in domain.samples:
            _check(base, name, value)
    return space


def _fits(settings: Mapping[str, Any], name: str, domain: Domain) -> bool:
    try:
        for value in domain.samples:
            _check(settings, name, value)
    except ConfigurationError:
        return False
    return True


def _check(settings: Mapping[str, Any], name: str, value: Any) -> None:
    merged = layer_settings(settings, nested({name: value}))
    try:
        RunSettings.model_validate(merged)
    except ValidationError as error:
        raise refusal(error, RunSettings, merged) from None


def read_search(path: Path) -> dict[str, Domain | None]:
    """The contents of a `--search` file: by dotted name a range, a list, or None: not searched.

    Raises: ConfigurationError: when it cannot be read, or says what no search can do.
    """
    return {
        str(name): _domain(str(name), said, path) for name, said in _flat(read_settings_file(path)).items()
    }


def _flat(values: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """Nested sections by dotted name; a mapping with `low` is a range."""
    found: dict[str, Any] = {}
    for key, value in values.items():
        name = f"{above}{key}"
        if isinstance(value, Mapping) and name not in SETTING_NAMES and not {"low", "high"} & set(value):
            found |= _flat(cast("Mapping[str, Any]", value), f"{name}.")
        else:
            found[name] = value
    return found


def _domain(name: str, said: Any, path: Path) -> Domain | None:
    where = f"{name} in {path}"
    if name not in SETTING_NAMES:
        near = nearest_name(name, SETTING_NAMES)
        raise ConfigurationError(
            "there is no such setting", setting=where, fix=near and f"did you mean {near}?"
        )
    if name in NOT_SEARCHED:
        raise ConfigurationError(
            "is not searched: trials are compared with it fixed", setting=where, fix="give it as a flag"
        )
    if said is None:
        return None
    if isinstance(said, Mapping):
        return _range(cast("Mapping[str, Any]", said), where)
    if isinstance(said, list) and said and all(map(_is_value, cast("list[Any]", said))):
        return Choice(tuple(cast("list[Any]", said)))
    raise ConfigurationError(
        f"must be a range, a list of values, or null (got {json.dumps(said, default=str)[:100]})",
        setting=where,
        fix="e.g. {low: 0.0005, high: 0.01, log: true}, or [64, 128]; null is not searched",
    )


def _range(said: Mapping[str, Any], where: str) -> Range:
    low, high, log = said.get("low"), said.get("high"), said.get("log", False)
    unknown = sorted(set(map(str, said)) - {"low", "high", "log"})
    if unknown:
        raise ConfigurationError(
            f"a range has low, high and log, not {', '.join(unknown)}", setting=where, fix="leave it out"
        )
    if not _is_number(low) or not _is_number(high) or not isinstance(log, bool):
        raise ConfigurationError(
            "a range needs the numbers low and high; log is true or false",
            setting=where,
            fix="e.g. {low: 0.0005, high: 0.01, log: true}",
        )
    low, high = cast("float", low), cast("float", high)
    if low >= high:
        raise ConfigurationError(f"low {low:g} is not below high {high:g}", setting=where)
    if log and low <= 0:
        raise ConfigurationError(f"low {low:g} has no logarithm", setting=where, fix="a low above 0 works")
    whole = isinstance(low, int) and isinstance(high, int)
    return Range(low, high, log=log, whole=whole)


def _is_value(value: Any) -> bool:
    if isinstance(value, list):
        return all(isinstance(part, int) for part in cast("list[Any]", value))
    return value is None or isinstance(value, str | bool) or _is_number(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
