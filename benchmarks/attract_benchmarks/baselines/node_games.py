"""CartPole in a Node process, all games stepped by one line of JSON each way."""

import json
import subprocess
from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnv
from typing_extensions import override

from attract.vector.environments.node_fleet import find_node
from attract_benchmarks.baselines.files import CARTPOLE, LINES_PROGRAM, NUM_ACTIONS, NUM_INPUTS


class NodeGames(VecEnv):
    """A process of its own, which ends with `close`."""

    def __init__(self, count: int) -> None:
        observation = spaces.Box(-np.inf, np.inf, (NUM_INPUTS,), np.float32)
        super().__init__(count, observation, spaces.Discrete(NUM_ACTIONS))
        self._process = subprocess.Popen(
            [find_node(), str(LINES_PROGRAM), str(CARTPOLE), str(count)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    @override
    def reset(self) -> NDArray[np.float32]:
        """The first observations, [count, inputs] float32."""
        self._say("reset")
        return np.array(self._hear(), np.float32)

    @override
    def step_async(self, actions: NDArray[np.int64]) -> None:
        """Send the line; the games step without the caller waiting."""
        self._say(actions.tolist())

    @override
    def step_wait(self) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.bool_], list[Any]]:
        """Observations, rewards, whether the episode is over, and what SB3 asks to know of one that is."""
        observations, rewards, terminated, truncated, finals = self._hear()
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for index, final in finals.items():
            infos[int(index)] = {
                "terminal_observation": np.array(final, np.float32),
                "TimeLimit.truncated": truncated[int(index)],
            }
        is_over = np.array(terminated) | np.array(truncated)
        return np.array(observations, np.float32), np.array(rewards, np.float32), is_over, infos

    @override
    def close(self) -> None:
        """End the process and wait for it."""
        self._process.communicate()

    @override
    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """There are no attributes to be had."""
        return [None] * self.num_envs

    @override
    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """There are none to be set."""
        raise NotImplementedError(attr_name)

    @override
    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        """There is none to be called."""
        raise NotImplementedError(method_name)

    @override
    def env_is_wrapped(self, wrapper_class: type[Any], indices: Any = None) -> list[bool]:
        """They are not."""
        return [False] * self.num_envs

    def _say(self, line: Sequence[int] | str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(line).encode() + b"\n")
        self._process.stdin.flush()

    def _hear(self) -> Any:
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())
