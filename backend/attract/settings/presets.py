"""Named sets of hyperparameters, and the precedence of the layers of a run's settings."""

from collections.abc import Mapping
from typing import Any, cast

from attract.settings.fields import with_unset
from attract.settings.ppo import PpoSettings
from attract.settings.run import RunSettings, merge_settings

PRESETS: Mapping[str, Mapping[str, Any]] = {
    "default": {"ppo": PpoSettings().model_dump(mode="json")},
    "classic-control": {
        "policy": {"shared_trunk": True},
        "ppo": {
            "horizon": 32,
            "minibatch_steps": 512,
            "n_epochs": 4,
            "learning_rate": 2.5e-3,
            "gamma": 0.98,
            "gae_lambda": 0.9,
            "entropy_coef": 0.0,
            "target_kl": 0.1,
        },
    },
    "reflex": {"ppo": {"gamma": 0.98, "gae_lambda": 0.9}},
    "puzzle": {"policy": {"hidden_sizes": [128, 128]}},
    "long-run": {"ppo": {"horizon": 128, "gamma": 0.998, "gae_lambda": 0.97}},
    "explore": {
        "exploration": "rnd",
        # The intrinsic reward explores, so a small entropy bonus is enough. The short discount makes detours
        # costly: otherwise the most probable actions walk in circles where sampled ones reach the goal.
        "ppo": {"horizon": 128, "gamma": 0.98, "gae_lambda": 0.95, "entropy_coef": 0.001},
    },
    "pixels": {
        "ppo": {"horizon": 64, "learning_rate": 7e-4, "n_epochs": 3},
        "collection": {"instances_per_worker": 32},
    },
    "memory": {
        "policy": {"recurrent": "lstm", "shared_trunk": True},
        "ppo": {"learning_rate": 1e-3, "num_minibatches": 8, "entropy_coef": 0.02},
    },
    "segments-64": {
        "ppo": {
            "horizon": 64,
            "num_minibatches": 32,
            "n_epochs": 1,
            "gamma": 0.977,
            "gae_lambda": 0.916,
            "clip_range": 0.1,
            "value_coef": 0.44,
            "entropy_coef": 0.0021,
            "max_grad_norm": 0.5,
        }
    },
}

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
}
"""When to use each preset, in one sentence."""


def layer_settings(*layers: Mapping[str, Any]) -> dict[str, Any]:
    """Nested settings as one mapping, later layers above earlier ones; values are not checked.

    The text `none` (or `null`) is None where a setting may be unset.

    A preset named in a layer is directly below that layer: above the game's recommendation if the user
    names it, below the game's own values if the game does. If settings exclude each other (S5, a rollout
    that is not a multiple of the horizon, two distributions of a parameter), the higher layer wins.
    `total_steps` in a layer also sets the length of the schedules and overrides that of lower layers.
    """
    merged: dict[str, Any] = {}
    for layer in layers:
        for part in (PRESETS.get(str(layer.get("preset")), {}), with_unset(RunSettings, layer)):
            merged = _above(merged, part)
    return merged


def _above(below: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    merged = merge_settings(below, given)
    if isinstance(given.get("parameters"), Mapping):
        # A parameter has one distribution: the given one replaces the whole lower one.
        merged["parameters"] |= given["parameters"]
    ppo, chosen = merged.get("ppo"), given.get("ppo", {})
    if not isinstance(ppo, dict) or not isinstance(chosen, Mapping):
        return merged
    kept, named = cast("dict[str, Any]", ppo), cast("Mapping[str, Any]", chosen)
    if given.get("total_steps") is not None and named.get("schedule_steps") is None:
        kept.pop("schedule_steps", None)
    one, other = "minibatch_steps", "num_minibatches"
    for first, second in ((one, other), (other, one)):
        if named.get(first) is not None and named.get(second) is None:
            kept.pop(second, None)
    horizon, rollout = named.get("horizon"), kept.get("rollout_steps")
    if isinstance(horizon, int) and isinstance(rollout, int) and "rollout_steps" not in named:
        fits = horizon >= 1 and rollout % horizon == 0
        kept["rollout_steps"] = rollout if fits else None
    return merged
