"""Converts between a game's own spaces and Gymnasium's shapes, limits and units."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from attract.errors import ConfigurationError
from attract.schema.game import GameDescription
from attract.schema.spaces import (
    BoxSpace,
    DictSpace,
    LeafSpace,
    MultiBinarySpace,
    SetSpace,
    observation_parts,
)
from attract.vector.batch import VectorLayout

PLAIN: Final = "obs"
"""Key of an observation that is one box, in a batch."""

Observation = NDArray[Any] | dict[str, NDArray[Any]]


class GameSpaces:
    """One agent's spaces in Gymnasium's terms, with conversion from a batch and to one.

    Choices are int64 and boxes in the game's own units, where batches have int32 and unit space.
    """

    def __init__(self, description: GameDescription) -> None:
        self._layout = VectorLayout.for_game(description, horizon=1)
        seen = description.observation
        leaves = {key: _leaf(leaf) for key, leaf in observation_parts(seen).items()}
        self._dtypes: dict[str, Any] = {key: leaf.dtype for key, leaf in leaves.items()}
        self.observation: spaces.Space[Any] = (
            spaces.Dict(leaves) if isinstance(seen, DictSpace) else leaves[PLAIN]
        )
        self.action: spaces.Space[Any] = _leaf(description.action)
        self._choices = description.action.choices

    def observations(self, batch: Mapping[str, NDArray[Any]]) -> Observation:
        """Copies of a batch's observations, [k, ...] each: an array, or for named ones a dictionary."""
        copies = {key: batch[key].astype(dtype) for key, dtype in self._dtypes.items()}
        return copies if isinstance(self.observation, spaces.Dict) else copies[PLAIN]

    def row(self, batch: Mapping[str, NDArray[Any]], row: int) -> Any:
        """A copy of one row of a batch's observations, as one agent sees it."""
        copies = {key: batch[key][row].astype(dtype) for key, dtype in self._dtypes.items()}
        return copies if isinstance(self.observation, spaces.Dict) else copies[PLAIN]

    def actions(self, given: Any, num_slots: int) -> NDArray[Any]:
        """Actions [num_slots, ...] in the game's terms as `VectorEnvironment.send` takes them.

        Raises: ValueError: of another shape, not whole where they are choices, or beyond the counts.
        """
        layout = self._layout
        values = np.asarray(given)
        wanted = (num_slots, *layout.action_shape)
        if values.shape != wanted:
            raise ValueError(f"expected actions of shape {wanted}, got {values.shape}")
        if isinstance(self.action, spaces.Box):
            box = self.action
            middle, half = (box.high + box.low) / 2, (box.high - box.low) / 2
            return ((values - middle) / half).astype(np.float32)
        if values.dtype.kind not in "iub":
            raise ValueError(f"expected whole numbers as actions, got {values.dtype}")
        counts = np.array(self._choices).reshape(layout.action_shape)
        if ((values < 0) | (values >= counts)).any():
            raise ValueError(f"expected actions of {self.action}, got {values.tolist()}")
        return values.astype(layout.action_dtype)


def require_one_agent(description: GameDescription, instead: str) -> None:
    """Raises: ConfigurationError: the game has several agents; `instead`: what plays those."""
    if description.num_agents != 1:
        raise ConfigurationError(
            f"{description.id} has {description.num_agents} agents; this environment is for one", fix=instead
        )


def _leaf(space: LeafSpace) -> Any:
    match space:
        case BoxSpace():
            dtype = np.dtype(space.dtype)
            is_byte = dtype == np.uint8
            low = _limit(space, space.low, 0 if is_byte else -np.inf)
            high = _limit(space, space.high, 255 if is_byte else np.inf)
            return spaces.Box(low.astype(dtype), high.astype(dtype), tuple(space.shape), dtype.type)
        case SetSpace():
            return spaces.Box(-np.inf, np.inf, space.stored_shape, np.float32)
        case MultiBinarySpace():
            return spaces.MultiBinary(space.n)
        case _:
            choices = list(space.choices)
            return spaces.MultiDiscrete(choices) if space.stored_shape else spaces.Discrete(choices[0])


def _limit(space: BoxSpace, limit: float | list[float] | None, unbounded: float) -> NDArray[np.float64]:
    values = np.asarray(unbounded if limit is None else limit, np.float64)
    return values.reshape(space.shape) if values.ndim else np.full(space.shape, values)
