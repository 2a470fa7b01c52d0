import torch

from attract.algorithm.losses import AdvantageMoments, normalise_advantages
from attract.learner.group.cells import SINGLE_PROCESS
from attract.learner.ppo.common_minibatches import common_number, unite
from other_cells import Beside


def test_there_are_as_many_minibatches_as_the_largest_batch_makes_and_the_smallest_can_be_cut_into():
    assert common_number(SINGLE_PROCESS, 3, 2) == 3
    assert common_number(Beside(torch.tensor([5, 100])), 3, 100) == 5
    assert common_number(Beside(torch.tensor([5, 100])), 3, 4) == 4


def test_parts_are_normalised_as_the_whole_minibatch_is():
    whole = torch.randn(10, generator=torch.Generator().manual_seed(2)) * 3 + 1
    mine, theirs = whole.split((4, 6))
    asked = Beside()
    unite(asked, [theirs], 0.0)
    ((found, share),) = unite(Beside(*asked.sent), [mine], 0.0)
    torch.testing.assert_close(found, normalise_advantages(whole)[:4])
    assert share == 0.4
    ((found, _),) = unite(Beside(*asked.sent), [mine], 100.0)
    torch.testing.assert_close(found, normalise_advantages(whole, 100.0)[:4])
    ((found, _),) = unite(Beside(*asked.sent), [mine], None)
    assert torch.equal(found, mine)


def test_a_minibatch_of_which_nothing_is_here_has_the_moments_of_the_others():
    other = torch.tensor([[3.0, 2.0, 2.0, 1.0, 3.0]], dtype=torch.float64)
    ((found, share),) = unite(Beside(other), [torch.empty(0)], 0.0)
    assert found.numel() == 0 and share == 0.0


def test_advantages_without_spread_are_left_alone():
    alike = torch.full((3,), 2.0)
    assert torch.equal(AdvantageMoments.of(alike).normalise(alike), alike)
    one = torch.tensor([2.0])
    assert torch.equal(AdvantageMoments.of(one).normalise(one), one)
