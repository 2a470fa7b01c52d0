"""A lease under central inference, the order of a worker's leases, and states of slots in between."""

import numpy as np
import pytest

from attract.schema.messages import Lease
from attract.schema.tensor import to_numpy
from attract.vector.batch import VectorLayout
from attract.vector.core import VectorCore
from attract.vector.serving.playing import LeaseQueues, Playing, StateMemory
from blocks import train_lease
from fake_worker import counting_description
from step_server import FakeStepServer


def lease(lease_id: int = 7, *, num_segments: int = 2, version: int = 3) -> Lease:
    one = train_lease(lease_id, version=version, num_segments=num_segments)
    return one.model_copy(update={"group_sizes": [1, 2]})


def playing() -> Playing:
    return Playing(4, [10, 11, 12], lease())


def test_each_group_has_its_games_in_order():
    one = playing()
    assert one.games_of(0).tolist() == [10]
    assert one.games_of(1).tolist() == [11, 12]
    assert one.version == 3


def test_a_lease_is_over_when_every_group_has_finished_every_segment():
    one = playing()
    one.begun = 2
    for group in (0, 1, 0):
        assert not one.is_over
        one.finish(group, np.array([group]), np.array([0.5], np.float32))
    assert (one.finished, one.is_over, one.has_next) == ([2, 1], False, False)
    one.finish(1, np.array([1]), np.array([0.5], np.float32))
    assert one.is_over


def test_a_restart_begins_the_first_segment_that_some_group_has_not_finished():
    one = playing()
    one.begun, one.finished = 2, [2, 1]
    one.restart()
    assert (one.begun, one.finished, one.has_next) == (1, [1, 1], True)


def test_E4_a_close_has_the_newest_bootstrap_of_every_slot_in_the_order_of_groups():
    one = playing()
    one.finish(1, np.array([11, 12]), np.array([9.0, 9.0], np.float32))
    one.finish(1, np.array([11, 12]), np.array([1.5, 2.5], np.float32))
    one.finish(0, np.array([10]), np.array([0.5], np.float32))
    one.num_blocks, one.started, one.inference_seconds, one.game_seconds = 3, 2.0, 0.25, 0.125
    close = one.close(now=6.0, waited=1.0)
    assert (close.run_id, close.lease_id, close.num_blocks) == ("run-1", 7, 3)
    assert to_numpy(close.slot_id, "slot_id", "int32", (3,)).tolist() == [10, 11, 12]
    values = to_numpy(close.bootstrap_value, "bootstrap_value", "float32", (3,))
    assert values.tolist() == [0.5, 1.5, 2.5]
    assert (close.play_seconds, close.inference_seconds, close.game_seconds) == (4.0, 0.25, 0.125)
    assert close.wait_seconds == 1.0


def test_a_lease_that_never_began_took_no_time():
    one = playing()
    one.finish(0, np.array([10]), np.array([0.0], np.float32))
    assert one.close(now=6.0, waited=0.0).play_seconds == 0.0


def test_leases_are_played_in_the_order_in_which_they_came_and_each_once():
    queues = LeaseQueues()
    for lease_id in (7, 8, 7):
        queues.add(4, [10, 11, 12], lease(lease_id, version=lease_id))
    assert [queued.lease.lease_id for queued in queues.of(4)] == [7, 8]
    assert queues.versions() == {7, 8}
    first = queues.next_of(4)
    assert first is not None
    assert first.lease.lease_id == 7
    first.begun = 2
    second = queues.next_of(4)
    assert second is queues.find(8)
    queues.remove(first)
    assert queues.find(7) is None
    assert list(queues.of(5)) == []


def test_who_is_gone_plays_nothing_until_its_lease_is_said_again():
    queues = LeaseQueues()
    queues.add(5, [1], lease(8))
    queues.add(4, [0], lease(7))
    assert queues.able() == (4, 5)
    queues.leave(4)
    assert (queues.able(), queues.next_of(4)) == ((5,), None)
    assert queues.find(7) is not None, "its lease waits for it"
    queues.add(4, [0], lease(7))
    assert queues.able() == (4, 5)


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
