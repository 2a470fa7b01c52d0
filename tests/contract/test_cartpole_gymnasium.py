"""Bundled CartPole against Gymnasium's CartPole-v1, both really running."""

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest

from node_driver import bundle_driver

POSITION_LIMIT = 2.4
ANGLE_LIMIT = 12 * 2 * np.pi / 360
OBSERVATION_TOLERANCE = 1e-6
THRESHOLD_MARGIN = 1e-9
MAX_STEPS = 500

Rows = list[list[float]]
Play = Callable[[list[dict[str, Any]]], list[Rows]]


@pytest.fixture(scope="module")
def play(tmp_path_factory: pytest.TempPathFactory) -> Play:
    """Plays sequences of {state, actions} in Node, through the same GameInstance a worker uses."""
    return bundle_driver("cartpole-driver.ts", tmp_path_factory.mktemp("cartpole"))


def is_near_threshold(state: np.ndarray) -> bool:
    """Whether rounding alone could decide if the episode ends here."""
    distance = min(abs(abs(state[0]) - POSITION_LIMIT), abs(abs(state[2]) - ANGLE_LIMIT))
    return distance <= THRESHOLD_MARGIN


def balance(state: np.ndarray) -> int:
    """A hand-made controller that holds the pole for 500 steps and drifts about while it does."""
    position, velocity, angle, spin = state
    return int(angle + 0.5 * spin + 0.05 * position + 0.1 * velocity > 0)


def test_1000_random_episodes_are_the_same_to_their_end(play: Play) -> None:
    env = gymnasium.make("CartPole-v1")
    random = np.random.default_rng(20)
    sequences: list[dict[str, Any]] = []
    expected: list[Rows] = []
    near_end: list[bool] = []
    for episode in range(1000):
        env.reset(seed=episode)
        start = [float(x) for x in env.unwrapped.state]
        actions: list[int] = []
        rows: Rows = []
        is_near = False
        while not rows or not (rows[-1][5] or rows[-1][6]):
            action = int(random.integers(2))
            observation, reward, terminated, truncated, _ = env.step(action)
            actions.append(action)
            rows.append([*map(float, observation), float(reward), float(terminated), float(truncated)])
            is_near |= is_near_threshold(env.unwrapped.state)
        sequences.append({"state": start, "actions": actions})
        expected.append(rows)
        near_end.append(is_near)
    assert sum(near_end) <= 1, "states on a threshold should be next to unheard of"
    for ours, theirs, is_near in zip(play(sequences), expected, near_end, strict=True):
        if is_near:
            continue
        assert len(ours) == len(theirs)
        difference = np.abs(np.array(ours) - np.array(theirs))
        assert difference[:, :4].max() <= OBSERVATION_TOLERANCE
        assert difference[:, 4:].max() == 0


@pytest.mark.parametrize("count", [20_000, pytest.param(100_000, marks=pytest.mark.long)])
def test_transitions_of_balanced_play_are_the_same(play: Play, count: int) -> None:
    env = gymnasium.make("CartPole-v1", max_episode_steps=MAX_STEPS)
    random = np.random.default_rng(21)
    sequences: list[dict[str, Any]] = []
    expected: list[list[float]] = []
    after: list[np.ndarray] = []
    episode = 0
    env.reset(seed=episode)
    while len(sequences) < count:
        state = env.unwrapped.state
        # A random action now and then spreads the states; some episodes end by falling, too.
        action = int(random.integers(2)) if random.random() < 0.4 else balance(state)
        sequences.append({"state": [float(x) for x in state], "actions": [action]})
        observation, reward, terminated, truncated, _ = env.step(action)
        expected.append([*map(float, observation), float(reward), float(terminated)])
        after.append(env.unwrapped.state)
        if terminated or truncated:
            episode += 1
            env.reset(seed=episode)
    ours = np.array([rows[0] for rows in play(sequences)])
    theirs = np.array(expected)
    assert np.abs(ours[:, :4] - theirs[:, :4]).max() <= OBSERVATION_TOLERANCE
    clear = np.array([not is_near_threshold(state) for state in after])
    assert clear.sum() >= 0.9999 * count
    assert (ours[clear, 4:6] == theirs[clear, 4:6]).all()
    assert theirs[:, 5].sum() >= 10, "both outcomes must occur"
    assert (ours[:, 6] == 0).all(), "a single step never reaches the time limit"


def test_truncation_comes_at_exactly_500_steps(play: Play) -> None:
    env = gymnasium.make("CartPole-v1")
    env.reset(seed=3)
    start = [float(x) for x in env.unwrapped.state]
    actions: list[int] = []
    terminated = truncated = False
    while not (terminated or truncated):
        actions.append(balance(env.unwrapped.state))
        _, _, terminated, truncated, _ = env.step(actions[-1])
    assert (terminated, truncated, len(actions)) == (False, True, MAX_STEPS)
    # One action more than the limit: the driver stops by itself at the episode's end.
    rows = np.array(play([{"state": start, "actions": [*actions, 0]}])[0])
    assert len(rows) == MAX_STEPS
    assert (rows[:, 5] == 0).all()
    assert rows[:, 6].tolist() == [0.0] * (MAX_STEPS - 1) + [1.0]
