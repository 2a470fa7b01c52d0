"""Names of the players of a playtest: equal to those that `web/worker/src/playtest` knows."""

from collections.abc import Sequence
from typing import Final

from attract.schema.game import GameDescription
from attract.schema.spaces import ActionSpace

MAX_HELD: Final = 24


def held_actions(action: ActionSpace) -> int:
    """Number of held actions of a space."""
    return min(MAX_HELD, sum(action.choices) or 2 * action.size)  # type: ignore[union-attr]


def crowd(description: GameDescription, policies: Sequence[str], num_recorded: int) -> list[str]:
    """All players."""
    held = [f"hold-{k}" for k in range(held_actions(description.action))]
    return ["idle", *held, "random", "sticky", "novelty"]
