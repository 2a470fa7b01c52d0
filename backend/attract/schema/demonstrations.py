"""The demonstration: what a recorded episode of a person was in version 1 of its format; only read."""

from typing import Annotated, Final, Literal

from pydantic import Field

from attract.schema.base import MAX_AGENTS, Amount, Count, FiniteModel, Name, Seed, Text

LONGEST_STEPS: Final = 65_536
PlayedAction = int | list[int] | list[float] | None
"""One agent's action of one step as the wire has it; None: it was away."""


class Demonstration(FiniteModel):
    """One played episode as it was kept."""

    version: Literal[1] = 1
    id: Name
    game_id: Name
    game_sha256: str | None = None
    seed: Seed
    episode: Count
    """With `seed` it names the random stream of the game, instance 0 (rule C5)."""
    parameters: dict[str, float] = {}
    actions: Annotated[list[list[PlayedAction]], Field(min_length=1, max_length=LONGEST_STEPS)]
    """By step and agent."""
    returns: Annotated[list[Amount], Field(min_length=1, max_length=MAX_AGENTS)]
    """Raw undiscounted return per agent."""
    num_steps: Count
    ended: bool
    """False: the player stopped before the game did."""
    created_at: Text
    player: Text = "human"
