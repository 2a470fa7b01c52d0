"""A browser game as Gymnasium knows environments: one copy, or many side by side."""

from collections.abc import Mapping
from typing import Any, Final

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray
from typing_extensions import Unpack, override

from attract.errors import GameError
from attract.vector.batch import StepBatch
from attract.vector.environments.environment import GameOptions, VectorEnvironment
from attract.vector.environments.gymnasium_spaces import (
    GameSpaces,
    Observation,
    require_one_agent,
    together,
)

SEEDS: Final = 1 << 31
SEVERAL: Final = "use attract.vector.PettingZooEnv"


class GymnasiumVectorEnv(gymnasium.vector.VectorEnv[Any, Any, Any]):
    """`num_envs` copies of a game of one agent in Node worker threads; no browser.

    A game that ends restarts in the same step (`AutoresetMode.SAME_STEP`; Gymnasium's default, a step later,
    would cost each copy a step per episode): what it saw last stands in
    `infos["final_obs"]`, its metrics in `infos["final_info"]`. Games with masks have them as
    `infos["action_mask"]`, [num_envs, choices] bool. An episode whose game failed is truncated, at the last
    good step.
    """

    metadata: dict[str, Any] = {"render_modes": [], "autoreset_mode": AutoresetMode.SAME_STEP}  # pyright: ignore[reportIncompatibleVariableOverride]

    def __init__(
        self, game: str, num_envs: int = 1, *, num_workers: int | None = None, **options: Unpack[GameOptions]
    ) -> None:
        """Start the threads and load the game.

        Args:
            game: a bundled game's name, or a path to a module, `.ts` or `.js`.
            num_envs: running copies.
            num_workers: threads that step them; None: one per core, leaving one for the policy.
            options: as for `VectorEnvironment`.

        Raises: ConfigurationError, GameError, ProtocolError: no such game, several agents, no Node, or it
        cannot be loaded.
        """
        self.num_envs = num_envs
        self._games = VectorEnvironment(
            game, num_envs, 1, num_workers=num_workers, tells_terminal=True, **options
        )
        try:
            require_one_agent(self._games.description, SEVERAL)
        except BaseException:
            self._games.close()
            raise
        self._spaces = GameSpaces(self._games.description)
        self.single_observation_space = self._spaces.observation
        self.single_action_space = self._spaces.action
        self.observation_space = batch_space(self._spaces.observation, num_envs)
        self.action_space = batch_space(self._spaces.action, num_envs)
        self._seen: dict[str, NDArray[Any]] = {}
        self._episode = np.zeros(num_envs, np.int64)
        self._is_begun = False

    @property
    def has_masks(self) -> bool:
        return self._games.description.action_mask

    @property
    def metrics(self) -> list[str]:
        return list(self._games.description.metrics)

    @override
    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Restart every game. `seed`: as `--seed` of a run, with streams for each copy; None: the next.

        Raises: ValueError: for a list of seeds, or a mask of those to reset.
        """
        if isinstance(seed, list):
            raise ValueError("one seed is for all copies: each has random streams of its own")
        if options and "reset_mask" in options:
            raise ValueError("games restart by themselves: no part of them can be reset")
        super().reset(seed=seed)
        self._games.restart(int(self.np_random.integers(SEEDS)) if seed is None else seed)
        (batch,) = self._games.reset()
        self._is_begun = True
        self._remember(batch)
        return self._spaces.observations(batch.observation), self._infos(batch)

    @override
    def step(
        self, actions: Any
    ) -> tuple[Observation, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """One step of every copy. `actions`: [num_envs, ...] of `action_space`, boxes in the game's units.

        Raises:
            GameError: the game broke again and again, or a thread does not answer any more.
            ValueError: the actions are none of `action_space`.
            RuntimeError: before `reset`.
        """
        if not self._is_begun:
            raise RuntimeError("expected reset() before the first step()")
        self._games.send(self._spaces.actions(actions, self.num_envs))
        batch = self._games.recv()
        failed = failed_games(batch, self._episode)
        terminated, truncated = batch.terminated.copy(), batch.truncated | failed
        infos = self._infos(batch)
        if (ended := terminated | truncated).any():
            infos |= self._final(batch, ended, failed)
        self._remember(batch)
        seen = self._spaces.observations(batch.observation)
        return seen, batch.reward.astype(np.float64), terminated, truncated, infos

    @override
    def close_extras(self, **kwargs: Any) -> None:
        self._games.close()

    def _remember(self, batch: StepBatch) -> None:
        # A game that fails has nothing newer.
        self._seen = {key: values.copy() for key, values in batch.observation.items()}
        self._episode = batch.episode.copy()

    def _infos(self, batch: StepBatch) -> dict[str, Any]:
        if batch.action_mask is None:
            return {}
        every = np.ones(self.num_envs, np.bool_)
        return {"action_mask": batch.action_mask.copy(), "_action_mask": every}

    def _final(self, batch: StepBatch, ended: NDArray[np.bool_], failed: NDArray[np.bool_]) -> dict[str, Any]:
        final_obs = np.full(self.num_envs, None, object)
        for row, column in enumerate(batch.final_column.tolist()):
            final_obs[column] = self._spaces.row(batch.final_observation, row)
        for column in np.flatnonzero(failed).tolist():
            final_obs[column] = self._spaces.row(self._seen, column)
        final_info: dict[str, Any] = {"game_failed": failed, "_game_failed": ended}
        for episode in batch.episodes:
            for name, value in episode.metrics.items():
                values = final_info.setdefault(name, np.zeros(self.num_envs))
                known = final_info.setdefault(f"_{name}", np.zeros(self.num_envs, np.bool_))
                values[episode.instance_id], known[episode.instance_id] = value, True
        return {
            "final_obs": final_obs,
            "_final_obs": ended,
            "final_info": final_info,
            "_final_info": ended,
        }


class GymnasiumEnv(gymnasium.Env[Any, Any]):
    """One copy of a game of one agent in a Node worker thread; no browser."""

    metadata: dict[str, Any] = {"render_modes": []}  # pyright: ignore[reportIncompatibleVariableOverride]

    def __init__(self, game: str, **options: Unpack[GameOptions]) -> None:
        """Start the thread and load the game; arguments and errors are those of `GymnasiumVectorEnv`."""
        self._games = GymnasiumVectorEnv(game, 1, num_workers=1, **options)
        self.observation_space = self._games.single_observation_space
        self.action_space = self._games.single_action_space

    @override
    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """A fresh game. `seed`: as `--seed` of a run; None: the next."""
        super().reset(seed=seed)
        # From its own stream, so that a seed decides all that follows.
        chosen = int(self.np_random.integers(SEEDS)) if seed is None else seed
        seen, infos = self._games.reset(seed=chosen)
        return _only(seen), _first(infos)

    @override
    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """One step; of an episode that ends, what was seen last. Errors are those of `GymnasiumVectorEnv`."""
        seen, reward, terminated, truncated, infos = self._games.step(together([action]))
        if infos.get("_final_obs", [False])[0]:
            last = infos["final_obs"][0]
            final_info = _first(infos["final_info"])
            return last, float(reward[0]), bool(terminated[0]), bool(truncated[0]), final_info
        return _only(seen), float(reward[0]), bool(terminated[0]), bool(truncated[0]), _first(infos)

    @override
    def close(self) -> None:
        self._games.close()


def failed_games(batch: StepBatch, episode_before: NDArray[np.int64]) -> NDArray[np.bool_]:
    """[k]: games of one agent that failed in this step, and are in another episode now.

    Raises: GameError: a thread does not answer any more.
    """
    if (~batch.valid & (batch.episode == episode_before)).any():
        raise GameError("hang", "a thread does not answer any more, and its games stand still")
    return ~batch.valid & (batch.episode != episode_before)


def _only(seen: Observation) -> Any:
    return {key: values[0] for key, values in seen.items()} if isinstance(seen, dict) else seen[0]


def _first(infos: Mapping[str, Any]) -> dict[str, Any]:
    """The infos that one copy has, without Gymnasium's presence masks."""
    return {
        key: values[0] for key, values in infos.items() if not key.startswith("_") and infos[f"_{key}"][0]
    }
