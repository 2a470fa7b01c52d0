"""Shapes and dtypes of what one game's slots see and do, as central inference needs them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from attract.experience.layout import PolicyLayout, StoreLayout, observation_fields
from attract.schema.game import GameDescription


@dataclass(frozen=True)
class VectorLayout:
    """Derived from the store's own layout, so that what is built here always fits there."""

    horizon: int
    """Steps per segment."""
    num_agents: int
    ticks_per_step: int
    observations: Mapping[str, tuple[str, tuple[int, ...]]]
    """Dtype and shape per key, keys sorted; a plain box is `obs`."""
    action_dtype: str
    action_shape: tuple[int, ...]
    num_actions: int | None
    """n of a discrete action space, else None."""
    mask_size: int
    """Entries of an action mask; 0 for a game without one."""

    @classmethod
    def for_game(cls, description: GameDescription, horizon: int) -> Self:
        """The layout for a game. Raises: ConfigurationError: for a horizon below 1."""
        store = StoreLayout.for_run(description, PolicyLayout(), horizon, 1)
        action = store.field("action")
        return cls(
            horizon=horizon,
            num_agents=description.num_agents,
            ticks_per_step=description.ticks_per_step,
            observations=observation_fields(description),
            action_dtype=action.dtype,
            action_shape=action.shape,
            num_actions=store.num_actions,
            mask_size=store.field("action_mask").shape[0] if store.has_action_mask else 0,
        )
