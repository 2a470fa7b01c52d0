"""Segments built step by step, with numbers worked out by hand: two steps, two slots, a state that counts."""

from typing import Any

import numpy as np

from attract.schema.episode_results import EpisodeResult
from attract.schema.messages import Block, Lease, Seat, Seed, Tensor
from attract.schema.tensor import to_numpy
from attract.vector.batch import StepBatch, VectorLayout
from attract.vector.serving.segments import Decision, SegmentBuilder
from fake_worker import counting_description

LEASE = Lease(
    run_id="run-1",
    lease_id=7,
    purpose="train",
    seats=[Seat(policy_id="main", policy_version=5)],
    game_sha256="a" * 64,
    seed=Seed(low=0, high=0),
    num_segments=4,
)
MASKED = counting_description(max_steps=None).model_copy(update={"action_mask": True})


def layout(horizon: int = 2, num_agents: int = 1) -> VectorLayout:
    return VectorLayout.for_game(counting_description(num_agents=num_agents, max_steps=None), horizon)


def seen(step: int, slots: int = 2, **changes: Any) -> StepBatch:
    """After `step` steps slot s sees [s, step] and was paid step + 10 s."""
    places = np.arange(slots)
    values: dict[str, Any] = {
        "group": 0,
        "slots": slice(0, slots),
        "slot_id": places,
        "num_outcomes": step,
        "slot_step": np.full(slots, step),
        "observation": {"obs": np.stack([places, np.full(slots, step)], axis=1).astype(np.float32)},
        "action_mask": None,
        "active": np.ones(slots, np.bool_),
        "episode": np.zeros(slots, np.int64),
        "episode_step": np.full(slots, step),
        "reward": (step + 10 * places).astype(np.float32),
        "terminated": np.zeros(slots, np.bool_),
        "truncated": np.zeros(slots, np.bool_),
        "valid": np.ones(slots, np.bool_),
        "executed_ticks": np.full(slots, 2, np.uint16),
        "final_column": np.zeros(0, np.int64),
        "final_observation": {"obs": np.zeros((0, 2), np.float32)},
        "episodes": (),
        "step_seconds": 0.0,
    }
    return StepBatch(**values | changes)


def decided(step: int, slots: int = 2) -> Decision:
    """Action (slot + step) mod 3, value 100 + step, a state of step + 1."""
    return Decision(
        action=((np.arange(slots) + step) % 3).astype(np.int32),
        log_prob=np.full(slots, -0.5, np.float32),
        value=np.full(slots, 100.0 + step, np.float32),
        state=np.full((slots, 1), step + 1.0, np.float32),
    )


def bools(*values: int) -> Any:
    return np.array(values, np.bool_)


def episode(instance_id: int) -> EpisodeResult:
    return EpisodeResult(
        instance_id=instance_id,
        episode=0,
        step=0,
        returns=[1.0],
        length_steps=1,
        length_ticks=2,
        end_reason="terminated",
    )


def array(tensor: Tensor, dtype: str = "float32") -> Any:
    return to_numpy(tensor, "tensor", dtype, tuple(tensor.shape))


class Played:
    """A builder that has taken the outcomes it is given, from the slots' fourth step on."""

    def __init__(self, *outcomes: StepBatch, num_agents: int = 1, slots: int = 2) -> None:
        self.builder = SegmentBuilder(layout(len(outcomes), num_agents), slots, 1)
        state = np.full((slots, 1), 0.5, np.float32)
        batch = seen(4, slots)
        self.builder.begin(batch, state)
        self.states = [state.ravel().tolist()]
        for step, after in enumerate(outcomes, start=4):
            decision = decided(step, slots)
            self.builder.decide(batch, decision, state)
            state = self.builder.outcome(after, decision)
            self.states.append(state.ravel().tolist())
            batch = after
        self.last = batch

    def block(self, values: list[float], final_values: list[float] | None = None) -> Block:
        finals = np.array(final_values or [], np.float32)
        self.builder.finish(self.last, np.array(values, np.float32), finals)
        columns = slice(0, len(values))
        (block,) = self.builder.blocks(LEASE, 3, columns, first_block=9, max_columns=10)
        return block


def test_E8_S3_a_segment_has_what_was_seen_done_and_paid_at_each_step():
    played = Played(seen(5), seen(6))
    assert played.builder.is_full
    block = played.block([7.0, 8.0])
    named = (block.lease_id, block.segment_index, block.block_index, block.policy_id, block.policy_version)
    assert named == (7, 3, 9, "main", 5)
    assert array(block.observation["obs"]).tolist() == [[[0, 4], [1, 4]], [[0, 5], [1, 5]]]
    assert array(block.action, "int32").tolist() == [[1, 2], [2, 0]]
    assert array(block.value).tolist() == [[104, 104], [105, 105]]
    assert array(block.reward).tolist() == [[5, 15], [6, 16]]
    assert array(block.first_step, "int32").tolist() == [4, 4]
    assert array(block.recurrent_state["state"]).tolist() == [[0.5], [0.5]]
    # Rule E4: the observation after the last step, and its value.
    assert array(block.bootstrap_observation["obs"]).tolist() == [[0, 6], [1, 6]]
    assert array(block.bootstrap_value).tolist() == [7.0, 8.0]
    assert block.final_observations is None
    assert played.states == [[0.5, 0.5], [5, 5], [6, 6]]


def test_S4_state_is_zeroed_after_an_end_and_kept_by_who_took_no_part():
    ended = seen(5, terminated=bools(1, 0))
    away = seen(6, valid=bools(1, 0), active=bools(1, 0))
    one = Played(ended, seen(6))
    assert one.states[1] == [0, 5]
    builder = SegmentBuilder(layout(), 2, 1)
    state = np.array([[3.0], [4.0]], np.float32)
    builder.begin(seen(4), state)
    builder.decide(seen(4, active=bools(1, 0)), decided(4), state)
    assert builder.outcome(away, decided(4)).ravel().tolist() == [5.0, 4.0]


