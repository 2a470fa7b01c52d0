from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from attract.errors import ProtocolError
from attract.experience.layout import PolicyLayout, StoreLayout
from attract.experience.validate import check_block
from attract.schema.messages import Block, EpisodeResult, Tensor
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


def episode_at(step: int) -> EpisodeResult:
    """A result that says it ended at that step of the segment."""
    return EpisodeResult(
        instance_id=0, episode=0, step=step, returns=[1.0], length_steps=1, length_ticks=1, end_reason="cut"
    )


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
    "a mask nobody asked for": (lambda b: {"action_mask": FLOATS}, "block.action_mask"),
    "a state nobody asked for": (lambda b: {"recurrent_state": {"h": FLOATS}}, "block.recurrent_state"),
    "episode past the end": (lambda b: {"episodes": [episode_at(4)]}, "block.episodes"),
    "no slots": (lambda b: {"slot_id": from_numpy(np.zeros(0, np.int32))}, "block.slot_id"),
}


def test_a_good_block_passes_and_is_not_copied() -> None:
    arrays = check_block(BLOCK, LAYOUT)
    assert set(arrays) == {
        *(one.name for one in LAYOUT.fields if one.name not in ("worker_id", "final_value")),
        "final_column",
        "final_value_sparse",
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
