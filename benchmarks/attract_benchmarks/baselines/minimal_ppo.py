"""A minimal PPO over numpy-vectorised CartPole, timed: `python -m attract_benchmarks.baselines.minimal_ppo`.

Reads a `BaselineRequest` on stdin and prints a `BaselineReport`. The lean script that someone writes who
wants speed from one process: preallocated tensors, a fused optimizer, and nothing but the algorithm.
"""

from dataclasses import dataclass

import gymnasium
import numpy as np
import torch
from torch import Tensor, nn

from attract_benchmarks.baselines.files import NUM_ACTIONS, NUM_INPUTS
from attract_benchmarks.baselines.order import BaselineReport, BaselineRequest
from attract_benchmarks.baselines.stopwatch import Stopwatch

VALUE_COEF = 0.5
MAX_GRAD_NORM = 0.5


@dataclass(frozen=True)
class Settings:
    """`BaselineRequest.settings`, under Stable-Baselines3's names."""

    n_steps: int
    batch_size: int
    n_epochs: int
    learning_rate: float
    gamma: float
    gae_lambda: float
    clip_range: float


class Rollout:
    """Collected steps, [steps, environments, ...]; filled again for each update."""

    def __init__(self, steps: int, environments: int) -> None:
        shape = (steps, environments)
        self.observations = torch.zeros((*shape, NUM_INPUTS))
        self.actions = torch.zeros(shape, dtype=torch.long)
        self.log_probs = torch.zeros(shape)
        self.values = torch.zeros((steps + 1, environments))
        self.rewards = np.zeros(shape, np.float32)
        self.terminated = np.zeros(shape, np.bool_)
        self.ended = np.zeros((steps + 1, environments), np.bool_)
        """Terminated or truncated; row 0 is the last step of the rollout before."""


class MinimalPpo:
    """Two networks of 64-64 tanh, their optimizer, and the games."""

    def __init__(self, order: BaselineRequest) -> None:
        torch.set_num_threads(1)
        torch.manual_seed(order.seed)
        self.settings = Settings(**order.settings)
        self._policy = _network(NUM_ACTIONS, last_gain=0.01)
        self._value = _network(1, last_gain=1.0)
        self._parameters = [*self._policy.parameters(), *self._value.parameters()]
        self._optimizer = torch.optim.Adam(
            self._parameters, lr=self.settings.learning_rate, eps=1e-5, fused=True
        )
        self._count = order.num_environments
        self._games = gymnasium.make_vec("CartPole-v1", self._count, vectorization_mode="vector_entry_point")
        self._rollout = Rollout(self.settings.n_steps, self._count)
        observations, _ = self._games.reset(seed=order.seed)
        self._observations = torch.from_numpy(observations)

    def train(self, iterations: int) -> BaselineReport:
        """Collect and update `iterations` times."""
        watch = Stopwatch()
        step = watch.timed("games", self._games.step)
        act = watch.timed("inference", self._act)
        learn = watch.timed("learning", self._learn)
        rollout = self._rollout
        marks: list[tuple[float, int]] = []
        for iteration in range(1, iterations + 1):
            for now in range(self.settings.n_steps):
                actions = act(now)
                observations, rewards, terminated, truncated, _ = step(actions.numpy())
                self._observations = torch.from_numpy(observations)
                rollout.rewards[now], rollout.terminated[now] = rewards, terminated
                rollout.ended[now + 1] = terminated | truncated
            learn()
            rollout.ended[0] = rollout.ended[-1]
            marks.append((watch.seconds, iteration * self.settings.n_steps * self._count))
        self._games.close()
        return BaselineReport(marks, None, watch.seconds_of)

    @torch.inference_mode()
    def _act(self, now: int) -> Tensor:
        """[environments] actions for the current observations, remembered as step `now`."""
        rollout, observations = self._rollout, self._observations
        log_probs = self._policy(observations).log_softmax(-1)
        # Two actions: the second by its probability, the quickest draw there is.
        actions = (torch.rand(self._count) < log_probs[:, 1].exp()).long()
        rollout.observations[now] = observations
        rollout.actions[now] = actions
        rollout.log_probs[now] = log_probs.gather(1, actions[:, None]).squeeze(1)
        rollout.values[now] = self._value(observations).squeeze(-1)
        return actions

    @torch.no_grad()
    def _advantages(self) -> Tensor:
        """[steps, environments] generalised advantage estimates.

        The observation after an end is the final one, so the value after a truncation is there already.
        """
        rollout, settings = self._rollout, self.settings
        rollout.values[-1] = self._value(self._observations).squeeze(-1)
        values = rollout.values.numpy()
        deltas = rollout.rewards + settings.gamma * values[1:] * ~rollout.terminated - values[:-1]
        decay = np.float32(settings.gamma * settings.gae_lambda) * ~rollout.ended[1:]
        advantages = np.zeros_like(deltas)
        carried = np.zeros(self._count, np.float32)
        for now in reversed(range(settings.n_steps)):
            carried = deltas[now] + decay[now] * carried
            advantages[now] = carried
        return torch.from_numpy(advantages)

    def _learn(self) -> None:
        rollout, settings = self._rollout, self.settings
        all_advantages = self._advantages()
        # Gymnasium's NEXT_STEP: in the step after an end the action counts for nothing.
        learned = torch.from_numpy(~rollout.ended[:-1])
        observations, actions = rollout.observations[learned], rollout.actions[learned]
        log_probs, advantages = rollout.log_probs[learned], all_advantages[learned]
        targets = (all_advantages + rollout.values[:-1])[learned]
        low, high = 1 - settings.clip_range, 1 + settings.clip_range
        for _ in range(settings.n_epochs):
            for index in torch.randperm(len(actions)).split(settings.batch_size):
                chosen = actions[index][:, None]
                new = self._policy(observations[index]).log_softmax(-1).gather(1, chosen).squeeze(1)
                ratio = (new - log_probs[index]).exp()
                gain = advantages[index]
                gain = (gain - gain.mean()) / (gain.std() + 1e-8)
                surrogate = torch.min(gain * ratio, gain * ratio.clamp(low, high)).mean()
                error = (self._value(observations[index]).squeeze(-1) - targets[index]).square().mean()
                self._optimizer.zero_grad()
                (VALUE_COEF * error - surrogate).backward()
                nn.utils.clip_grad_norm_(self._parameters, MAX_GRAD_NORM)
                self._optimizer.step()


def _network(outputs: int, *, last_gain: float) -> nn.Sequential:
    sizes = (NUM_INPUTS, 64, 64, outputs)
    gains = (2**0.5, 2**0.5, last_gain)
    layers: list[nn.Module] = []
    for before, after, gain in zip(sizes, sizes[1:], gains, strict=False):
        layer = nn.Linear(before, after)
        nn.init.orthogonal_(layer.weight, gain)
        nn.init.zeros_(layer.bias)
        layers += [layer, nn.Tanh()]
    return nn.Sequential(*layers[:-1])


def train(order: BaselineRequest) -> BaselineReport:
    """Train as ordered; the clock starts with the first step."""
    return MinimalPpo(order).train(order.iterations)


if __name__ == "__main__":
    train(BaselineRequest.read()).write()
