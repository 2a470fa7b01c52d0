"""Names of the players of a playtest: those that `web/playtest/src/players.ts` knows."""

from collections.abc import Sequence
from typing import Final

from attract.playtest.policies import TRAINED
from attract.schema.game import GameDescription
from attract.schema.spaces import ActionSpace, BoxSpace, DiscreteSpace

MAX_HELD: Final = 24
HOWS: Final = ("greedy", "sampled", "clumsy", "excursions")
"""How a trained policy plays; a younger version plays `greedy` alone."""


def held_actions(action: ActionSpace) -> int:
    """Number of held actions of a space, from 1 to 24: the length of `heldActions` of the browser's side."""
    if isinstance(action, BoxSpace):
        held = 2 * action.size
    elif isinstance(action, DiscreteSpace):
        held = action.n
    else:
        held = sum(choices - 1 for choices in action.choices)
    return min(MAX_HELD, max(1, held))


def crowd(description: GameDescription, policies: Sequence[str], num_recorded: int) -> list[str]:
    """Names of all players of a game, in the order of their turns: a short budget reaches the first alone.

    Args:
        policies: names of the policies that take part.
        num_recorded: episodes that are played again.
    """
    held = [f"hold-{k}" for k in range(held_actions(description.action))]
    trained = [f"{TRAINED}:{how}" for how in HOWS] if TRAINED in policies else []
    younger = [f"{name}:greedy" for name in policies if name != TRAINED]
    recorded = [f"recorded-{k}" for k in range(num_recorded)]
    return ["idle", "random", "sticky", "novelty", *trained, *younger, *recorded, *held]
