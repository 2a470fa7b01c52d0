from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from attract.errors import ProtocolError
from attract.experience.layout import RECURRENT_STATE, PolicyLayout, StoreLayout
from attract.experience.validate import check_block
from attract.schema.episodes import Episode, columns_of
from attract.schema.messages import Block, EpisodeColumns, Tensor
from attract.schema.spaces import (
    ActionSpace,
    BoxSpace,
    DiscreteSpace,
    MixedSpace,
    MultiBinarySpace,
    MultiDiscreteSpace,
)
from attract.schema.step_numbers import PackedPictures
from attract.schema.tensor import from_numpy
from blocks import played_block
from fake_worker import counting_description

LAYOUT = StoreLayout.for_run(counting_description(), PolicyLayout(), 4, 8)
BLOCK = played_block(first_step=4)  # step 2 of each of the 3 slots is truncated


def changed(tensor: Tensor, place: tuple[int, ...], value: float) -> Tensor:
    """The same tensor with one number replaced."""
    kinds = {"float32": np.float32, "int32": np.int32, "uint8": np.uint8, "uint16": np.uint16}
    array = np.frombuffer(tensor.data, kinds[tensor.dtype]).reshape(tensor.shape).copy()
    array[place] = value
    return from_numpy(array)


def put(field: str, place: tuple[int, ...], value: float) -> Callable[[Block], dict[str, Any]]:
    """A change of one number of one field."""
    return lambda block: {field: changed(getattr(block, field), place, value)}


def put_final(field: str, place: tuple[int, ...], value: float) -> Callable[[Block], dict[str, Any]]:
    """A change of one number of the final observations."""

    def change(block: Block) -> dict[str, Any]:
        assert block.final_observations is not None
        tensor = changed(getattr(block.final_observations, field), place, value)
        return {"final_observations": block.final_observations.model_copy(update={field: tensor})}

    return change


def episode_at(step: int, **changes: Any) -> EpisodeColumns:
    """One that says it ended at that step of the segment."""
    one = Episode(0, 0, step, [1.0], length_steps=1, length_ticks=1, end_reason="cut")
    return columns_of([one]).model_copy(update=changes)


FLOATS = from_numpy(np.zeros((4, 3), np.float32))
BAD: dict[str, tuple[Callable[[Block], dict[str, Any]], str]] = {
    "short reward": (
        lambda b: {"reward": b.reward.model_copy(update={"data": b.reward.data[:-4]})},
        "block.reward",
    ),
    "wide value": (lambda b: {"value": from_numpy(np.zeros((4, 4), np.float32))}, "block.value"),
    "integer log_prob": (lambda b: {"log_prob": from_numpy(np.zeros((4, 3), np.int32))}, "block.log_prob"),
    "nan reward": (put("reward", (1, 2), np.nan), "block.reward"),
    "infinite value": (put("value", (3, 0), np.inf), "block.value"),
    "nan bootstrap": (put("bootstrap_value", (1,), np.nan), "block.bootstrap_value"),
    "nan observation": (
        lambda b: {"observation": {"obs": changed(b.observation["obs"], (0, 0, 1), np.nan)}},
        "block.observation.obs",
    ),
    "other observation key": (
        lambda b: {"observation": {"pixels": b.observation["obs"]}},
        "block.observation",
    ),
    "flag of two": (put("terminated", (0, 0), 2), "block.terminated"),
    "invalid flag": (put("valid", (0, 0), 255), "block.valid"),
    "action too large": (put("action", (2, 1), 3), "block.action"),
    "negative action": (put("action", (2, 1), -1), "block.action"),
    "impossible log_prob": (put("log_prob", (0, 0), 1e-3), "block.log_prob"),
    "no tick": (put("executed_ticks", (0, 0), 0), "block.executed_ticks"),
    "too many ticks": (put("executed_ticks", (0, 0), 3), "block.executed_ticks"),
    "negative first step": (put("first_step", (0,), -4), "block.first_step"),
    "final of a step not truncated": (put_final("step", (0,), 1), "block.final_observations"),
    "final outside": (put_final("step", (0,), 4), "block.final_observations"),
    "final of a negative column": (put_final("column", (0,), -1), "block.final_observations"),
    "a final twice": (put_final("column", (0,), 1), "block.final_observations"),
    "no finals": (lambda b: {"final_observations": None}, "block.final_observations"),
    "an unexpected mask": (lambda b: {"action_mask": FLOATS}, "block.action_mask"),
    "an unexpected state": (lambda b: {"recurrent_state": {"h": FLOATS}}, "block.recurrent_state"),
    "episode past the end": (lambda b: {"episodes": episode_at(4)}, "block.episodes.step"),
    "an episode of a negative step": (lambda b: {"episodes": episode_at(-1)}, "block.episodes.step"),
    "an episode of a negative length": (
        lambda b: {"episodes": episode_at(3, length_steps=[-1])},
        "block.episodes.length_steps",
    ),
    "episodes without an end": (
        lambda b: {"episodes": episode_at(3, end_reason=[])},
        "block.episodes.end_reason",
    ),
    "a metric of two episodes where one is": (
        lambda b: {"episodes": episode_at(3, metrics={"food": [1.0, None]})},
        "block.episodes.metrics.food",
    ),
    "a term of no episode": (
        lambda b: {"episodes": episode_at(3, reward_terms={"step": []})},
        "block.episodes.reward_terms.step",
    ),
    "lessons of two episodes where one is": (
        lambda b: {"episodes": episode_at(3, lesson_id=["small", None])},
        "block.episodes.lesson_id",
    ),
    "what is still packed": (lambda b: {"packed": {"obs": PackedPictures()}}, "block.packed"),
    "no slots": (lambda b: {"slot_id": from_numpy(np.zeros(0, np.int32))}, "block.slot_id"),
}


