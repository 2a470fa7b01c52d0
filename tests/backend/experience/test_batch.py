from pathlib import Path

import numpy as np
import pytest
import torch

from attract.experience.batch import load_batch, taken_into, upload
from attract.experience.layout import RECURRENT_STATE, PolicyLayout, StoreLayout
from attract.experience.store import SegmentStore
from attract.experience.validate import check_block
from attract.schema.spaces import MultiDiscreteSpace
from attract.schema.tensor import from_numpy
from blocks import played_block
from fake_worker import counting_description

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
    found = sorted(
        zip(
            batch.final_step.tolist(),
            batch.final_column.tolist(),
            batch.final_observation["obs"][:, 0].tolist(),
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
