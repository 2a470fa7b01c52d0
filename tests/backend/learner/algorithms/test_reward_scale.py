import pytest
import torch

from attract.algorithm.normalisation import RunningMoments
from attract.experience.batch import Batch
from attract.learner.algorithms import reward_scale
from attract.learner.algorithms.reward_scale import SlotReturns, scaled


def batch_of(rewards: list[list[float]], slots: list[int], first_steps: list[int], ended=()) -> Batch:
    """[T][S] rewards; `ended` are places (step, column) that terminated."""
    array = torch.tensor(rewards)
    over = torch.zeros(array.shape, dtype=torch.bool)
    for step, column in ended:
        over[step, column] = True
    zeros = torch.zeros_like(array)
    return Batch(
        observation={"obs": zeros.unsqueeze(-1)},
        action=zeros.long(),
        log_prob=zeros,
        value=zeros,
        reward=array,
        terminated=over,
        truncated=torch.zeros_like(over),
        valid=torch.ones_like(over),
        final_value=zeros,
        bootstrap_value=zeros[0],
        slot_id=torch.tensor(slots),
        first_step=torch.tensor(first_steps),
        policy_version=torch.zeros(len(slots), dtype=torch.int64),
        worker_id=torch.zeros(len(slots), dtype=torch.int64),
    )


def test_P11_a_slot_goes_on_where_its_last_segment_ended():
    slots = SlotReturns()
    first = slots.see(batch_of([[1.0, 1.0], [1.0, 1.0]], [7, 9], [0, 0], ended=[(1, 1)]), 0.5)
    assert first.moments.mean.item() == pytest.approx(1.25)  # 1, 1.5 of each
    slots.take_over(first)
    # Slot 7 brings 1.5 along: 1 + 0.75; slot 9 has ended: 1.
    second = slots.see(batch_of([[1.0, 1.0]], [7, 9], [2, 2]), 0.5)
    assert second.moments.mean.item() == pytest.approx((1.75 + 1.0) / 2)
    # A segment between is missing: restart.
    hole = slots.see(batch_of([[1.0]], [7], [4]), 0.5)
    assert hole.moments.mean.item() == 1.0


def test_P8_P11_what_was_seen_counts_only_once_it_was_learned_from():
    slots = SlotReturns()
    seen = slots.see(batch_of([[4.0]], [1], [0]), 0.5)
    again = slots.see(batch_of([[4.0]], [1], [1]), 0.5)
    assert again.moments.mean.item() == 4.0  # nothing was taken over
    slots.take_over(seen)
    assert slots.see(batch_of([[4.0]], [1], [1]), 0.5).moments.mean.item() == 6.0


def test_D2_P11_slots_go_into_a_checkpoint_and_come_back():
    slots, restored = SlotReturns(), SlotReturns()
    slots.take_over(slots.see(batch_of([[1.0, 2.0]], [3, 5], [8, 9]), 0.5))
    restored.restore(slots.tensors())
    next_batch = batch_of([[1.0, 1.0]], [5, 3], [10, 9])
    assert restored.see(next_batch, 0.5).carried == slots.see(next_batch, 0.5).carried
    assert restored.see(next_batch, 0.5).carried == {5: (11, 2.0), 3: (10, 1.5)}


def test_slots_that_are_gone_are_forgotten(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(reward_scale, "MAX_SLOTS", 2)
    slots = SlotReturns()
    for slot in (1, 2, 1, 3):
        slots.take_over(slots.see(batch_of([[1.0]], [slot], [0]), 0.5))
    assert slots.tensors()["slot"].tolist() == [1, 3]  # 2 was heard of longest ago


def test_P11_the_batch_itself_counts_in_what_it_is_divided_by():
    seen = SlotReturns().see(batch_of([[3.0, 0.0]], [0, 1], [0, 0]), 0.9)
    so_far = RunningMoments.of(torch.zeros(7), torch.ones(7, dtype=torch.bool))
    rewards, divisor = scaled(torch.tensor([[3.0, 0.0]]), so_far, seen)
    assert divisor == pytest.approx((8 / 9) ** 0.5)  # of 3 and eight zeros: 9 / 9 - (1 / 3)^2
    assert rewards.tolist() == [[pytest.approx(3.0 / divisor), 0.0]]