def test_E4_bootstrap_is_0_after_termination_and_the_final_value_after_truncation():
    final = {"obs": np.array([[1, 0.5]], np.float32)}
    played = Played(
        seen(5),
        seen(
            6,
            terminated=bools(1, 0),
            truncated=bools(0, 1),
            final_column=np.array([1]),
            final_observation=final,
        ),
    )
    block = played.block([7.0, 8.0], [33.0])
    assert array(block.bootstrap_value).tolist() == [0.0, 33.0]
    assert block.final_observations is not None
    assert array(block.final_observations.step, "int32").tolist() == [1]
    assert array(block.final_observations.column, "int32").tolist() == [1]
    assert array(block.final_observations.observation["obs"]).tolist() == [[1, 0.5]]
    assert array(block.final_observations.value).tolist() == [33.0]
    # The state after the decision at that step, which is the sixth.
    assert array(block.final_observations.recurrent_state["state"]).tolist() == [[6.0]]


def test_E2_a_truncation_before_the_last_step_leaves_the_bootstrap_alone():
    final = {"obs": np.array([[0, 0.5]], np.float32)}
    played = Played(
        seen(5, truncated=bools(1, 0), final_column=np.array([0]), final_observation=final), seen(6)
    )
    assert played.builder.finals().step.tolist() == [0]
    assert array(played.block([7.0, 8.0], [33.0]).bootstrap_value).tolist() == [7.0, 8.0]


def test_a_game_that_failed_truncates_the_step_before_at_what_the_failed_one_began_with():
    failed = seen(
        6, valid=bools(0, 1), reward=np.array([0, 16], np.float32), episodes=(episode(0), episode(1))
    )
    played = Played(seen(5), failed)
    block = played.block([7.0, 8.0], [33.0])
    assert array(block.valid, "uint8").tolist() == [[1, 1], [0, 1]]
    assert array(block.truncated, "uint8").tolist() == [[1, 0], [0, 0]]
    assert block.final_observations is not None
    assert array(block.final_observations.step, "int32").tolist() == [0]
    assert array(block.final_observations.observation["obs"]).tolist() == [[0, 5]]
    assert array(block.final_observations.recurrent_state["state"]).tolist() == [[5.0]]
    # Its episode ends with the last good step, the other game's with the one it is told in.
    assert (block.episodes.instance_id, block.episodes.step) == ([0, 1], [0, 1])
    assert played.states[2] == [0, 6]


def test_a_game_that_fails_in_the_first_step_leaves_nothing_to_truncate():
    failed = seen(5, valid=bools(0, 1), episodes=(episode(0),))
    block = Played(failed, seen(6)).block([7.0, 8.0])
    assert array(block.truncated, "uint8").tolist() == [[0, 0], [0, 0]]
    assert block.episodes.instance_id == [], "its last good step is of the segment before"


def test_E9_an_episode_is_told_with_its_games_first_agent_and_blocks_are_cut_at_most_so_wide():
    played = Played(seen(5, 4, episodes=(episode(1),)), num_agents=2, slots=4)
    played.builder.finish(played.last, np.arange(4, dtype=np.float32), np.zeros(0, np.float32))
    blocks = played.builder.blocks(LEASE, 3, slice(1, 4), first_block=2, max_columns=2)
    assert [block.block_index for block in blocks] == [2, 3]
    assert [array(block.slot_id, "int32").tolist() for block in blocks] == [[1, 2], [3]]
    assert [block.episodes.instance_id for block in blocks] == [[1], []]
    assert [array(block.bootstrap_value).tolist() for block in blocks] == [[1.0, 2.0], [3.0]]


def test_E9_what_a_game_leaves_in_the_mask_of_who_does_not_play_means_nothing():
    builder = SegmentBuilder(VectorLayout.for_game(MASKED, 1), 2, 0)
    forbidden = np.array([[1, 0, 0], [0, 0, 0]], np.bool_)
    batch = seen(4, active=bools(1, 0), action_mask=forbidden)
    state = np.zeros((2, 0), np.float32)
    builder.begin(batch, state)
    builder.decide(batch, decided(4), state)
    assert builder.outcome(seen(5, valid=bools(1, 0)), decided(4)).shape == (2, 0)
    builder.finish(seen(5), np.zeros(2, np.float32), np.zeros(0, np.float32))
    (block,) = builder.blocks(LEASE, 3, slice(0, 2), first_block=0, max_columns=2)
    assert block.action_mask is not None
    assert array(block.action_mask, "uint8").tolist() == [[[1, 0, 0], [1, 1, 1]]]
    assert block.recurrent_state == {}


def test_the_next_segment_begins_with_nothing_of_the_one_before():
    final = {"obs": np.array([[0, 0.5]], np.float32)}
    played = Played(
        seen(
            5,
            truncated=bools(1, 0),
            final_column=np.array([0]),
            final_observation=final,
            episodes=(episode(0),),
        ),
    )
    played.block([7.0, 8.0], [33.0])
    played.builder.begin(seen(5), np.zeros((2, 1), np.float32))
    assert (played.builder.step, played.builder.is_full) == (0, False)
    played.builder.decide(seen(5), decided(5), np.zeros((2, 1), np.float32))
    played.builder.outcome(seen(6), decided(5))
    played.last = seen(6)
    block = played.block([1.0, 2.0])
    assert (block.final_observations, block.episodes.instance_id) == (None, [])
    assert array(block.first_step, "int32").tolist() == [5, 5]
