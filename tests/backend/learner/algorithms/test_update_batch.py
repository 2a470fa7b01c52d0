"""The batch of an update: which states segments begin from, and what invalid steps may hold."""

import dataclasses

import pytest
import torch

from attract.learner.algorithms.update_batch import finite_where_invalid, start_states
from random_batches import make_batch


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
    batch = dataclasses.replace(make_batch(slots=3), state=stored)
    assert start_states(batch, 2, from_zero=False) is stored
    assert start_states(batch, 2, from_zero=True).tolist() == [[0, 0]] * 3
    assert start_states(batch, 0, from_zero=False).shape == (3, 0)


def test_S3_states_that_are_missing_or_of_another_size_are_refused():
    batch = make_batch(slots=3)
    with pytest.raises(ValueError, match=r"expected states of shape \(3, 2\), got None"):
        start_states(batch, 2, from_zero=False)
    wrong = dataclasses.replace(batch, state=torch.zeros(3, 4))
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
