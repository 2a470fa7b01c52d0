"""Groups that alternate, counted on a fleet of games whose numbers name themselves."""

import numpy as np
import pytest

from attract.errors import ProtocolError
from attract.vector.batch import VectorLayout
from attract.vector.core import VectorCore
from attract.vector.group import Part, StepRequest
from fake_worker import counting_description
from step_server import FakeStepServer


class Driven:
    """A core and its fleet; answers come when `settle` is called, unless a worker is frozen."""

    def __init__(self, core: VectorCore, parts: list[Part], num_agents: int, episode_steps: int) -> None:
        self.core = core
        self.fleet = FakeStepServer(num_agents, episode_steps)
        self.instances = {(part.worker_id, part.group): part.instance_ids for part in parts}
        self.under_way: list[StepRequest] = []
        self.frozen: set[int] = set()
        self.now = 0.0

    def start(self):
        self.under_way += self.core.start(self.now)
        self.settle()
        return self.core.reset()

    def send(self, actions: np.ndarray) -> None:
        self.under_way += self.core.send(actions, self.now)

    def recv(self):
        self.settle()
        return self.core.recv()

    def settle(self) -> None:
        kept = []
        for order in self.under_way:
            if order.worker_id in self.frozen:
                kept.append(order)
                continue
            ids = self.instances[order.worker_id, order.group]
            self.core.handle_observation(order.worker_id, self.fleet.answer(ids, order.group, order.action))
        self.under_way = kept


def driven(
    num_games: int = 8,
    num_agents: int = 1,
    num_groups: int = 2,
    num_workers: int = 1,
    episode_steps: int = 1_000_000,
) -> Driven:
    description = counting_description(observation_size=4, num_agents=num_agents, max_steps=None)
    layout = VectorLayout.for_game(description, horizon=64)
    core = VectorCore.even(layout, num_games=num_games, num_groups=num_groups, num_workers=num_workers)
    parts = [
        Part(member.part.worker_id, member.part.group, member.part.instance_ids)
        for group in core._groups  # the fleet is cut as the core cut it
        for member in group.members
    ]
    return Driven(core, parts, num_agents, episode_steps)


def actions_of(batch) -> np.ndarray:
    return (batch.slot_id % 3).astype(np.int32)


def test_I2_it_tells_whose_turn_it_is_and_which_columns_are_whose():
    # 12 games of 2 agents in 3 groups of 4 games, each cut between two workers: 4 columns for each.
    fleet = driven(num_games=12, num_agents=2, num_groups=3, num_workers=2)
    first, second, _ = fleet.start()
    core = fleet.core
    assert core.columns_of(2) == {0: slice(0, 4), 1: slice(4, 8)}
    assert (core.next_sent, core.next_received, core.num_under_way) == (0, 0, 0)
    for batch in (first, second):
        fleet.send(actions_of(batch))
    assert (core.next_sent, core.next_received, core.num_under_way) == (2, 0, 2)
    fleet.recv()
    assert (core.next_sent, core.next_received, core.num_under_way) == (2, 1, 1)


def test_I3_2720_games_of_3_agents_in_2_groups_fill_8160_segments_in_128_calls():
    fleet = driven(num_games=2720, num_agents=3, num_groups=2, num_workers=2)
    for batch in fleet.start():
        fleet.send(actions_of(batch))
    steps = np.zeros(8160, int)
    for call in range(1, 129):
        batch = fleet.recv()
        assert (batch.slots.start, batch.slots.stop) == ((0, 4080) if call % 2 else (4080, 8160))
        assert batch.slot_id.tolist() == list(range(batch.slots.start, batch.slots.stop))
        assert batch.valid.all()
        steps[batch.slots] += batch.valid
        if call < 128:
            assert (steps == 64).sum() == (4080 if call == 127 else 0)
        fleet.send(actions_of(batch))
    assert (steps == 64).sum() == 8160
    # The 127th call's actions are the first of the next rollout: group 0 steps while group 1 is received.
    assert fleet.fleet.total_steps == 64 * 8160 + 4080


def test_I1_reset_delivers_observation_0_of_every_slot_and_counts_nothing():
    fleet = driven(num_games=6, num_agents=2, num_groups=3)
    batches = fleet.start()
    assert np.concatenate([batch.slot_id for batch in batches]).tolist() == list(range(12))
    for batch in batches:
        assert batch.observation["obs"][:, 1].tolist() == [0] * 4
        assert batch.num_outcomes == 0
        assert not batch.valid.any()
    assert fleet.fleet.total_steps == 0


def test_I1_recv_returns_the_outcome_of_the_last_action_and_what_is_seen_after_it():
    fleet = driven(num_games=4, num_groups=2, episode_steps=3)
    for batch in fleet.start():
        fleet.send(actions_of(batch))
    for t in range(1, 7):
        for group in (0, 1):
            batch = fleet.recv()
            assert (batch.group, batch.num_outcomes) == (group, t)
            # [slot, steps taken, the action that led here, 0]
            assert batch.observation["obs"][:, 0].tolist() == batch.slot_id.tolist()
            assert batch.observation["obs"][:, 1].tolist() == [t, t]
            assert batch.observation["obs"][:, 2].tolist() == actions_of(batch).tolist()
            assert batch.reward.tolist() == [t, t]
            assert batch.slot_step.tolist() == [t, t]
            assert batch.episode_step.tolist() == [t % 3] * 2
            # Even games terminate in every third step, odd ones are truncated, with what they saw before.
            ends = t % 3 == 0
            assert batch.terminated.tolist() == [ends, False]
            assert batch.truncated.tolist() == [False, ends]
            assert batch.final_column.tolist() == ([1] if ends else [])
            assert batch.final_observation["obs"][:, 3].tolist() == ([0.5] if ends else [])
            assert len(batch.episodes) == (2 if ends else 0)
            fleet.send(actions_of(batch))


