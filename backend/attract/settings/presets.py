"""Named sets of hyperparameters, and the precedence of the layers of a run's settings."""

from collections.abc import Mapping
from typing import Any, cast

from attract.errors import ConfigurationError
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
    "slow-page": {
        "policy": {"hidden_sizes": [128, 128], "activation": "relu"},
        "collection": {"num_workers": 2, "instances_per_worker": 4},
    },
}
"""What presets say besides the settings of algorithms."""


def _of_algorithms(preset: str) -> dict[str, Any]:
    own = {name: kind.presets[preset] for name, kind in ALGORITHM_SETTINGS.items() if preset in kind.presets}
    chosen = next((name for name, kind in ALGORITHM_SETTINGS.items() if preset in kind.chosen_by), None)
    return own if chosen is None else {"algorithm": chosen, **own}


PRESETS: Mapping[str, Mapping[str, Any]] = {
    name: {**shared, **_of_algorithms(name)} for name, shared in _SHARED.items()
}
"""What each gives. `default` gives nothing: it removes the settings of algorithms from the layers below."""

PRESET_HELP: Mapping[str, str] = {
    "default": "The defaults of all settings, without the game's recommendation.",
    "classic-control": "Small vectors and short episodes, as in CartPole: solved in seconds.",
    "reflex": "Actions pay off within a second or two: dodging, catching, balancing.",
    "puzzle": "Turn by turn, with many different positions: boards, cards, tiles.",
    "long-run": "Actions pay off hundreds of decisions later: building, racing, saving up.",
    "explore": "Random play never receives a reward: a far goal, a key before a door.",
    "pixels": "Image observations.",
    "memory": "The agent must remember earlier observations.",
    "segments-64": "Large batches of 64-step segments and one pass: for very many parallel games.",
    "slow-page": "Pages that give fewer than 1,000 decisions a second.",
}
"""When to use each preset, in one sentence."""


def layer_settings(*layers: Mapping[str, Any]) -> dict[str, Any]:
    """Nested settings as one mapping, later layers above earlier ones; values are not checked.

    The text `none` (or `null`) is None where a setting may be unset.

    A preset named in a layer is directly below that layer: above the game's recommendation if the user
    names it, below the game's own values if the game does. If settings exclude each other (S5, a rollout
    that is not a multiple of the horizon, two distributions of a parameter), the higher layer wins.
    `default` removes what lower layers give of the algorithm. `total_steps` in a layer also sets the length
    of the schedules and overrides that of lower layers.
    """
    merged: dict[str, Any] = {}
    for layer in layers:
        preset = str(layer.get("preset"))
        if preset == "default":
            merged = {name: value for name, value in merged.items() if name not in ALGORITHM_SETTINGS}
        for part in (PRESETS.get(preset, {}), with_unset(RunSettings, layer)):
            merged = _above(merged, part)
    return merged


def algorithm_for_few_steps(settings: RunSettings, action_kind: str) -> str | None:
    """The algorithm with which preset `slow-page` can train what these settings train.

    Args:
        settings: of a run.
        action_kind: of its game's actions.

    Returns: its name; None if there is no such other algorithm, or the preset is in use.
    """
    if settings.preset == "slow-page":
        return None
    for name, kind in ALGORITHM_SETTINGS.items():
        if name == settings.algorithm or action_kind in kind.refuses:
            continue
        layers = (settings.model_dump(mode="json"), {"preset": "slow-page", "algorithm": name})
        try:
            RunSettings.from_mapping(layer_settings(*layers))
        except ConfigurationError:
            continue
        return name
    return None


def _above(below: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    merged = merge_settings(below, given)
    if isinstance(given.get("parameters"), Mapping):
        # A parameter has one distribution: the given one replaces the whole lower one.
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