def test_a_good_block_passes_and_is_not_copied() -> None:
    arrays = check_block(BLOCK, LAYOUT)
    assert set(arrays) == {
        *(field.name for field in LAYOUT.fields if field.name not in ("worker_id", "final_count")),
        "final_column",
    }
    assert np.shares_memory(arrays["reward"], np.frombuffer(BLOCK.reward.data, np.uint8))
    assert arrays["reward"][:, 1].tolist() == [4.0, 5.0, 6.0, 7.0]


@pytest.mark.parametrize("name", BAD)
def test_what_is_wrong_is_named(name: str) -> None:
    change, field = BAD[name]
    with pytest.raises(ProtocolError) as caught:
        check_block(BLOCK.model_copy(update=change(BLOCK)), LAYOUT)
    assert field in caught.value.reason
    assert caught.value.fix


def test_S5_invalid_steps_may_hold_no_ticks_and_any_log_prob() -> None:
    valid = changed(BLOCK.valid, (0, 0), 0)
    ticks = changed(BLOCK.executed_ticks, (0, 0), 0)
    log_prob = changed(BLOCK.log_prob, (0, 0), 3.0)
    reward = changed(BLOCK.reward, (0, 0), 0.0)
    block = BLOCK.model_copy(
        update={"valid": valid, "executed_ticks": ticks, "log_prob": log_prob, "reward": reward}
    )
    assert not check_block(block, LAYOUT)["valid"][0, 0]


THREE = counting_description(num_agents=3)
BROKEN_TEAM = played_block(first_step=0, horizon=8, description=THREE, breaks=True)
"""One game of three agents; agents 1 and 2 end at step 2 and come back at step 5, all are cut off at 6."""
TEAM_LAYOUT = StoreLayout.for_run(THREE, PolicyLayout(), 8, 8)


def test_E9_agents_that_end_and_come_back_pass() -> None:
    arrays = check_block(BROKEN_TEAM, TEAM_LAYOUT)
    assert arrays["valid"].T.astype(int).tolist() == [
        [1, 1, 1, 1, 1, 1, 1, 1],
        [1, 1, 1, 0, 0, 1, 1, 1],
        [1, 1, 1, 0, 0, 1, 1, 1],
    ]
    assert arrays["terminated"].T.astype(int).tolist()[1:] == [[0, 0, 1, 0, 0, 0, 0, 0]] * 2


@pytest.mark.parametrize(
    ("field", "place", "value", "named"),
    [
        ("reward", (3, 1), 0.5, "block.reward"),
        ("terminated", (4, 1), 1, "set at an invalid step"),
        ("truncated", (3, 2), 1, "set at an invalid step"),
        ("terminated", (2, 2), 0, "stops without an end"),
    ],
)
def test_E9_what_an_invalid_step_cannot_be_is_refused(
    field: str, place: tuple[int, int], value: float, named: str
) -> None:
    with pytest.raises(ProtocolError, match=named):
        changed_block = BROKEN_TEAM.model_copy(
            update={field: changed(getattr(BROKEN_TEAM, field), place, value)}
        )
        check_block(changed_block, TEAM_LAYOUT)


def test_E9_a_segment_may_begin_with_an_agent_that_takes_no_part() -> None:
    block = played_block(first_step=3, horizon=8, description=THREE, breaks=True)
    assert check_block(block, TEAM_LAYOUT)["valid"][0].tolist() == [True, False, False]


