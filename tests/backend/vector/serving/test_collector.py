"""Leases played by the server, from acts to blocks, on games whose numbers name themselves."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attract.errors import ProtocolError
from attract.experience.layout import PolicyLayout, StoreLayout
from attract.experience.validate import check_block
from attract.schema.messages import Act, Block, Lease, RolloutClose, Seat, Seed
from attract.schema.tensor import from_numpy, to_numpy
from attract.vector.batch import StepBatch, VectorLayout
from attract.vector.serving.collector import CentralCollector, Outgoing
from attract.vector.serving.segments import Decision
from fake_worker import counting_description
from step_server import FakeStepServer

HORIZON = 4


class NamingDecider:
    """Action (slot + step) mod 3; value 1000 * version + the steps seen; log-probability -1.

    The state counts the decisions since it was zero.
    """

    def __init__(self) -> None:
        self.versions: list[int] = []

    def decide(self, version: int, batch: StepBatch, state: np.ndarray) -> Decision:
        self.versions.append(version)
        steps = batch.observation["obs"][:, 1]
        return Decision(
            action=((batch.slot_id + batch.slot_step) % 3).astype(np.int32),
            log_prob=np.full(len(steps), -1.0, np.float32),
            value=(1000 * version + steps).astype(np.float32),
            state=state + 1,
        )

    def values(self, version: int, observation: dict[str, np.ndarray], state: np.ndarray) -> np.ndarray:
        # The half in the last place of a final observation tells it from any other.
        return (1000 * version + observation["obs"][:, 1] + observation["obs"][:, 3]).astype(np.float32)


class World:
    """A collector, its workers of four games each (two per group), and everything that was said."""

    def __init__(self, *, state_size: int = 0, episode_steps: int = 1_000_000, max_columns: int = 64) -> None:
        self.description = counting_description(observation_size=4, max_steps=None)
        self.decider = NamingDecider()
        self.time = 0.0
        self.collector = CentralCollector(
            "run-1",
            VectorLayout.for_game(self.description, HORIZON),
            self.decider,
            num_groups=2,
            state_size=state_size,
            max_columns=max_columns,
            clock=lambda: self.time,
        )
        self.workers: dict[int, FakeStepServer] = {}
        self.episode_steps = episode_steps
        self.under_way: list[tuple[int, Act]] = []
        self.blocks: list[Block] = []
        self.closes: list[RolloutClose] = []
        self.silent: set[int] = set()

    def lease(self, worker: int, lease_id: int, *, version: int = 0, num_segments: int = 1) -> None:
        self.workers.setdefault(worker, FakeStepServer(1, self.episode_steps))
        lease = Lease(
            run_id="run-1",
            lease_id=lease_id,
            purpose="train",
            seats=[Seat(policy_version=version)],
            game_sha256="ab" * 32,
            seed=Seed(low=1, high=2),
            num_segments=num_segments,
            group_sizes=[2, 2],
        )
        self.collector.lease(worker, range(4 * worker, 4 * worker + 4), lease)

    def play(self, most: int = 10_000) -> None:
        """Answer acts, one at a time, until nothing more is said or `most` were answered."""
        self.take(self.collector.advance())
        for _ in range(most):
            answerable = [step for step in self.under_way if step[0] not in self.silent]
            if not answerable:
                return
            self.under_way.remove(answerable[0])
            self.answer(*answerable[0])
            self.take(self.collector.advance())

    def answer(self, worker: int, act: Act) -> None:
        first = 4 * worker + 2 * act.group
        action = None if act.action is None else to_numpy(act.action, "action", "int32", (2,))
        observe = self.workers[worker].answer(
            np.arange(first, first + 2), act.group, action, lease_id=act.lease_id
        )
        self.time += 0.001
        self.collector.observe(worker, observe)

    def take(self, says: list[Outgoing]) -> None:
        for say in says:
            match say.message:
                case Act():
                    self.under_way.append((say.worker_id, say.message))
                case Block():
                    self.blocks.append(say.message)
                case RolloutClose():
                    self.closes.append(say.message)

    def arrays(self, block: Block) -> dict[str, np.ndarray]:
        state_size = self.collector._memory.state_size
        recurrent = {"state": (state_size,)} if state_size else {}
        layout = StoreLayout.for_run(self.description, PolicyLayout(recurrent), HORIZON, 8)
        return check_block(block, layout)


def test_a_lease_gives_blocks_that_the_store_takes_and_one_close():
    world = World()
    world.lease(0, 7, version=3, num_segments=2)
    world.play()
    assert [(block.lease_id, block.segment_index, block.block_index) for block in world.blocks] == [
        (7, 0, 0),
        (7, 0, 1),
        (7, 1, 2),
        (7, 1, 3),
    ]
    for block in world.blocks:
        arrays = world.arrays(block)
        slots, first = arrays["slot_id"], 4 * block.segment_index
        assert slots.tolist() == ([0, 1] if block.block_index % 2 == 0 else [2, 3])
        assert arrays["first_step"].tolist() == [first, first]
        for t in range(HORIZON):
            # S2: [slot, steps taken, ...], and what was done and earned there.
            assert arrays["obs.obs"][t, :, 0].tolist() == slots.tolist()
            assert arrays["obs.obs"][t, :, 1].tolist() == [first + t] * 2
            assert arrays["action"][t].tolist() == ((slots + first + t) % 3).tolist()
            assert arrays["value"][t].tolist() == [3000 + first + t] * 2
            assert arrays["reward"][t].tolist() == [first + t + 1] * 2
        assert arrays["valid"].all()
        assert block.policy_version == 3
    (close,) = world.closes
    assert (close.lease_id, close.num_blocks) == (7, 4)
    assert to_numpy(close.slot_id, "slots", "int32", (4,)).tolist() == [0, 1, 2, 3]
    assert to_numpy(close.bootstrap_value, "values", "float32", (4,)).tolist() == [3008.0] * 4


def test_I1_the_observation_after_the_last_step_is_the_bootstrap_and_the_next_rollouts_first():
    world = World()
    world.lease(0, 7, version=3)
    world.play()
    world.lease(0, 8, version=4)
    world.play()
    first, second = (world.arrays(world.blocks[place]) for place in (0, 2))
    assert first["bootstrap_obs.obs"].tolist() == second["obs.obs"][0].tolist()
    # The bootstrap value is read under the behaviour policy, the next decision made by the next version.
    assert first["bootstrap_value"].tolist() == [3004.0, 3004.0]
    assert second["value"][0].tolist() == [4004.0, 4004.0]
    assert world.workers[0].total_steps == 2 * HORIZON * 4


def test_E4_bootstrap_is_0_after_termination_and_the_final_value_after_truncation():
    # Episodes of 4 steps end with the segment: even games terminate, odd ones are truncated.
    world = World(episode_steps=4)
    world.lease(0, 7, version=3)
    world.play()
    arrays = world.arrays(world.blocks[0])
    assert arrays["terminated"][3].tolist() == [True, False]
    assert arrays["truncated"][3].tolist() == [False, True]
    assert arrays["bootstrap_value"].tolist() == [0.0, 3004.5]
    assert arrays["final_step"].tolist() == [3]
    assert arrays["final_column"].tolist() == [1]
    assert arrays["final_value"].tolist() == [3004.5]
    assert arrays["final_obs.obs"].tolist() == [[1.0, 4.0, (1 + 3) % 3, 0.5]]
    episodes = world.blocks[0].episodes
    assert (episodes.instance_id, episodes.step) == ([0, 1], [3, 3])


def test_S3_S4_a_segment_carries_the_state_it_began_with_and_state_is_zeroed_at_an_episodes_end():
    # Episodes of 3 steps: the state counts 0 1 2 | 0 1 2 | 0 1 ..., so segments of 4 begin with 0, 1, 2.
    world = World(state_size=1, episode_steps=3)
    world.lease(0, 7, num_segments=3)
    world.play()
    begun = [world.arrays(block)["recurrent_state.state"].tolist() for block in world.blocks[::2]]
    assert begun == [[[0.0], [0.0]], [[1.0], [1.0]], [[2.0], [2.0]]]
    # E4: a final observation comes with the state after its step, before it was zeroed.
    finals = [block.final_observations for block in world.blocks[::2]]
    states = [
        to_numpy(final.recurrent_state["state"], "state", "float32", (None, 1)).ravel().tolist()
        for final in finals
        if final is not None
    ]
    assert states == [[3.0], [3.0], [3.0, 3.0]]


def test_I2_all_workers_play_in_step_whenever_their_answers_come():
    world = World()
    world.lease(0, 7)
    world.lease(1, 8)
    world.silent = {1}
    world.play()
    # Worker 0 has said what it sees and waits for worker 1.
    assert world.workers[0].total_steps == 0
    world.silent = set()
    world.play(4)
    assert {len(worker.steps) and max(worker.steps.values()) for worker in world.workers.values()} <= {0, 1}
    world.play()
    assert sorted(close.lease_id for close in world.closes) == [7, 8]


def test_a_worker_that_comes_later_joins_between_two_rounds():
    world = World()
    world.lease(0, 7, num_segments=3)
    world.play(9)
    world.lease(1, 8)
    world.play()
    assert sorted(close.lease_id for close in world.closes) == [7, 8]
    by_lease = {lease: [block for block in world.blocks if block.lease_id == lease] for lease in (7, 8)}
    assert [block.segment_index for block in by_lease[7]] == [0, 0, 1, 1, 2, 2]
    assert [world.arrays(block)["first_step"][0] for block in by_lease[7]] == [0, 0, 4, 4, 8, 8]
    assert len(by_lease[8]) == 2
    for block in world.blocks:
        assert world.arrays(block)["valid"].all()


def test_a_worker_that_vanishes_holds_up_no_other_and_gives_no_blocks():
    world = World()
    world.lease(0, 7)
    world.lease(1, 8)
    world.play(10)
    world.silent = {1}
    world.play()
    assert world.closes == []
    world.collector.void(8)
    world.play()
    assert [close.lease_id for close in world.closes] == [7]
    assert {block.lease_id for block in world.blocks} == {7}
    world.lease(0, 9)
    world.play()
    assert [close.lease_id for close in world.closes] == [7, 9]


def test_an_observe_that_is_refused_makes_no_block_and_the_others_play_on():
    world = World()
    world.lease(0, 7)
    world.lease(1, 8)
    world.play(10)
    at = next(place for place, (worker, _) in enumerate(world.under_way) if worker == 1)
    _, act = world.under_way.pop(at)
    assert act.action is not None
    action = to_numpy(act.action, "action", "int32", (2,))
    first = 4 + 2 * act.group
    true = world.workers[1].answer(np.arange(first, first + 2), act.group, action, lease_id=8)
    assert true.outcome is not None
    reward = from_numpy(np.full(3, 9.0, np.float32))
    wrong = true.model_copy(update={"outcome": true.outcome.model_copy(update={"reward": reward})})
    with pytest.raises(ProtocolError, match=r"observe\.reward"):
        world.collector.observe(1, wrong)
    # As the process does: no worker waits for it; its unfinished segments are dropped.
    world.collector.gone(1)
    world.under_way = [step for step in world.under_way if step[0] != 1]
    world.play()
    assert [close.lease_id for close in world.closes] == [7]
    assert {block.lease_id for block in world.blocks} == {7}
    for block in world.blocks:
        arrays = world.arrays(block)
        assert arrays["valid"].all()
        assert arrays["slot_id"].max() < 4
        assert arrays["reward"].max() == HORIZON
    # It comes back on a new socket: its lease is played from the segment that was lost.
    world.lease(1, 8)
    world.play()
    again = [world.arrays(block) for block in world.blocks if block.lease_id == 8]
    assert [arrays["slot_id"].tolist() for arrays in again] == [[4, 5], [6, 7]]
    assert all(arrays["valid"].all() for arrays in again)
    assert [close.lease_id for close in world.closes] == [7, 8]


def test_when_all_vanish_the_round_ends_without_them_and_the_next_begins_anew():
    world = World(state_size=1, episode_steps=3)
    world.lease(0, 7)
    world.lease(1, 8)
    world.play(10)
    world.collector.gone(0)
    world.collector.gone(1)
    world.under_way.clear()
    world.play()
    assert world.blocks == []
    world.lease(1, 8)
    world.play()
    assert [close.lease_id for close in world.closes] == [8]
    assert {block.lease_id for block in world.blocks} == {8}


def test_a_worker_that_reconnects_goes_on_with_its_lease_and_its_state():
    world = World(state_size=1)
    world.lease(0, 7, num_segments=2)
    # 2 looks, then both groups' 4 steps and 2 more.
    world.play(2 + 8 + 4)
    world.collector.gone(0)
    world.under_way.clear()
    world.play()
    assert {block.segment_index for block in world.blocks} == {0}
    world.lease(0, 7, num_segments=2)
    world.play()
    assert [close.lease_id for close in world.closes] == [7]
    again = [world.arrays(block) for block in world.blocks if block.segment_index == 1]
    # The games went on from where they were, and so did what the policy remembers of them: one per step.
    for arrays in again:
        assert arrays["recurrent_state.state"].ravel().tolist() == arrays["first_step"].tolist()


def test_leases_of_two_versions_are_decided_each_by_its_own():
    world = World()
    world.lease(0, 7, version=1)
    world.lease(1, 8, version=2)
    world.play()
    values = {block.lease_id: world.arrays(block)["value"][0, 0] for block in world.blocks}
    assert values == {7: 1000.0, 8: 2000.0}


def test_a_segment_is_cut_into_blocks_of_at_most_max_columns():
    world = World(max_columns=1, episode_steps=3)
    world.lease(0, 7)
    world.play()
    assert [world.arrays(block)["slot_id"].tolist() for block in world.blocks] == [[0], [1], [2], [3]]
    assert [len(block.episodes.instance_id) for block in world.blocks] == [1, 1, 1, 1]
    assert world.closes[0].num_blocks == 4


def test_a_step_in_which_a_game_failed_counts_nowhere_and_the_one_before_is_truncated():
    world = World(state_size=1)
    world.lease(0, 7)
    real = FakeStepServer.answer

    def failing(self, instance_ids, group, action, *, lease_id=1):
        observe = real(self, instance_ids, group, action, lease_id=lease_id)
        if group == 0 and observe.step == 3 and observe.outcome is not None:
            valid = np.array([0, 1], np.uint8)
            outcome = observe.outcome.model_copy(
                update={
                    "valid": from_numpy(valid),
                    "executed_ticks": from_numpy(valid.astype(np.uint16)),
                    "reward": from_numpy(np.array([0, 3], np.float32)),
                }
            )
            return observe.model_copy(update={"outcome": outcome})
        return observe

    world.workers[0].answer = failing.__get__(world.workers[0])
    world.play()
    arrays = world.arrays(world.blocks[0])
    assert arrays["valid"][:, 0].tolist() == [True, True, False, True]
    assert arrays["truncated"][:, 0].tolist() == [False, True, False, False]
    assert arrays["final_step"].tolist() == [1]
    # What the failed step began with: two steps taken; the state is that after two decisions.
    assert arrays["final_obs.obs"][0, 1] == 2.0
    assert world.blocks[0].final_observations is not None
    state = world.blocks[0].final_observations.recurrent_state["state"]
    assert to_numpy(state, "state", "float32", (1, 1)).tolist() == [[2.0]]


TURNS = st.one_of(
    st.tuples(st.just("lease"), st.integers(0, 2), st.integers(1, 3)),
    st.tuples(st.just("void"), st.integers(0, 2), st.none()),
    st.tuples(st.just("play"), st.none(), st.integers(1, 5)),
)
"""What happens to which worker: a lease of so many segments, its end, so many steps of all."""


@settings(max_examples=60)
@given(st.lists(TURNS, max_size=80))
def test_whatever_happens_each_lease_ends_once_and_no_segment_comes_twice(turns: list[tuple[str, int, int]]):
    world = World(state_size=1, episode_steps=3)
    open_leases: dict[int, int] = {}
    next_lease = 1
    ended: set[int] = set()
    for kind, worker, count in turns:
        if kind == "lease" and worker not in open_leases:
            open_leases[worker] = next_lease
            world.lease(worker, next_lease, num_segments=count)
            next_lease += 1
        elif kind == "void" and worker in open_leases:
            lease = open_leases.pop(worker)
            ended.add(lease)
            world.collector.void(lease)
            world.under_way = [step for step in world.under_way if step[0] != worker]
        elif kind == "play":
            world.play(count)
        for close in world.closes:
            for worker, lease in list(open_leases.items()):
                if lease == close.lease_id:
                    del open_leases[worker]
    world.play()
    closed = [close.lease_id for close in world.closes]
    assert len(closed) == len(set(closed))
    assert not set(closed) & ended
    assert set(closed) | ended == set(range(1, next_lease))
    keys = [
        (block.lease_id, block.segment_index, slot)
        for block in world.blocks
        for slot in world.arrays(block)["slot_id"].tolist()
    ]
    assert len(keys) == len(set(keys))
