"""Trains and judges Stable-Baselines3's PPO on a Gymnasium environment: `python -m attract.results.rival`.

Reads one JSON object on stdin (the fields of `plan.Rival`, steps, seed, episodes) and prints one on stdout. A
process of its own, so that nothing of one run reaches the next.
"""

import importlib
import json
import sys
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from attract.schema.philox import derive_seed, sequential_words, uniforms
from attract.settings import EvaluationSettings


def train(order: dict[str, Any]) -> dict[str, Any]:
    """Train for at least `steps` steps, then play `episodes` whole episodes by the likeliest actions.

    Where `starts` has ranges, the episodes begin as those of our own evaluation do.
    """
    env_util: Any = importlib.import_module("stable_baselines3.common.env_util")
    environment = env_util.make_vec_env(order["environment"], order["num_environments"], seed=order["seed"])
    see: Callable[[Any], Any] = lambda observation: observation  # noqa: E731 - what the policy sees
    if order["normalize"]:
        vec_env: Any = importlib.import_module("stable_baselines3.common.vec_env")
        environment = vec_env.VecNormalize(environment, gamma=order["settings"]["gamma"])
        see = environment.normalize_obs
    model = create_ppo(environment, order["settings"], linear=order["linear"], seed=order["seed"])
    began = time.perf_counter()
    model.learn(order["steps"])
    seconds = time.perf_counter() - began
    environment.close()
    starts = evaluation_starts(order["starts"], order["episodes"]) if order["starts"] else None
    returns = _play(model, order["environment"], order["episodes"], starts, see)
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


def evaluation_starts(ranges: Sequence[Sequence[float]], episodes: int) -> list[list[float]]:
    """States at the start of the episodes that `attract eval` plays by default, [episodes, len(ranges)].

    Raises: ValueError: for no ranges.
    """
    seed = derive_seed(EvaluationSettings().seed, "evaluation")
    states: list[list[float]] = []
    for instance in range(episodes):
        words = sequential_words(seed, "game", episode=0, instance=instance, count=len(ranges))
        drawn = zip(ranges, uniforms(words), strict=True)
        states.append([low + (high - low) * float(uniform) for (low, high), uniform in drawn])
    return states


def _play(
    model: Any, name: str, episodes: int, starts: Sequence[Sequence[float]] | None, see: Callable[[Any], Any]
) -> list[float]:
    gymnasium: Any = importlib.import_module("gymnasium")
    environment = gymnasium.make(name)
    returns: list[float] = []
    for episode in range(episodes):
        observation, _ = environment.reset(seed=20_000 + episode)
        if starts is not None:
            observation = begin_at(environment, starts[episode])
        total, is_over = 0.0, False
        while not is_over:
            action, _ = model.predict(see(observation), deterministic=True)
            observation, reward, terminated, truncated, _ = environment.step(action)
            total += float(reward)
            is_over = bool(terminated or truncated)
        returns.append(total)
    return returns


def begin_at(environment: Any, state: Sequence[float]) -> Any:
    """Put a classic-control environment that was just reset into `state`; its first observation, float32."""
    plain = environment.unwrapped
    plain.state = np.array(state)
    return plain._get_ob() if hasattr(plain, "_get_ob") else plain.state.astype(np.float32)


def _linear(first: float) -> Any:
    """A schedule of Stable-Baselines3: from `first` down to 0 as the share of steps left goes from 1 to 0."""

    def schedule(share_left: float) -> float:
        return share_left * first

    return schedule


if __name__ == "__main__":
    print(json.dumps(train(json.load(sys.stdin))))
