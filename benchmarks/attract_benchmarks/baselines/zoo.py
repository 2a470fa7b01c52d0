"""Trains and judges Stable-Baselines3's PPO: `python -m attract_benchmarks.baselines.zoo`.

Reads one JSON object on stdin (the fields of `plan.Baseline`, steps, seed, episodes) and prints one on
stdout. A process of its own, so that nothing of one run reaches the next.
"""

import importlib
import json
import sys
import time
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from attract.schema.philox import derive_seed, sequential_words, uniforms
from attract.settings.run import EvaluationSettings

BLOCKS_AT_ONCE = 32
"""Four numbers each; drawn ahead, since one at a time would take most of an episode's time."""


def train(order: dict[str, Any]) -> dict[str, Any]:
    """Train for at least `steps` steps, then play our own evaluation's episodes by the likeliest actions.

    Seconds are of this process's CPU: with one thread, those of a clock where nothing else runs.
    """
    env_util: Any = importlib.import_module("stable_baselines3.common.env_util")
    environment = env_util.make_vec_env(order["environment"], order["num_environments"], seed=order["seed"])
    see: Callable[[Any], Any] = lambda observation: observation  # noqa: E731 - what the policy sees
    if order["normalize"]:
        vec_env: Any = importlib.import_module("stable_baselines3.common.vec_env")
        environment = vec_env.VecNormalize(environment, gamma=order["settings"]["gamma"])
        see = environment.normalize_obs
    model = create_ppo(environment, order["settings"], linear=order["linear"], seed=order["seed"])
    began = time.process_time()
    model.learn(order["steps"])
    seconds = time.process_time() - began
    environment.close()
    returns = _play(model, order["environment"], order["episodes"], see)
    values = torch.tensor(returns, dtype=torch.float64)
    return {
        "agent_steps": int(model.num_timesteps),
        "wall_seconds": seconds,
        "steps_per_second": model.num_timesteps / seconds,
        "return_mean": float(values.mean()),
        "return_std": float(values.std(correction=0)),
        "episodes": len(returns),
    }


def create_ppo(environment: Any, settings: Mapping[str, Any], *, linear: Collection[str], seed: int) -> Any:
    """Stable-Baselines3's PPO with its own MLP, on the CPU; torch gets one thread.

    Args:
        environment: a `VecEnv` of its own.
        settings: PPO's keyword arguments.
        linear: names of those that fall linearly to 0.
        seed: its own seed.
    """
    sb3: Any = importlib.import_module("stable_baselines3")
    torch.set_num_threads(1)
    chosen = {name: _linear(value) if name in linear else value for name, value in settings.items()}
    return sb3.PPO("MlpPolicy", environment, device="cpu", seed=seed, **chosen)


class GameStream:
    """In the place of a Gymnasium environment's generator: what our twin of it draws in an episode of
    `attract eval`. Both draw the same numbers in the same order, so that they begin, and go on, alike.
    """

    def __init__(self, episode: int) -> None:
        """Environment for the evaluation's episode number `episode`, from 0."""
        self._seed = derive_seed(EvaluationSettings().seed, "evaluation")
        self._episode = episode
        self._num_blocks = 0
        self._ready = np.empty(0)

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: int | tuple[int, ...] | None = None) -> Any:
        """See `numpy.random.Generator.uniform`; float64, of the shape of `low` and `high` without a size."""
        low, high = np.asarray(low, np.float64), np.asarray(high, np.float64)
        shape = np.broadcast_shapes(low.shape, high.shape) if size is None else size
        drawn = low + (high - low) * self._next(int(np.prod(shape))).reshape(shape)
        return drawn if drawn.ndim else float(drawn)

    def _next(self, count: int) -> NDArray[np.float64]:
        while self._ready.size < count:
            words = sequential_words(
                self._seed,
                "game",
                episode=0,
                instance=self._episode,
                count=4 * BLOCKS_AT_ONCE,
                first_block=self._num_blocks,
            )
            self._num_blocks += BLOCKS_AT_ONCE
            self._ready = np.concatenate((self._ready, uniforms(words)))
        taken, self._ready = self._ready[:count], self._ready[count:]
        return taken


def begin(environment: Any, episode: int) -> Any:
    """Begin the episode that `attract eval` begins as number `episode`; its first observation."""
    environment.unwrapped.np_random = GameStream(episode)
    return environment.reset()[0]


def _play(model: Any, name: str, episodes: int, see: Callable[[Any], Any]) -> list[float]:
    """Returns of the episodes, played side by side: one prediction a step for all that are not over."""
    gymnasium: Any = importlib.import_module("gymnasium")
    environments = [gymnasium.make(name) for _ in range(episodes)]
    seen = {place: begin(environment, place) for place, environment in enumerate(environments)}
    returns = [0.0] * episodes
    while seen:
        actions, _ = model.predict(see(np.stack(list(seen.values()))), deterministic=True)
        for place, action in zip(list(seen), actions, strict=True):
            observation, reward, terminated, truncated, _ = environments[place].step(action)
            returns[place] += float(reward)
            seen[place] = observation
            if terminated or truncated:
                del seen[place]
    return returns


def _linear(first: float) -> Any:
    """A schedule of Stable-Baselines3: from `first` down to 0 as the share of steps left goes from 1 to 0."""

    def schedule(share_left: float) -> float:
        return share_left * first

    return schedule


if __name__ == "__main__":
    print(json.dumps(train(json.load(sys.stdin))))