def test_I2_groups_take_strict_turns_and_no_slot_is_two_steps_ahead_of_another():
    fleet = driven(num_games=6, num_groups=3)
    batches = fleet.start()
    for batch in batches:
        fleet.send(actions_of(batch))
    with pytest.raises(RuntimeError, match="expected recv"):
        fleet.send(actions_of(batches[0]))
    steps = np.zeros(6, int)
    for _ in range(10):
        for group in range(3):
            batch = fleet.recv()
            assert batch.group == group
            steps[batch.slots] += 1
            assert np.ptp(steps) <= 1
            fleet.send(actions_of(batch))


def test_I2_while_one_group_is_with_the_policy_all_other_groups_step():
    fleet = driven(num_games=6, num_groups=3)
    for batch in fleet.start():
        fleet.send(actions_of(batch))
    assert sorted(order.group for order in fleet.under_way) == [0, 1, 2]
    batch = fleet.recv()
    fleet.send(actions_of(batch))
    fleet.under_way.clear()
    # Nothing has been asked of group 0 but what was just sent: 1 and 2 were under way all along.
    assert fleet.core.recv().group == 1
    assert fleet.core.recv().group == 2


def test_I1_slots_of_a_vanished_worker_come_back_invalid_after_the_lease_timeout():
    fleet = driven(num_games=8, num_groups=2, num_workers=2)
    core = fleet.core
    for batch in fleet.start():
        fleet.send(actions_of(batch))
    for _ in range(2):
        fleet.send(actions_of(fleet.recv()))
    fleet.settle()
    fleet.now = 100.0
    fleet.frozen = {1}
    fleet.send(actions_of(fleet.recv()))
    fleet.send(actions_of(fleet.recv()))
    # Group 0 awaits what was ordered at 100 s; slots 2 and 3 are the second worker's.
    fleet.settle()
    assert not core.is_ready
    assert core.deadline() == 115.0
    assert core.tick(114.9) == []
    assert core.tick(115.0) == [1]
    batch = core.recv()
    assert batch.valid.tolist() == [True, True, False, False]
    assert batch.reward.tolist() == [3, 3, 0, 0]
    assert batch.active.tolist() == [True, True, False, False]
    assert batch.observation["obs"][:, 1].tolist() == [3, 3, 2, 2]
    # The others go on; the lost one is not awaited again, and its late messages change nothing.
    late = fleet.fleet.answer(fleet.instances[1, 0], 0, np.zeros(2, np.int32))
    core.handle_observation(1, late)
    for step in (3, 4, 4, 5):
        fleet.under_way = [order for order in fleet.under_way if order.worker_id != 1]
        fleet.send(actions_of(batch))
        batch = fleet.recv()
        assert batch.valid.tolist() == [True, True, False, False]
        assert batch.reward.tolist() == [step, step, 0, 0]


def test_I1_progress_that_is_heard_puts_the_lease_timeout_off():
    fleet = driven(num_games=4, num_groups=1, num_workers=2)
    (batch,) = fleet.start()
    fleet.frozen = {0, 1}
    fleet.send(actions_of(batch))
    fleet.core.touch_last_seen(0, 10.0)
    assert fleet.core.tick(15.0) == [1]
    assert fleet.core.deadline() == 25.0


def test_actions_that_do_not_fit_the_game_are_refused():
    fleet = driven(num_games=4, num_groups=2)
    fleet.start()
    with pytest.raises(RuntimeError, match=r"shape \(2,\), got \(3,\)"):
        fleet.send(np.zeros(3, np.int32))
    with pytest.raises(RuntimeError, match="0 to 2, got 0 to 3"):
        fleet.send(np.array([0, 3]))
    with pytest.raises(RuntimeError, match="dtype int32, got float32"):
        fleet.send(np.zeros(2, np.float32))


def test_an_unrequested_observe_is_refused():
    fleet = driven(num_games=4, num_groups=2)
    for batch in fleet.start():
        fleet.send(actions_of(batch))
    fleet.settle()
    again = fleet.fleet.answer(fleet.instances[0, 0], 0, np.zeros(2, np.int32))
    with pytest.raises(ProtocolError, match="was not asked"):
        fleet.core.handle_observation(0, again)


def test_an_observe_of_the_wrong_shape_is_refused_and_changes_nothing():
    fleet = driven(num_games=4, num_groups=2)
    for batch in fleet.start():
        fleet.send(actions_of(batch))
    good = fleet.fleet.answer(fleet.instances[0, 0], 0, np.zeros(2, np.int32))
    assert good.outcome is not None
    bad = good.model_copy(update={"outcome": good.outcome.model_copy(update={"reward": good.active})})
    with pytest.raises(ProtocolError, match=r"observe\.reward"):
        fleet.core.handle_observation(0, bad)
    assert not fleet.core.is_ready
    fleet.core.handle_observation(0, good)
    assert fleet.core.recv().reward.tolist() == [1, 1]
