"""Names of the players of a playtest: equal to those that `web/worker/src/playtest` knows."""

from collections.abc import Sequence
from typing import Final

from attract.schema.game import GameDescription
from attract.schema.spaces import ActionSpace

MAX_HELD: Final = 24
HOWS: Final = ("greedy", "sampled", "clumsy", "excursions")


def held_actions(action: ActionSpace) -> int:
    """Number of held actions of a space."""
    return min(MAX_HELD, sum(action.choices) or 2 * action.size)  # type: ignore[union-attr]


def crowd(description: GameDescription, policies: Sequence[str], num_recorded: int) -> list[str]:
    """All players."""
    held = [f"hold-{k}" for k in range(held_actions(description.action))]
    trained = [f"trained:{how}" for how in HOWS] if "trained" in policies else []
    others = [f"{name}:greedy" for name in policies if name != "trained"]
    recorded = [f"recorded-{k}" for k in range(num_recorded)]
    return ["idle", *held, "random", "sticky", "novelty", *trained, *others, *recorded]
