import numpy as np
import pytest

from attract.vector.core import VectorCore
from attract.vector.layout import VectorLayout
from attract.vector.serving.memory import StateMemory
from fake_worker import counting_description
from step_server import FakeStepServer

BEFORE, AFTER = np.full((2, 1), 3.0, np.float32), np.full((2, 1), 4.0, np.float32)


def seen_after(steps: int, *, episode_steps: int = 100):
    """What two slots see that have taken so many steps."""
    layout = VectorLayout.for_game(counting_description(observation_size=4, max_steps=None), 4)
    core = VectorCore.even(layout, num_games=2, num_groups=1)
    (order,) = core.start(0.0)
    fleet = FakeStepServer(1, episode_steps)
    fleet.steps[np.arange(2).tobytes()] = steps
    core.handle_observation(0, fleet.answer(np.arange(2), 0, order.action))
    return core.reset()[0]


@pytest.mark.parametrize(("steps", "state"), [(7, 3.0), (8, 4.0), (9, 0.0)])
def test_S3_whether_a_lost_worker_took_its_last_step_is_seen_when_it_comes_back(steps: int, state: float):
    memory = StateMemory(1)
    # Decided upon at step 7: it has taken that step if it comes back with 8.
    memory.keep(np.arange(2), np.full(2, 7), BEFORE, AFTER)
    assert memory.recall(seen_after(steps)).ravel().tolist() == [state, state]


def test_S4_an_episode_that_has_just_begun_begins_with_nothing():
    memory = StateMemory(1)
    memory.keep(np.arange(2), np.full(2, 7), BEFORE, AFTER)
    assert memory.recall(seen_after(8, episode_steps=8)).ravel().tolist() == [0.0, 0.0]


def test_what_was_recalled_is_forgotten():
    memory = StateMemory(1)
    memory.keep(np.arange(2), np.full(2, 7), BEFORE, AFTER)
    memory.recall(seen_after(7))
    assert memory.recall(seen_after(7)).ravel().tolist() == [0.0, 0.0]
