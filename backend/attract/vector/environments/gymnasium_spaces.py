"""Converts between a game's own spaces and Gymnasium's shapes, limits and units."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from attract.errors import ConfigurationError
from attract.schema.game import GameDescription
from attract.schema.spaces import (
    ActionSpace,
    BoxSpace,
    DictSpace,
    LeafSpace,
    MixedSpace,
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

    Choices are int64 and boxes in the game's own units, where batches have int32 and unit space. A mixed
    action is a `Dict`.
    """

    def __init__(self, description: GameDescription) -> None:
        self._layout = VectorLayout.for_game(description, horizon=1)
        seen = description.observation
        leaves = {key: _leaf(leaf) for key, leaf in observation_parts(seen).items()}
        self._dtypes: dict[str, Any] = {key: leaf.dtype for key, leaf in leaves.items()}
        self.observation: spaces.Space[Any] = (
            spaces.Dict(leaves) if isinstance(seen, DictSpace) else leaves[PLAIN]
        )
        acts = description.action
        self._parts: Mapping[str, Any] = acts.spaces if isinstance(acts, MixedSpace) else {PLAIN: acts}
        parts = {key: _leaf(leaf) for key, leaf in sorted(self._parts.items())}
        self.action: spaces.Space[Any] = spaces.Dict(parts) if isinstance(acts, MixedSpace) else parts[PLAIN]

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
        dtype = self._layout.action_dtype
        if not isinstance(self.action, spaces.Dict):
            return _wire(self._parts[PLAIN], self.action, given, num_slots, "").astype(dtype)
        if not isinstance(given, Mapping) or set(given) != set(self._parts):  # pyright: ignore[reportUnknownArgumentType]
            raise ValueError(f"expected actions of {self.action}, got {given!r:.200}")
        numbers = {
            key: _wire(leaf, self.action[key], given[key], num_slots, f" for {key}").reshape(num_slots, -1)
            for key, leaf in self._parts.items()
        }
        order = sorted(numbers, key=lambda key: (isinstance(self._parts[key], BoxSpace), key))
        return np.concatenate([numbers[key] for key in order], 1).astype(dtype)


def _wire(leaf: ActionSpace, space: spaces.Space[Any], given: Any, num_slots: int, what: str) -> NDArray[Any]:
    """[num_slots, ...] one space's part of the actions as it travels. Raises: as `GameSpaces.actions`."""
    values = np.asarray(given)
    wanted = (num_slots, *leaf.action_shape)
    if values.shape != wanted and values.shape != (num_slots, *(space.shape or ())):
        raise ValueError(f"expected actions{what} of shape {wanted}, got {values.shape}")
    values = values.reshape(wanted)
    if isinstance(space, spaces.Box):
        middle, half = (space.high + space.low) / 2, (space.high - space.low) / 2
        return (values - middle.ravel()) / half.ravel()
    if values.dtype.kind not in "iub":
        raise ValueError(f"expected whole numbers as actions{what}, got {values.dtype}")
    counts = np.array(leaf.choices).reshape(leaf.action_shape)
    if ((values < 0) | (values >= counts)).any():
        raise ValueError(f"expected actions{what} of {space}, got {values.tolist()}")
    return values


def together(actions: Sequence[Any]) -> Any:
    """Single agents' actions as `GameSpaces.actions` takes them."""
    if all(isinstance(one, Mapping) for one in actions):
        return {key: np.stack([np.asarray(one.get(key)) for one in actions]) for key in actions[0]}
    return np.stack([np.asarray(action) for action in actions])


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
