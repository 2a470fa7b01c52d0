"""Bundled Pendulum against Gymnasium's Pendulum-v1, both really running."""

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest

from node_driver import bundle_driver

TOLERANCE = 1e-6
REWARD_TOLERANCE = 1e-5
"""Gymnasium squares the torque in float32: 0.004 x 2^-24 of it, and rewards reach -16.3."""
MAX_STEPS = 200
DISCONTINUITY_MARGIN = 1e-9

Rows = list[list[float]]
Play = Callable[[list[dict[str, Any]]], list[Rows]]


@pytest.fixture(scope="module")
def play(tmp_path_factory: pytest.TempPathFactory) -> Play:
    """Plays sequences of {state, torques} in Node, through the same GameInstance a worker uses."""
    return bundle_driver("pendulum-driver.ts", tmp_path_factory.mktemp("pendulum"))


@pytest.mark.parametrize("count", [20_000, pytest.param(100_000, marks=pytest.mark.long)])
def test_transitions_of_gymnasiums_states_are_the_same(play: Play, count: int) -> None:
    env = gymnasium.make("Pendulum-v1", max_episode_steps=MAX_STEPS)
    random = np.random.default_rng(31)
    sequences: list[dict[str, Any]] = []
    expected: list[list[float]] = []
    env.reset(seed=0)
    for step in range(count):
        angle, speed = env.unwrapped.state
        if random.random() < 0.05:
            # Many turns away, and as fast as it goes: what random play seldom reaches.
            env.unwrapped.state = np.array([random.uniform(-40, 40), random.choice([-8.0, 8.0])])
            angle, speed = env.unwrapped.state
        torque = np.float32(random.uniform(-2, 2))
        sequences.append({"state": [float(angle), float(speed)], "torques": [float(torque)]})
        observation, reward, terminated, truncated, _ = env.step(np.array([torque]))
        is_wrapping = abs((abs(angle) + np.pi) % (2 * np.pi)) < DISCONTINUITY_MARGIN
        expected.append([*map(float, observation), float(reward), float(terminated), float(is_wrapping)])
        if truncated:
            env.reset(seed=step)
    ours = np.array([rows[0] for rows in play(sequences)])
    theirs = np.array(expected)
    assert theirs[:, 5].sum() == 0, "at the wrap the reward is continuous, but no state should hit it"
    assert np.abs(ours[:, :3] - theirs[:, :3]).max() <= TOLERANCE
    assert np.abs(ours[:, 3] - theirs[:, 3]).max() <= REWARD_TOLERANCE
    assert (ours[:, 4:] == 0).all()
    assert (np.abs(theirs[:, 2]) == 8).sum() >= count / 100, "the limit of the speed must be met"


def test_whole_episodes_with_their_returns_are_the_same(play: Play) -> None:
    env = gymnasium.make("Pendulum-v1")
    random = np.random.default_rng(32)
    sequences: list[dict[str, Any]] = []
    expected: list[Rows] = []
    for episode in range(100):
        env.reset(seed=episode)
        start = [float(x) for x in env.unwrapped.state]
        rows: Rows = []
        torques: list[float] = []
        while not rows or not rows[-1][5]:
            torque = np.float32(random.uniform(-2, 2))
            observation, reward, terminated, truncated, _ = env.step(np.array([torque]))
            torques.append(float(torque))
            rows.append([*map(float, observation), float(reward), float(terminated), float(truncated)])
        sequences.append({"state": start, "torques": torques})
        expected.append(rows)
    for ours, theirs in zip(play(sequences), expected, strict=True):
        assert len(ours) == len(theirs) == MAX_STEPS
        difference = np.abs(np.array(ours) - np.array(theirs))
        # A swing is chaotic where the rod stands upright: rounding grows along the episode.
        assert difference[:, :4].max() <= 1e-3
        assert difference[:, 4:].max() == 0
