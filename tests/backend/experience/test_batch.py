import dataclasses
from pathlib import Path

import numpy as np
import pytest
import torch

from attract.experience.batch import (
    UNREAD,
    Batch,
    finite_where_invalid,
    load_batch,
    start_states,
    taken_into,
    upload,
)
from attract.experience.layout import RECURRENT_STATE, PolicyLayout, StoreLayout
from attract.experience.store import SegmentStore
from attract.experience.validate import check_block
from attract.schema.messages import Block, StepOutcome
from attract.schema.spaces import MultiDiscreteSpace
from attract.schema.step_numbers import DECIDED_NUMBERS, OUTCOME_NUMBERS, STEP_NUMBERS
from attract.schema.tensor import from_numpy
from attract.vector.batch import StepBatch
from blocks import played_block
from fake_worker import counting_description
from random_batches import make_batch

LAYOUT = StoreLayout.for_run(counting_description(), PolicyLayout(), 4, 8)


def test_C8_a_batch_has_the_rows_in_the_order_asked_for(tmp_path: Path) -> None:
    store = SegmentStore.create(tmp_path / "s", LAYOUT)
    arrays = check_block(played_block(first_step=4, version=3), LAYOUT)
    store.write_block(np.array([5, 1, 2]), arrays | {"worker_id": 9})
    batch = load_batch(store, [2, 5])
    store["obs.obs"][:] = -1  # the batch is a copy
    # row 2 holds slot 2, row 5 slot 0; observation of slot s at its step t: 1000 s + t
    assert batch.observation["obs"][:, :, 1].T.tolist() == [[2004, 2005, 2006, 2007], [4, 5, 6, 7]]
    assert batch.slot_id.tolist() == [2, 0]
    assert batch.first_step.tolist() == [4, 4]
    assert batch.policy_version.tolist() == [3, 3]
    assert batch.worker_id.tolist() == [9, 9]
    assert batch.rows == (2, 5)
    assert (batch.num_steps, batch.num_segments) == (4, 2)
    assert batch.action.dtype == torch.int64
    assert batch.valid.dtype == torch.bool
    assert batch.bootstrap_observation["obs"].tolist() == [[2008, 2008], [8, 8]]


def test_E8_final_observations_come_with_their_step_and_column(tmp_path: Path) -> None:
    store = SegmentStore.create(tmp_path / "s", LAYOUT)
    arrays = check_block(played_block(first_step=0, episode_steps=3), LAYOUT)
    store.write_block(np.array([0, 1, 2]), arrays | {"worker_id": 0})
    batch = load_batch(store, [2, 0])
    finals = batch.finals
    assert finals is not None
    found = sorted(
        zip(
            finals.step.tolist(),
            finals.column.tolist(),
            finals.observation["obs"][:, 0].tolist(),
            strict=True,
        )
    )
    # episodes of 3 steps: own step 2 is truncated; the final observation is its negative
    assert found == [(2, 0, -2002.0), (2, 1, -2.0)]
    assert batch.final_value.tolist() == [[0, 0], [0, 0], [0.5, 0.5], [0, 0]]
    assert batch.truncated[2].all()


@pytest.mark.parametrize("rows", [[], [8], [-1]])
def test_rows_outside_the_store_are_an_error(tmp_path: Path, rows: list[int]) -> None:
    with pytest.raises(ValueError, match="expected rows within"):
        load_batch(SegmentStore.create(tmp_path / "s", LAYOUT), rows)


def test_S3_each_segment_has_the_state_it_began_with(tmp_path: Path) -> None:
    layout = StoreLayout.for_run(counting_description(), PolicyLayout({RECURRENT_STATE: (2,)}), 4, 8)
    store = SegmentStore.create(tmp_path / "s", layout)
    block = played_block(first_step=0)
    state = np.array([[slot + 0.25, slot + 0.5] for slot in range(3)], np.float32)
    states = {RECURRENT_STATE: from_numpy(state)}
    arrays = check_block(block.model_copy(update={"recurrent_state": states}), layout)
    store.write_block(np.array([5, 1, 2]), arrays | {"worker_id": 9})
    batch = load_batch(store, [2, 5])
    assert batch.slot_id.tolist() == [2, 0]
    assert batch.recurrent_state[RECURRENT_STATE].tolist() == [[2.25, 2.5], [0.25, 0.5]]


