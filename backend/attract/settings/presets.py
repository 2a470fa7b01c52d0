"""Named sets of hyperparameters, and how the layers of a run's settings stand above each other."""

from collections.abc import Mapping
from typing import Any, cast

from attract.settings.fields import with_unset
from attract.settings.run import ALGORITHM_SETTINGS, RunSettings, merge_settings

_SHARED: Mapping[str, Mapping[str, Any]] = {
    "default": {},
    "classic-control": {"policy": {"shared_trunk": True}},
    "reflex": {},
    "puzzle": {"policy": {"hidden_sizes": [128, 128]}},
    "long-run": {},
    "explore": {"exploration": "rnd"},
    "pixels": {"collection": {"instances_per_worker": 32}},
    "memory": {"policy": {"recurrent": "lstm", "shared_trunk": True}},
    "segments-64": {},
}
"""What presets say besides the settings of algorithms."""


def _of_algorithms(preset: str) -> dict[str, Any]:
    if preset == "default":
        defaults = RunSettings().model_dump(mode="json")
        return {name: defaults[name] for name in ALGORITHM_SETTINGS}
    return {name: kind.presets[preset] for name, kind in ALGORITHM_SETTINGS.items() if preset in kind.presets}


PRESETS: Mapping[str, Mapping[str, Any]] = {
    name: {**shared, **_of_algorithms(name)} for name, shared in _SHARED.items()
}

PRESET_HELP: Mapping[str, str] = {
    "default": "The settings' own defaults, whatever the game recommends.",
    "classic-control": "Small vectors and short episodes, as in CartPole: solved in seconds.",
    "reflex": "What an action is worth shows within a second or two: dodging, catching, balancing.",
    "puzzle": "Turn by turn, with many different positions: boards, cards, tiles.",
    "long-run": "What an action is worth shows hundreds of decisions later: building, racing, saving up.",
    "explore": "Random play never earns anything: a far goal, a key before a door.",
    "pixels": "The observation is a picture.",
    "memory": "What was seen earlier matters later, and the observation no longer shows it.",
    "segments-64": "Large batches of 64-step segments, passed over once: for very many games at once.",
}
"""When to take each preset, in a sentence."""


def layer_settings(*layers: Mapping[str, Any]) -> dict[str, Any]:
    """Nested settings as one mapping, later layers above earlier ones; values are not checked.

    The text `none` (or `null`) is None where a setting may be unset.

    A preset named in a layer stands directly beneath that layer: above what a game recommends when the user
    names it, beneath a game's own values when the game does. Of settings that exclude each other (S5, a
    rollout that is no multiple of the horizon, two distributions of a parameter) the one of the higher layer
    stays. `total_steps` given in a layer ends the schedules too, whatever a lower layer has them run over.
    """
    merged: dict[str, Any] = {}
    for layer in layers:
        for part in (PRESETS.get(str(layer.get("preset")), {}), with_unset(RunSettings, layer)):
            merged = _above(merged, part)
    return merged


def _above(below: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    merged = merge_settings(below, given)
    if isinstance(given.get("parameters"), Mapping):
        # A parameter has one distribution: the one given replaces what was below it whole.
        merged["parameters"] |= given["parameters"]
    for section, kind in ALGORITHM_SETTINGS.items():
        own, chosen = merged.get(section), given.get(section, {})
        if not isinstance(own, dict) or not isinstance(chosen, Mapping):
            continue
        kept, named = cast("dict[str, Any]", own), cast("Mapping[str, Any]", chosen)
        if given.get("total_steps") is not None and named.get("schedule_steps") is None:
            kept.pop("schedule_steps", None)
        kind.drop_excluded(kept, named)
    return merged
