import torch

from attract.learner.group.cells import SINGLE_PROCESS, any_rank, ordered_sum, weighted_mean
from cell_processes import Beside


def test_a_learner_alone_gets_back_what_it_gave():
    tensor = torch.tensor([1.0, 2.0])
    SINGLE_PROCESS.all_reduce(tensor)
    assert tensor.tolist() == [1.0, 2.0]
    assert (
        SINGLE_PROCESS.all_gather(tensor).tolist()
        == SINGLE_PROCESS.barrier("nothing", tensor).tolist()
        == [[1.0, 2.0]]
    )
    assert SINGLE_PROCESS.broadcast(b"word") == b"word"
    assert any_rank(SINGLE_PROCESS, True) and not any_rank(SINGLE_PROCESS, False)
    assert weighted_mean(SINGLE_PROCESS, 3.0, 0.0) == 3.0


def test_0064_parts_are_added_in_the_order_of_the_ranks():
    # (1e8 + -1e8) + 1 is 1; 1e8 + (-1e8 + 1) is 0 in float32.
    parts = torch.tensor([[1e8], [-1e8], [1.0]])
    assert ordered_sum(parts).tolist() == [1.0]
    assert ordered_sum(parts.flip(0)).tolist() == [0.0]


def test_0064_one_that_says_so_is_enough():
    assert any_rank(Beside(torch.tensor([1], dtype=torch.uint8)), False)
    assert not any_rank(Beside(torch.tensor([0], dtype=torch.uint8)), False)


def test_0064_a_mean_weighs_each_cell_by_what_it_has():
    theirs = torch.tensor([5.0 * 3.0, 3.0], dtype=torch.float64)
    other = Beside(theirs, theirs)
    # (1 x 1 + 5 x 3) / 4
    assert weighted_mean(other, 1.0, 1.0) == 4.0
    # An empty part has no mean, and it does not matter.
    assert weighted_mean(other, float("nan"), 0.0) == 5.0
