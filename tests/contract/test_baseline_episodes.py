"""The baseline is judged on the episodes of `attract eval`: begun alike, and drawing alike."""

import warnings
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest

from attract.schema.philox import derive_seed
from attract.settings.run import EvaluationSettings
from attract_benchmarks.baselines.zoo import begin
from attract_benchmarks.learning.plan import TASKS, Baseline
from attract_benchmarks.learning.suite import PLAIN_GAMES
from node_driver import bundle_driver

EPISODES, STEPS = 12, 25
BASELINES = {
    **{task.game: task.baseline for task in TASKS if task.baseline is not None},
    **{game.name: game.baseline for game in PLAIN_GAMES if game.baseline is not None},
}
ACTIONS: dict[str, Any] = {"pendulum": [1.5], "mountain-car-continuous": [0.5], "lander": 2}
"""Action of every step; 1 in the other games. In Lander the main engine burns, with noise in each step."""
TOLERANCES = {"lander": 0.02}
"""Two physics engines; 1e-6 in the other games."""

Play = Callable[[Any], list[list[list[float]]]]


@pytest.fixture(scope="module")
def play(tmp_path_factory: pytest.TempPathFactory) -> Play:
    return bundle_driver("suite-driver.ts", tmp_path_factory.mktemp("games"))


def make(baseline: Baseline) -> Any:
    with warnings.catch_warnings():
        # Box2D's own import warns; as an error inside a C extension's initialisation that would crash Python.
        warnings.simplefilter("ignore")
        return gymnasium.make(baseline.environment)


def test_every_baseline_is_looked_at() -> None:
    assert len(BASELINES) == 7


@pytest.mark.parametrize("game", BASELINES)
def test_correctness_5_both_sides_are_judged_on_the_same_episodes(play: Play, game: str) -> None:
    action = ACTIONS.get(game, 1)
    seed = derive_seed(EvaluationSettings().seed, "evaluation")
    sequences = [{"fields": None, "actions": [action] * STEPS}] * EPISODES
    ours = play({"game": game, "seed": seed.model_dump(), "sequences": sequences})
    environment = make(BASELINES[game])
    taken = np.array(action, np.float32) if isinstance(action, list) else action
    for episode, rows in enumerate(ours):
        theirs = [begin(environment, episode)]
        while len(theirs) < len(rows):
            theirs.append(environment.step(taken)[0])
        expected = np.array(rows)[:, :-3]
        assert np.abs(np.array(theirs) - expected).max() <= TOLERANCES.get(game, 1e-6)
    starts = np.array([rows[0] for rows in ours])
    assert np.ptp(starts, axis=0).max() > 5 * TOLERANCES.get(game, 1e-6), "episodes begin differently"
