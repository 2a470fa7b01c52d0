"""What a run uses of settings that are left to it: from the game, from other settings, or decided later."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from attract.run.plan import collection_config
from attract.run.plan_text import chooses_plainly, sees_pictures, why_autograd
from attract.schema.game import GameDescription, GameReference
from attract.settings.algorithm import GameContext
from attract.settings.run import RunSettings
from attract.settings.schema import run_settings_schema, setting_paths
from attract.settings.self_play import NEWEST

DERIVED: Final = (
    "collection.max_workers",
    "collection.instances_per_worker",
    "collection.seats",
    "self_play.save_steps",
    "self_play.seats",
    "collection.desync_steps",
    "policy.activation",
    "policy.log_std_init",
)
"""Paths of the settings besides the algorithm's that depend on the game where they are empty."""
NO_GAME: Final = "Depends on the game, which has not been loaded yet."
DEVICE: Final = "cuda where torch finds a GPU, else cpu. The learner looks when it starts."
THREADS: Final = "The learner decides when it starts, from the free cores of its machine."
GRADIENTS: Final = "Written out if the learner computes on a CPU, else by torch. It looks when it starts."


@dataclass(frozen=True)
class ResolvedSettings:
    """Both by path (`ppo.gae_lambda`); settings in neither are used as they stand."""

    values: Mapping[str, Any]
    """What the run uses of each setting that is empty (None: nothing), and of each that is overruled."""
    undecided: Mapping[str, str]
    """For each that is known only once the run begins: what decides it, a sentence."""


def resolve_settings(
    settings: RunSettings, game: str, description: GameDescription | None
) -> ResolvedSettings:
    """What a new run of `game` uses with `settings`.

    Args:
        description: what the game says of itself; None: not known, then what depends on it is undecided.

    Raises: ConfigurationError: the game cannot be played with these settings.
    """
    given = {path: _value_at(settings, path) for path in _paths()}
    found: dict[str, Any] = {path: None for path, value in given.items() if value is None}
    undecided = dict[str, str]()
    _resolve_machine(settings, description, found, undecided)
    found |= _under(settings, settings.algorithm_settings.resolve(settings.context))
    found["collection.max_policy_lag"] = settings.collection.policy_lag
    found["policy.shared_trunk"] = settings.policy.shared_trunk or settings.algorithm_settings.shares_trunk
    if description is None:
        derived = [*DERIVED, *_under(settings, dict.fromkeys(settings.algorithm_settings.derived))]
        undecided |= {path: NO_GAME for path in derived if given[path] in (None, ())}
    else:
        _resolve_for_game(settings, game, description, found, undecided)
    values = {
        path: value
        for path, value in found.items()
        if path not in undecided and (given[path] is None or value != given[path])
    }
    return ResolvedSettings(values, undecided)


def _resolve_machine(
    settings: RunSettings,
    description: GameDescription | None,
    found: dict[str, Any],
    undecided: dict[str, str],
) -> None:
    if settings.device == "auto":
        undecided["device"] = DEVICE
    if settings.learner_threads == 0:
        undecided["learner_threads"] = THREADS
    if settings.learner != "auto":
        return
    if description is None:
        undecided["learner"] = GRADIENTS
    elif why_autograd(settings, description) is not None:
        found["learner"] = "autograd"
    elif settings.device == "auto":
        undecided["learner"] = GRADIENTS


def _resolve_for_game(
    settings: RunSettings,
    game: str,
    description: GameDescription,
    found: dict[str, Any],
    undecided: dict[str, str],
) -> None:
    reference = GameReference(name=game, sha256="0" * 64, url="")
    config = collection_config(settings, "plan", reference).fitted(description)
    seating = config.seating
    found |= {
        # As many as are kept rows for; central inference takes no more than are expected.
        "collection.max_workers": config.row_workers,
        "collection.instances_per_worker": config.num_instances,
        "collection.seats": list(seating.seats),
        "self_play.save_steps": config.save_steps,
        "self_play.seats": list(settings.self_play.seats) or [NEWEST] * description.num_agents,
        "collection.desync_steps": config.desync_limit,
        "collection.warmup_steps": config.settings.warmup_steps,
        "policy.activation": settings.policy.activation_for(
            is_plain=chooses_plainly(description),
            shares_trunk=settings.policy.shared_trunk or settings.algorithm_settings.shares_trunk,
        ),
        "policy.log_std_init": settings.policy.log_std_for(is_mixed=description.action.kind == "mixed"),
        f"{settings.algorithm}.batch_segments": config.batch_target(),
    }
    known = GameContext(
        batches=config.batch_targets,
        sees_pictures=sees_pictures(description),
        has_opponents=any(len(seating.agents_of(policy_id)) > 1 for policy_id in seating.policy_ids),
    )
    values, reasons = settings.algorithm_settings.resolve_for_game(settings.context, known)
    found |= _under(settings, values)
    undecided |= _under(settings, reasons)


def _under(settings: RunSettings, values: Mapping[str, Any]) -> dict[str, Any]:
    """The algorithm's own settings by path."""
    return {f"{settings.algorithm}.{name}": value for name, value in values.items()}


@cache
def _paths() -> list[str]:
    return [path for path, _ in setting_paths(run_settings_schema())]


def _value_at(settings: RunSettings, path: str) -> Any:
    value: Any = settings
    for name in path.split("."):
        value = getattr(value, name)
    return value
