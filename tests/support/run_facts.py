"""Facts of a run for the diagnosis, by the few that a test is about, in an ordinary game."""

from collections.abc import Mapping
from typing import Any

from attract.diagnosis.sign import RunFacts
from attract.schema.game import GameDescription
from attract.settings.run import RunSettings

ACTIONS = {
    "discrete": {"kind": "discrete", "n": 3},
    "continuous": {"kind": "box", "shape": [1], "low": -1.0, "high": 1.0},
}


def run_facts(
    settings: Mapping[str, Any] | None = None,
    *,
    action: str = "discrete",
    num_numbers: int = 33,
    max_steps: int | None = None,
    num_cores: int = 2,
    starts_untrained: bool = True,
    **game: Any,
) -> RunFacts:
    """Facts of a run whose game takes `action` and observes one vector.

    Args:
        settings: of the run, nested; defaults beneath.
        action: a key of `ACTIONS`.
        num_numbers: of the observation; from 33 on they have no names.
        max_steps: the game's time limit.
        num_cores: of the machine.
        starts_untrained: whether the first policy was random.
        game: further fields of its description.
    """
    described = {
        "id": "Counting-v1",
        "tick_seconds": 0.1,
        "seconds_per_step": 0.1,
        "ticks_per_step": 1,
        "max_seconds": None if max_steps is None else max_steps / 10,
        "max_steps": max_steps,
        "observation": {"kind": "box", "shape": [num_numbers]},
        "action": ACTIONS[action],
    }
    return RunFacts(
        RunSettings.from_mapping(settings or {}),
        GameDescription.model_validate({**described, **game}),
        num_cores=num_cores,
        starts_untrained=starts_untrained,
    )
