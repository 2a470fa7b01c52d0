"""Trains and judges Stable-Baselines3's PPO on a Gymnasium environment: `python -m attract.results.rival`.

Reads one JSON object on stdin (environment, num_environments, settings, linear, steps, seed, episodes) and
prints one on stdout. A process of its own, so that nothing of one run reaches the next.
"""

import importlib
import json
import sys
import time
from collections.abc import Collection, Mapping
from typing import Any

import torch


def train(order: dict[str, Any]) -> dict[str, Any]:
    """Train for at least `steps` steps, then play `episodes` whole episodes by the likeliest actions."""
    env_util: Any = importlib.import_module("stable_baselines3.common.env_util")
    environment = env_util.make_vec_env(order["environment"], order["num_environments"], seed=order["seed"])
    model = create_ppo(environment, order["settings"], linear=order["linear"], seed=order["seed"])
    began = time.perf_counter()
    model.learn(order["steps"])
    seconds = time.perf_counter() - began
    environment.close()
    returns = _play(model, order["environment"], order["episodes"])
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


def _play(model: Any, name: str, episodes: int) -> list[float]:
    gymnasium: Any = importlib.import_module("gymnasium")
    environment = gymnasium.make(name)
    returns: list[float] = []
    for episode in range(episodes):
        observation, _ = environment.reset(seed=20_000 + episode)
        total, is_over = 0.0, False
        while not is_over:
            action, _ = model.predict(observation, deterministic=True)
            observation, reward, terminated, truncated, _ = environment.step(action)
            total += float(reward)
            is_over = bool(terminated or truncated)
        returns.append(total)
    return returns


def _linear(first: float) -> Any:
    """A schedule of Stable-Baselines3: from `first` down to 0 as the share of steps left goes from 1 to 0."""

    def schedule(share_left: float) -> float:
        return share_left * first

    return schedule


if __name__ == "__main__":
    print(json.dumps(train(json.load(sys.stdin))))
