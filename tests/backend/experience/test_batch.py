from pathlib import Path

import numpy as np
import pytest
import torch

from attract.experience.batch import load_batch
from attract.experience.layout import PolicyLayout, StoreLayout
from attract.experience.store import SegmentStore
from attract.experience.validate import check_block
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
    assert batch.final_value[2].tolist() == [0.5, 0.5]
    assert batch.truncated[2].all()


@pytest.mark.parametrize("rows", [[], [8], [-1]])
def test_rows_outside_the_store_are_an_error(tmp_path: Path, rows: list[int]) -> None:
    with pytest.raises(ValueError, match="expected rows within"):
        load_batch(SegmentStore.create(tmp_path / "s", LAYOUT), rows)
