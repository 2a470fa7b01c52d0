"""Bundled Lander against Gymnasium's LunarLander-v3, both really running: one on planck, one on Box2D."""

import warnings
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
import pytest

from node_driver import bundle_driver

NUM_FLIGHTS = 200
HEADER_DRAWS = 14
"""Twelve hills and two forces come before the first tick's two draws."""

Rows = npt.NDArray[np.float64]
"""[ticks + 1, 8 observations, reward, terminated]; row 0 is the start."""
Play = Callable[[list[dict[str, Any]]], list[Rows]]


class RecordedRandom:
    """A generator that keeps what it drew, as numbers in [0, 1): what our game is given to draw."""

    def __init__(self, seed: int) -> None:
        self.generator = np.random.default_rng(seed)
        self.draws: list[float] = []

    def uniform(self, low: float, high: float, size: tuple[int, ...] | None = None) -> Any:
        drawn = self.generator.random(size)
        self.draws += np.atleast_1d(drawn).astype(float).tolist()
        return low + (high - low) * drawn


@pytest.fixture(scope="module")
def env() -> Any:
    with warnings.catch_warnings():
        # Box2D's own import warns; as an error inside a C extension's initialisation that would crash Python.
        warnings.simplefilter("ignore")
        return gymnasium.make("LunarLander-v3").unwrapped


@pytest.fixture(scope="module")
def play(tmp_path_factory: pytest.TempPathFactory) -> Play:
    """Plays {draws, actions} or, with no actions, the pilot, through the game object itself."""
    run = bundle_driver("lander-driver.ts", tmp_path_factory.mktemp("lander"))
    return lambda flights: [np.array(rows) for rows in run(flights)]


def pilot(observation: npt.NDArray[np.float32]) -> int:
    """A hand-made pilot: leans against the drift and keeps the fall slow; `lander-driver.ts` has the same."""
    x, height, velocity_x, velocity_y, angle, spin, left, right = map(float, observation)
    is_standing = left + right > 0
    wanted = min(0.4, max(-0.4, 0.5 * x + velocity_x))
    turn = 0.0 if is_standing else 0.5 * (wanted - angle) - spin
    lift = (0.0 if is_standing else 0.5 * (0.55 * abs(x) - height)) - 0.5 * velocity_y
    if lift > abs(turn) and lift > 0.05:
        return 2
    if turn < -0.05:
        return 3
    return 1 if turn > 0.05 else 0


def fly(env: Any, seed: int, choose: Callable[[Any], int]) -> tuple[dict[str, Any], Rows]:
    """One flight of Gymnasium's, at most 1,000 ticks: what our game needs to repeat it, and its rows."""
    random = RecordedRandom(seed)
    env._np_random = random
    observation, _ = env.reset()
    rows = [[*map(float, observation), 0.0, 0.0]]
    actions: list[int] = []
    while len(actions) < 1000 and not rows[-1][9]:
        actions.append(choose(observation))
        observation, reward, terminated, _, _ = env.step(actions[-1])
        rows.append([*map(float, observation), float(reward), float(terminated)])
    return {"draws": random.draws, "actions": actions}, np.array(rows)


def test_flights_without_contact_are_the_same(env: Any, play: Play) -> None:
    random = np.random.default_rng(41)
    flights: list[dict[str, Any]] = []
    expected: list[Rows] = []
    for seed in range(NUM_FLIGHTS):
        # Half by a pilot, for long flights; half at random, for tilted ones and those that leave the sky.
        choose = pilot if seed % 2 == 0 else lambda _: int(random.integers(4))
        flight, rows = fly(env, seed, choose)
        flights.append(flight)
        expected.append(rows)
    differences: list[Rows] = []
    lost = 0
    for ours, theirs in zip(play(flights), expected, strict=True):
        touching = np.flatnonzero(theirs[:, 6:8].any(axis=1))
        is_out = abs(theirs[-1, 0]) >= 1
        # From contact on rounding decides; the hull may touch first, which is seen a tick later.
        end = int(touching[0]) - 1 if len(touching) else len(theirs) - (0 if is_out else 2)
        differences.append(np.abs(ours[:end] - theirs[:end]))
        if is_out and len(touching) == 0:
            assert len(ours) == len(theirs)
            assert ours[-1, 8:].tolist() == theirs[-1, 8:].tolist() == [-100, 1]
            lost += 1
    assert lost >= 5, "some must leave the sky"
    # We solve joints in 60 iterations a tick where Gymnasium takes 180: that shifts a speed a little where a
    # leg meets its stop, and the way from then on.
    every = np.concatenate(differences)
    assert len(every) >= 20_000
    assert (np.median(every[:, :6], axis=0) <= [3e-4, 5e-4, 8e-4, 3e-4, 2e-3, 2e-3]).all()
    assert np.percentile(every[:, :6], 99, axis=0).max() <= 0.04
    assert every[:, :6].max() <= 0.1
    assert np.median(every[:, 8]) <= 0.01
    assert np.percentile(every[:, 8], 99) <= 0.3


# `make test` compares each step of a flight, above.
@pytest.mark.long
def test_the_same_pilot_earns_as_much_and_lands_as_often(env: Any, play: Play) -> None:
    flights: list[dict[str, Any]] = []
    expected: list[Rows] = []
    draws = np.random.default_rng(42)
    for seed in range(NUM_FLIGHTS):
        flight, rows = fly(env, 1000 + seed, pilot)
        expected.append(rows)
        # The same ground and push; the engines' noise goes on for as long as our flight takes.
        noise = draws.random(2100).tolist()
        flights.append({"draws": flight["draws"][:HEADER_DRAWS] + noise, "actions": None})
    ours = play(flights)
    returns = [np.array([rows[:, 8].sum() for rows in side]) for side in (ours, expected)]
    landed = [np.mean([rows[-1, 8] == 100 for rows in side]) for side in (ours, expected)]
    assert landed[1] > 0.85
    # A return deviates by 100: the difference of two means of 200 by 10.
    assert abs(returns[0].mean() - returns[1].mean()) < 25
    assert abs(landed[0] - landed[1]) < 0.08
    for rows in ours:
        if rows[-1, 9]:
            assert rows[-1, 8] in (-100, 100), "the last tick pays the outcome alone"
