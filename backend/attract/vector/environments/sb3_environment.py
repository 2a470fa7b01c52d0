"""Many copies of a browser game as Stable-Baselines3 knows vectorised environments."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnv
from typing_extensions import Unpack, override

from attract.errors import ConfigurationError
from attract.vector.environments.environment import GameOptions
from attract.vector.environments.gymnasium_environment import GymnasiumVectorEnv
from attract.vector.environments.gymnasium_spaces import Observation


class Sb3VecEnv(VecEnv):
    """`num_envs` copies of a game of one agent in Node worker threads; no browser.

    For episodes' returns in SB3's log wrap it in its `VecMonitor`; its `info_keywords` may be the game's
    metrics, which are in the infos of an episode's last step, with `is_success` where `won` is one. Games
    with masks have the method `action_masks`, which `MaskablePPO` of sb3-contrib asks for.
    """

    def __init__(
        self, game: str, num_envs: int = 1, *, num_workers: int | None = None, **options: Unpack[GameOptions]
    ) -> None:
        """Start the threads and load the game; arguments and errors are those of `GymnasiumVectorEnv`."""
        self._games = GymnasiumVectorEnv(game, num_envs, num_workers=num_workers, **options)
        self._actions: NDArray[Any] | None = None
        self._masks: NDArray[np.bool_] | None = None
        games = self._games
        if isinstance(games.single_action_space, spaces.Dict):
            games.close()
            raise ConfigurationError(
                "Stable-Baselines3 takes no mixed actions",
                fix="attract train GAME, or GymnasiumVectorEnv, does",
            )
        super().__init__(num_envs, games.single_observation_space, games.single_action_space)

    @override
    def reset(self) -> Observation:
        """The first observations; after `seed(n)` those of a run with `--seed n`."""
        seen, infos = self._games.reset(seed=self._seeds[0])
        self._masks = infos.get("action_mask")
        self._actions = None
        self.reset_infos = [{} for _ in range(self.num_envs)]
        self._reset_seeds()
        self._reset_options()
        return seen

    @override
    def step_async(self, actions: NDArray[Any]) -> None:
        """Note the actions; `step_wait` takes the step."""
        self._actions = actions

    @override
    def step_wait(self) -> tuple[Observation, NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        """Observations, rewards, whether the episode is over, and what SB3 asks to know of one that is.

        Raises: as `GymnasiumVectorEnv.step`.
        """
        if self._actions is None:
            raise RuntimeError("expected step_async() before step_wait()")
        actions, self._actions = self._actions, None
        seen, rewards, terminated, truncated, infos = self._games.step(actions)
        self._masks = infos.get("action_mask")
        each: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        is_over = terminated | truncated
        for column in np.flatnonzero(is_over).tolist():
            each[column] = self._metrics(infos["final_info"], column) | {
                "terminal_observation": infos["final_obs"][column],
                "TimeLimit.truncated": bool(truncated[column] and not terminated[column]),
            }
        return seen, rewards.astype(np.float32), is_over, each

    @override
    def close(self) -> None:
        self._games.close()

    @override
    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """An attribute of each copy. Raises: AttributeError: copies have `render_mode` and `action_masks`."""
        rows = list(self._get_indices(indices))
        if attr_name == "render_mode":
            return [None for _ in rows]
        if attr_name == "action_masks" and self._games.has_masks:
            return [lambda row=row: self._mask(row) for row in rows]
        raise AttributeError(f"games have no attribute {attr_name}")

    @override
    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Raises: AttributeError: there are none to be set."""
        raise AttributeError(f"games have no attribute {attr_name} to be set")

    @override
    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        """Call a method of each copy. Raises: AttributeError: copies have `action_masks`."""
        return [method(*args, **kwargs) for method in self.get_attr(method_name, indices)]

    @override
    def env_is_wrapped(self, wrapper_class: type[Any], indices: Any = None) -> list[bool]:
        return [False for _ in self._get_indices(indices)]

    def _metrics(self, final_info: Mapping[str, Any], column: int) -> dict[str, Any]:
        """The game's metrics of an episode that is over, as numbers; an episode that failed has none: NaN."""
        known = {
            name: float(final_info[name][column])
            if name in final_info and final_info[f"_{name}"][column]
            else math.nan
            for name in self._games.metrics
        }
        return known | ({"is_success": known["won"] > 0} if "won" in known else {})

    def _mask(self, row: int) -> NDArray[np.bool_]:
        if self._masks is None:
            raise RuntimeError("expected reset() before the masks are asked for")
        return self._masks[row]
