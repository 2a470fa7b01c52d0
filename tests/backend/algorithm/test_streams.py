import torch

from attract.algorithm.streams import chain_segments, discounted_sums


def test_S2_at_a_hole_the_own_bootstrap_is_used():
    # Slot 7 plays steps 0-1 and 4-5; steps 2-3 were refused: nothing follows anything.
    assert chain_segments(torch.tensor([7, 7]), torch.tensor([0, 4]), horizon=2) is None


def test_S2_slots_are_not_mixed():
    # Another slot's segment with the next step is no successor.
    assert chain_segments(torch.tensor([7, 8]), torch.tensor([0, 2]), horizon=2) is None


def test_S2_the_order_of_columns_and_of_arrival_is_no_matter_of_succession():
    # Slot 3 plays steps 4-5, 0-1, 2-3 in columns 0, 1, 2; slot 1 steps 2-3 stand between.
    follows = chain_segments(torch.tensor([3, 3, 3, 1]), torch.tensor([4, 0, 2, 2]), horizon=2)
    assert follows is not None and follows.tolist() == [-1, 2, 0, -1]


def test_S2_correctness_R4_a_segment_that_begins_with_an_invalid_step_follows_nothing():
    # Slot 3 plays steps 0-1, 2-3, 4-5; its game failed in step 2 and restarted in step 3.
    slots, steps = torch.tensor([3, 3, 3]), torch.tensor([4, 0, 2])
    follows = chain_segments(slots, steps, 2, torch.tensor([True, True, False]))
    assert follows is not None and follows.tolist() == [-1, -1, 0]
    assert chain_segments(slots, steps, 2, torch.tensor([False, True, False])) is None


def test_S2_sums_run_through_five_segments_of_one_step():
    # x_t = 1 + x_{t+1} / 2 over five steps: 1, 1.5, 1.75, 1.875, 1.9375 from the last to the first.
    follows = torch.tensor([1, 2, 3, 4, -1])
    ones = torch.ones(1, 5)
    assert discounted_sums(ones, 0.5 * ones, follows).tolist() == [[1.9375, 1.875, 1.75, 1.5, 1.0]]