def test_E1_a_step_both_terminated_and_truncated_needs_no_final_observation() -> None:
    terminated = from_numpy(np.frombuffer(BLOCK.truncated.data, np.bool_).reshape(4, 3).copy())
    block = BLOCK.model_copy(update={"terminated": terminated, "final_observations": None})
    assert "final_step" not in check_block(block, LAYOUT)


def layout_of(action: ActionSpace, *, mask: bool = False, state_size: int = 0) -> StoreLayout:
    """The counting game with other actions."""
    description = counting_description().model_copy(update={"action": action, "action_mask": mask})
    states = PolicyLayout({RECURRENT_STATE: (state_size,)} if state_size else {})
    return StoreLayout.for_run(description, states, 4, 8)


PAIRS = np.zeros((4, 3, 2), np.int32)


@pytest.mark.parametrize(("component", "value"), [(0, 2), (1, 3), (1, -1)])
def test_each_component_of_an_action_lies_in_its_own_range(component: int, value: int) -> None:
    layout = layout_of(MultiDiscreteSpace(nvec=[2, 3]))
    good = PAIRS.copy()
    good[1, 2] = (1, 2)
    arrays = check_block(BLOCK.model_copy(update={"action": from_numpy(good)}), layout)
    np.testing.assert_array_equal(arrays["action"], good)
    bad = good.copy()
    bad[3, 1, component] = value
    with pytest.raises(ProtocolError, match=f"block.action: {value}"):
        check_block(BLOCK.model_copy(update={"action": from_numpy(bad)}), layout)


MIXED = MixedSpace(
    spaces={
        "aim": BoxSpace(shape=[1], low=0, high=800),
        "button": DiscreteSpace(n=2),
        "gear": DiscreteSpace(n=3),
    }
)


@pytest.mark.parametrize(
    ("component", "value"), [(0, 2), (0, -1), (1, 3), (1, 0.5), (1, np.nan), (2, np.inf)]
)
def test_P6_of_a_mixed_action_only_the_choices_have_a_range(component: int, value: float) -> None:
    layout = layout_of(MIXED, mask=True)
    good = np.zeros((4, 3, 3), np.float32)
    good[1, 2] = (1, 2, -7.25)
    masks = np.ones((4, 3, 5), np.uint8)
    update = {
        "action": from_numpy(good),
        "action_mask": from_numpy(masks),
        "log_prob": from_numpy(np.full((4, 3), 2.5, np.float32)),
    }
    block = BLOCK.model_copy(update=update)
    np.testing.assert_array_equal(check_block(block, layout)["action"], good)
    bad = good.copy()
    bad[3, 1, component] = value
    with pytest.raises(ProtocolError, match=r"block\.action"):
        check_block(block.model_copy(update={"action": from_numpy(bad)}), layout)
    masks[1, 2, 2 + 2] = 0
    with pytest.raises(ProtocolError, match="step 1 of column 2 was not allowed"):
        check_block(block.model_copy(update={"action_mask": from_numpy(masks)}), layout)


def test_bits_are_0_or_1() -> None:
    layout = layout_of(MultiBinarySpace(n=2))
    assert check_block(BLOCK.model_copy(update={"action": from_numpy(PAIRS + 1)}), layout)["action"].all()
    with pytest.raises(ProtocolError, match=r"block\.action: 2"):
        check_block(BLOCK.model_copy(update={"action": from_numpy(PAIRS + 2)}), layout)


def test_P6_a_continuous_action_outside_of_the_games_box_is_kept_as_it_was_sampled() -> None:
    layout = layout_of(BoxSpace(shape=[1, 2], low=0, high=0.5))
    sampled = np.full((4, 3, 2), -7.25, np.float32)
    density = from_numpy(np.full((4, 3), 2.5, np.float32))
    arrays = check_block(
        BLOCK.model_copy(update={"action": from_numpy(sampled), "log_prob": density}), layout
    )
    np.testing.assert_array_equal(arrays["action"], sampled)
    sampled[0, 0, 0] = np.inf
    with pytest.raises(ProtocolError, match=r"block\.action"):
        check_block(BLOCK.model_copy(update={"action": from_numpy(sampled), "log_prob": density}), layout)


