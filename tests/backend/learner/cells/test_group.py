import torch

from attract.learner.cells.group import ALONE, agree, ordered_sum, weighted_mean
from other_cells import Beside


def test_a_learner_alone_gets_back_what_it_gave():
    tensor = torch.tensor([1.0, 2.0])
    ALONE.add_up(tensor)
    assert tensor.tolist() == [1.0, 2.0]
    assert ALONE.gather(tensor).tolist() == ALONE.meet("nothing", tensor).tolist() == [[1.0, 2.0]]
    assert ALONE.lead(b"word") == b"word"
    assert agree(ALONE, True) and not agree(ALONE, False)
    assert weighted_mean(ALONE, 3.0, 0.0) == 3.0


def test_0051_parts_are_added_in_the_order_of_the_ranks():
    # (1e8 + -1e8) + 1 is 1; 1e8 + (-1e8 + 1) is 0 in float32.
    parts = torch.tensor([[1e8], [-1e8], [1.0]])
    assert ordered_sum(parts).tolist() == [1.0]
    assert ordered_sum(parts.flip(0)).tolist() == [0.0]


def test_0051_one_that_says_so_is_enough():
    assert agree(Beside(torch.tensor([1], dtype=torch.uint8)), False)
    assert not agree(Beside(torch.tensor([0], dtype=torch.uint8)), False)


def test_0051_a_mean_weighs_each_cell_by_what_it_has():
    theirs = torch.tensor([5.0 * 3.0, 3.0], dtype=torch.float64)
    other = Beside(theirs, theirs)
    # (1 x 1 + 5 x 3) / 4
    assert weighted_mean(other, 1.0, 1.0) == 4.0
    # Of nothing there is no mean, and it does not matter.
    assert weighted_mean(other, float("nan"), 0.0) == 5.0
