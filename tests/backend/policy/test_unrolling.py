"""Each gradient through an activation against autograd's, in a slice of something wider as gates are."""

import pytest
import torch

from attract.policy.unrolling import is_launch_bound, through_sigmoid_, through_tanh, through_tanh_


def numbers(seed):
    wide = torch.randn(3, 8, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return wide, wide[:, 2:6]


@pytest.mark.parametrize(
    "activation, through_", [(torch.tanh, through_tanh_), (torch.sigmoid, through_sigmoid_)]
)
def test_a_gradient_becomes_that_before_the_activation_and_its_neighbours_stay(activation, through_):
    _, before = numbers(1)
    before = before.clone().requires_grad_()
    output = activation(before)
    wide, grad = numbers(2)
    (expected,) = torch.autograd.grad(output, before, grad)
    around = wide.clone()
    around[:, 2:6] = expected
    through_(grad, output.detach())
    torch.testing.assert_close(wide, around)


def test_a_gradient_through_tanh_is_also_given_apart():
    _, output = numbers(1)
    _, grad = numbers(2)
    kept = grad.clone()
    torch.testing.assert_close(through_tanh(grad, output), grad * (1 - output**2))
    assert torch.equal(grad, kept)


def test_a_cpu_is_not_launch_bound():
    assert not is_launch_bound(torch.zeros(1))