@pytest.mark.parametrize(
    ("action", "mask"), [((0, 0), (1, 0, 1, 0, 0)), ((1, 2), (0, 1, 0, 0, 1)), ((0, 1), (1, 1, 0, 1, 0))]
)
def test_an_action_is_one_that_its_mask_allows(action: tuple[int, int], mask: tuple[int, ...]) -> None:
    layout = layout_of(MultiDiscreteSpace(nvec=[2, 3]), mask=True)
    masks = np.ones((4, 3, 5), np.uint8)
    masks[2, 1] = mask
    actions = PAIRS.copy()
    actions[2, 1] = action
    update = {"action": from_numpy(actions), "action_mask": from_numpy(masks)}
    block = BLOCK.model_copy(update=update)
    np.testing.assert_array_equal(check_block(block, layout)["action_mask"], masks.astype(bool))
    for component, offset in ((0, 0), (1, 2)):
        forbidden = masks.copy()
        forbidden[2, 1, offset + action[component]] = 0
        with pytest.raises(ProtocolError, match="step 2 of column 1 was not allowed"):
            check_block(block.model_copy(update={"action_mask": from_numpy(forbidden)}), layout)


def test_S5_the_mask_of_an_invalid_step_may_allow_nothing() -> None:
    layout = layout_of(DiscreteSpace(n=3), mask=True)
    masks = np.ones((4, 3, 3), np.uint8)
    masks[0, 0] = 0
    block = BLOCK.model_copy(update={"action_mask": from_numpy(masks)})
    with pytest.raises(ProtocolError, match="step 0 of column 0 was not allowed"):
        check_block(block, layout)
    update = {"valid": changed(BLOCK.valid, (0, 0), 0), "reward": changed(BLOCK.reward, (0, 0), 0.0)}
    assert not check_block(block.model_copy(update=update), layout)["action_mask"][0, 0].any()


def with_states(state: np.ndarray, final: np.ndarray) -> Block:
    """The block with recurrent states, at its start and beside its final observations."""
    assert BLOCK.final_observations is not None
    finals = BLOCK.final_observations.model_copy(update={"recurrent_state": {"state": from_numpy(final)}})
    return BLOCK.model_copy(
        update={"recurrent_state": {"state": from_numpy(state)}, "final_observations": finals}
    )


def test_S3_a_segment_brings_the_state_it_began_with() -> None:
    layout = layout_of(DiscreteSpace(n=3), state_size=4)
    state, final = np.arange(12, dtype=np.float32).reshape(3, 4), np.ones((3, 4), np.float32)
    arrays = check_block(with_states(state, final), layout)
    np.testing.assert_array_equal(arrays["recurrent_state.state"], state)
    with pytest.raises(ProtocolError, match=r"block\.recurrent_state: keys \[\]"):
        check_block(BLOCK, layout)
    with pytest.raises(ProtocolError, match=r"block\.recurrent_state\.state: shape"):
        check_block(with_states(state[:, :3], final), layout)
    with pytest.raises(ProtocolError, match=r"block\.final_observations\.recurrent_state\.state: nan"):
        check_block(with_states(state, final * np.nan), layout)


def test_of_large_observations_a_segment_holds_fewer_final_ones() -> None:
    image = BoxSpace(shape=[20, 20, 3], dtype="uint8")
    description = counting_description().model_copy(update={"observation": image})
    layout = StoreLayout.for_run(description, PolicyLayout(), 4, 8)
    assert layout.num_finals == 1

    def block(episode_steps: int) -> Block:
        played = played_block(first_step=0, episode_steps=episode_steps)
        assert played.final_observations is not None
        count = played.final_observations.step.shape[0]
        pixels = {"obs": from_numpy(np.zeros((4, 3, 20, 20, 3), np.uint8))}
        final = {"obs": from_numpy(np.zeros((count, 20, 20, 3), np.uint8))}
        return played.model_copy(
            update={
                "observation": pixels,
                "bootstrap_observation": {"obs": from_numpy(np.zeros((3, 20, 20, 3), np.uint8))},
                "final_observations": played.final_observations.model_copy(update={"observation": final}),
            }
        )

    assert len(check_block(block(3), layout)["final_step"]) == 3
    with pytest.raises(ProtocolError, match="2 truncations in one segment of 4 steps"):
        check_block(block(2), layout)


@pytest.mark.parametrize("value", [1.7e308, -1e31])
@pytest.mark.parametrize("name", ["returns", "metrics", "reward_terms"])
def test_hostile_04_what_an_episode_tells_is_bounded(name: str, value: float) -> None:
    column: Any = [value] if name == "returns" else {"score": [value]}
    block = played_block().model_copy(update={"episodes": episode_at(1, **{name: column})})
    with pytest.raises(ProtocolError, match=f"block.episodes.{name}"):
        check_block(block, LAYOUT)