def test_actions_of_several_components_keep_them_and_their_masks(tmp_path: Path) -> None:
    description = counting_description().model_copy(
        update={"action": MultiDiscreteSpace(nvec=[2, 3]), "action_mask": True}
    )
    layout = StoreLayout.for_run(description, PolicyLayout(), 4, 8)
    store = SegmentStore.create(tmp_path / "s", layout)
    actions = np.zeros((4, 3, 2), np.int32)
    actions[:, 2] = (1, 2)
    masks = np.ones((4, 3, 5), np.uint8)
    masks[:, 2, 0] = 0
    update = {"action": from_numpy(actions), "action_mask": from_numpy(masks)}
    arrays = check_block(played_block(first_step=0).model_copy(update=update), layout)
    store.write_block(np.array([0, 1, 2]), arrays | {"worker_id": 9})
    batch = load_batch(store, [2, 0])
    assert batch.action.dtype == torch.int64 and batch.action.shape == (4, 2, 2)
    assert batch.action[:, 0].tolist() == [[1, 2]] * 4
    assert batch.action_mask is not None and batch.action_mask.dtype == torch.bool
    assert batch.action_mask[0].tolist() == [[False, True, True, True, True], [True] * 5]


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("dtype", [np.uint8, np.bool_, np.float32, np.int32, np.int64])
def test_correctness_6_rows_are_taken_straight_into_a_tensor(axis: int, dtype: type) -> None:
    """As for a GPU, whose memory is pinned; that alone needs one."""
    array = np.random.default_rng(0).integers(0, 2, (5, 7, 3)).astype(dtype)
    index = np.array([4, 0, 2, 4])
    taken = taken_into(array, index, axis, pinned=False)
    assert taken.is_contiguous()
    np.testing.assert_array_equal(taken.numpy(), np.take(array, index, axis=axis))
    assert taken.numpy().dtype == dtype
    cpu = torch.device("cpu")
    assert upload(taken, cpu) is taken


def test_S4_a_state_is_zeroed_after_either_end_and_after_a_step_without_the_agent():
    batch = make_batch(horizon=1, slots=4)
    flags = {name: torch.zeros((1, 4), dtype=torch.bool) for name in ("terminated", "truncated")}
    flags["terminated"][0, 0] = flags["truncated"][0, 1] = True
    valid = torch.tensor([[True, True, False, True]])
    assert dataclasses.replace(batch, **flags, valid=valid).reset_after.tolist() == [
        [True, True, True, False]
    ]


def test_a_batch_lags_when_one_of_its_segments_does():
    batch = make_batch(slots=3)
    assert not batch.has_lag
    assert not dataclasses.replace(batch, policy_lag=torch.tensor([0, 0, 0])).has_lag
    assert dataclasses.replace(batch, policy_lag=torch.tensor([0, 1, 0])).has_lag


def test_S3_segments_begin_with_the_stored_state_or_with_zeros():
    stored = torch.arange(6.0).view(3, 2)
    batch = dataclasses.replace(make_batch(slots=3), recurrent_state={RECURRENT_STATE: stored})
    assert start_states(batch, 2, from_zero=False) is stored
    assert start_states(batch, 2, from_zero=True).tolist() == [[0, 0]] * 3
    assert start_states(batch, 0, from_zero=False).shape == (3, 0)


def test_S3_states_that_are_missing_or_of_another_size_are_refused():
    batch = make_batch(slots=3)
    with pytest.raises(ValueError, match=r"expected states of shape \(3, 2\), got None"):
        start_states(batch, 2, from_zero=False)
    wrong = dataclasses.replace(batch, recurrent_state={RECURRENT_STATE: torch.zeros(3, 4)})
    with pytest.raises(ValueError, match=r"got \(3, 4\)"):
        start_states(wrong, 2, from_zero=False)


def test_S5_what_invalid_steps_hold_becomes_zero_and_nothing_else_changes():
    image = torch.full((2, 2, 1, 3), float("nan"))
    image[0] = image[1, 1] = 5.0
    vector = torch.arange(4.0).view(2, 2, 1)
    valid = torch.tensor([[True, True], [False, True]])
    cleaned = finite_where_invalid({"image": image, "vector": vector}, valid)
    assert cleaned["image"][1, 0].tolist() == [[0.0] * 3]
    assert cleaned["image"][1, 1].tolist() == [[5.0] * 3]
    assert cleaned["vector"].view(-1).tolist() == [0.0, 1.0, 0.0, 3.0]
    assert image[1, 0].isnan().all(), "the batch is never written to"


def test_S5_observations_of_a_batch_that_is_all_valid_are_not_copied():
    observations = {"obs": torch.zeros(2, 2, 1)}
    assert finite_where_invalid(observations, torch.ones((2, 2), dtype=torch.bool)) is observations


def test_every_number_of_a_step_is_kept_loaded_and_sent_by_its_row():
    """A row more shows everywhere: the layout, the batch of an update, a block, an outcome."""
    assert DECIDED_NUMBERS.keys() | OUTCOME_NUMBERS.keys() == STEP_NUMBERS.keys()
    layout = StoreLayout.for_run(counting_description(), PolicyLayout(), 4, 8)
    assert {name: layout.field(name).dtype for name in STEP_NUMBERS} == STEP_NUMBERS
    loaded = {field.name for field in dataclasses.fields(Batch)}
    assert STEP_NUMBERS.keys() - UNREAD <= loaded and not UNREAD & loaded
    assert STEP_NUMBERS.keys() <= Block.model_fields.keys()
    assert OUTCOME_NUMBERS.keys() <= StepOutcome.model_fields.keys() & StepBatch.__dataclass_fields__.keys()
