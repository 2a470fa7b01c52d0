"""The suite's four games of Gymnasium's rules against Gymnasium, both really running."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
import pytest

from node_driver import bundle_driver

TOLERANCE = 1e-6
NUM_TRANSITIONS = 6000

Play = Callable[[Any], list[list[list[float]]]]


@dataclass(frozen=True)
class Twin:
    """A game of the suite, the environment whose rules it has, and how to play that."""

    game: str
    environment: str
    max_steps: int
    fields: Callable[[Any], dict[str, Any]]
    """Our game's fields from Gymnasium's state."""
    pump: Callable[[Any], Any]
    """An action that brings an end about now and then."""
    last: Callable[[Any], Any]
    """An action that puts it off until the time limit."""


def throttle(state: Any) -> list[float]:
    return [float(np.float32(0.9 if state[1] > 0 else -0.9))]


TWINS = (
    Twin(
        "cart-pole",
        "CartPole-v1",
        500,
        lambda state: dict(zip(("x", "velocity", "angle", "spin"), map(float, state), strict=True)),
        lambda state: int(state[2] > 0),
        lambda state: int(state[2] + 0.5 * state[3] + 0.05 * state[0] + 0.1 * state[1] > 0),
    ),
    Twin(
        "mountain-car",
        "MountainCar-v0",
        200,
        lambda state: {"x": float(state[0]), "speed": float(state[1])},
        lambda state: 2 if state[1] > 0 else 0,
        lambda _: 1,
    ),
    Twin(
        "mountain-car-continuous",
        "MountainCarContinuous-v0",
        999,
        lambda state: {"x": float(state[0]), "speed": float(state[1])},
        throttle,
        lambda _: [0.0],
    ),
    Twin(
        "acrobot",
        "Acrobot-v1",
        500,
        lambda state: {"state": [float(value) for value in state]},
        lambda state: 2 if state[3] > 0 else 0,
        lambda _: 1,
    ),
)


@pytest.fixture(scope="module")
def play(tmp_path_factory: pytest.TempPathFactory) -> Play:
    return bundle_driver("suite-driver.ts", tmp_path_factory.mktemp("suite"))


@pytest.mark.parametrize("twin", TWINS, ids=lambda twin: twin.game)
def test_transitions_are_those_of_gymnasium(play: Play, twin: Twin) -> None:
    env = gymnasium.make(twin.environment)
    random = np.random.default_rng(30)
    env.action_space.seed(30)
    sequences: list[dict[str, Any]] = []
    expected: list[list[float]] = []
    ends = 0
    env.reset(seed=30)
    while len(sequences) < NUM_TRANSITIONS:
        state = env.unwrapped.state
        chosen = env.action_space.sample() if random.random() < 0.2 else twin.pump(state)
        action = np.asarray(chosen).tolist()
        sequences.append({"fields": twin.fields(state), "actions": [action]})
        observation, reward, terminated, truncated, _ = env.step(as_gymnasium(action))
        expected.append([*map(float, observation), float(reward), float(terminated)])
        ends += int(terminated)
        if terminated or truncated:
            env.reset()
    ours = np.array([rows[1] for rows in play(order(twin, sequences))])
    theirs = np.array(expected)
    assert ends >= 10, "both outcomes must occur"
    assert np.abs(ours[:, :-1] - theirs).max() <= TOLERANCE
    assert (ours[:, -2] == theirs[:, -1]).all()
    assert (ours[:, -1] == 0).all(), "a single step never reaches the time limit"


@pytest.mark.parametrize("twin", TWINS, ids=lambda twin: twin.game)
def test_truncation_comes_with_gymnasiums_last_step(play: Play, twin: Twin) -> None:
    env = gymnasium.make(twin.environment)
    env.reset(seed=3)
    start = twin.fields(env.unwrapped.state)
    actions: list[Any] = []
    terminated = truncated = False
    while not (terminated or truncated):
        actions.append(twin.last(env.unwrapped.state))
        _, _, terminated, truncated, _ = env.step(as_gymnasium(actions[-1]))
    assert (terminated, truncated, len(actions)) == (False, True, twin.max_steps)
    # One action more than the limit: the driver stops by itself at the episode's end.
    rows = play(order(twin, [{"fields": start, "actions": [*actions, actions[0]]}]))[0][1:]
    assert len(rows) == twin.max_steps
    assert [row[-2:] for row in rows] == [[0.0, 0.0]] * (twin.max_steps - 1) + [[0.0, 1.0]]


def order(twin: Twin, sequences: list[dict[str, Any]]) -> dict[str, Any]:
    return {"game": twin.game, "seed": {"low": 1, "high": 0}, "sequences": sequences}


def as_gymnasium(action: Any) -> Any:
    return np.array(action, np.float32) if isinstance(action, list) else action
