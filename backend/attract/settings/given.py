"""Given settings, in layers that know their source, so that a refusal can name it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any, cast

from pydantic import ValidationError

from attract.errors import ConfigurationError
from attract.settings.base import variable
from attract.settings.errors import Path, Spell, dotted, refusal
from attract.settings.file import read_settings_file
from attract.settings.presets import layer_settings
from attract.settings.run import RunSettings
from attract.settings.variables import given_by_variables

ALIASES: Mapping[str, Path] = {
    "workers": ("collection", "num_workers"),
    "max_workers": ("collection", "max_workers"),
    "instances": ("collection", "instances_per_worker"),
    "seats": ("self_play", "seats"),
    "demonstrations": ("cloning", "demonstrations"),
}
"""Shorter flags of `attract train`, as its parameters are called, and the setting each gives."""

PARAMETERS_FIX = 'e.g. {"size": 10} or {"size": {"uniform": [6, 20]}}'


@dataclass(frozen=True)
class Layer:
    """Run settings that were given in one place, and how a setting is written there."""

    values: Mapping[str, Any]
    """Nested; unchecked."""
    spell: Spell = dotted


@dataclass(frozen=True)
class LayeredSettings:
    """A run's settings after their only check, and the layers that they came from; `join_layers` makes it."""

    run: RunSettings
    layers: tuple[Layer, ...]
    """Lowest first; the first is what stands below the given ones."""

    @property
    def beneath(self) -> Mapping[str, Any]:
        """Nested settings of the game, or of the resumed run."""
        return self.layers[0].values

    @property
    def given(self) -> dict[str, Any]:
        """Nested settings of the layers above the first."""
        return layer_settings(*(layer.values for layer in self.layers[1:]))

    def spell(self, *path: str) -> str:
        """A setting's name as it was written where it was given."""
        return _origin(self.layers, path)


def from_flags(values: Mapping[str, Any]) -> Layer:
    """The layer from flags of settings, as nested texts.

    Raises: ConfigurationError: for parameters that are no JSON.
    """
    return _from_texts(values, flag)


def from_aliases(**texts: str | None) -> Layer:
    """The layer from the flags of `ALIASES`; None: not given."""
    values: dict[str, Any] = {}
    names: dict[Path, str] = {}
    for alias, text in texts.items():
        section, name = ALIASES[alias]
        names[section, name] = flag((alias,))
        if text is not None:
            values.setdefault(str(section), {})[name] = text
    return _from_texts(values, lambda path: names.get(path, flag(path)))


def from_variables(environment: Mapping[str, str]) -> Layer:
    """The layer from `ATTRACT_*` variables. Raises: ConfigurationError: for parameters that are not JSON."""
    return _from_texts(
        given_by_variables(environment),
        lambda path: variable(*(part for part in path if isinstance(part, str))),
    )


def from_values(values: Mapping[str, Any], place: str) -> Layer:
    """The layer of settings from a file; `place` names it."""
    return Layer(values, lambda path: f"{dotted(path)} in {place}" if path else place)


def from_file(path: FilePath | None) -> Layer:
    """The layer from a YAML file; empty without one.

    Raises: ConfigurationError: when it cannot be read or is no mapping.
    """
    if path is None:
        return Layer({})
    return from_values(read_settings_file(path), str(path))


def join_layers(beneath: Layer, *given: Layer) -> LayeredSettings:
    """The settings of a run from layers, later ones above earlier ones, as `layer_settings` does.

    Args:
        beneath: what stands below those given now: a game's own settings, or a resumed run's.
        given: those given now.

    Raises: ConfigurationError: for what no run could have, naming each setting as it was written.
    """
    layers = (beneath, *given)
    merged = layer_settings(*(layer.values for layer in layers))
    try:
        return LayeredSettings(RunSettings.model_validate(merged), layers)
    except ValidationError as error:
        raise refusal(error, RunSettings, merged, lambda path: _origin(layers, path)) from None


def flag(path: Path) -> str:
    """The flag of a setting, such as `--ppo.n-epochs`; names that a user chose stay as they are."""
    is_own = path[:1] == ("parameters",)
    names = (part if is_own else part.replace("_", "-") for part in path if isinstance(part, str))
    return "--" + ".".join(names)


def _origin(layers: Sequence[Layer], path: Path) -> str:
    """The setting's name as it was written; a missing one is named as its section was."""
    for length in range(len(path), 0, -1):
        for layer in reversed(layers):
            if _holds(layer.values, path[:length]):
                return layer.spell(path)
    return dotted(path)


def _holds(values: Any, path: Path) -> bool:
    for part in path:
        if isinstance(values, Mapping) and part in values:
            values = cast("Mapping[Any, Any]", values)[part]
        elif not isinstance(part, int):
            return False
    return True


def _from_texts(values: Mapping[str, Any], spell: Spell) -> Layer:
    found = _with_numbers(values)
    if isinstance(text := found.get("parameters"), str):
        try:
            found["parameters"] = json.loads(text)
        except (ValueError, RecursionError) as error:
            where = spell(("parameters",))
            raise ConfigurationError(
                f"is not valid JSON: {error}", setting=where, fix=PARAMETERS_FIX
            ) from None
    return Layer(found, spell)


def _with_numbers(values: Mapping[str, Any]) -> dict[str, Any]:
    """The same with numbers for texts that are numbers: layers are fitted to them before they are checked."""
    return {
        name: _with_numbers(cast("Mapping[str, Any]", value))
        if isinstance(value, Mapping)
        else _number(value)
        for name, value in values.items()
    }


def _number(value: Any) -> Any:
    for kind in (int, float):
        try:
            return kind(value) if isinstance(value, str) else value
        except ValueError:
            continue
    return value
