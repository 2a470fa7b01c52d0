import pytest
import torch
from torch import nn

from attract.learner.algorithms.adam import Adam
from attract.learner.algorithms.flat_parameters import FlatParameters


def network(seed: int = 1) -> nn.Sequential:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(3, 5), nn.Linear(5, 2))


def adam(layers: nn.Module) -> Adam:
    return Adam(layers.parameters(), lr=1e-2, eps=1e-5)


def gradients(layers: nn.Module, step: int) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(step)
    return [torch.randn(parameter.shape, generator=generator) for parameter in layers.parameters()]


def test_steps_are_those_of_torch_and_the_vector_is_gone_afterwards() -> None:
    own, others = network(), network()
    own_adam = adam(own)
    other_adam = torch.optim.Adam(others.parameters(), lr=1e-2, eps=1e-5, fused=True)
    parameters = list(own.parameters())
    homes = [parameter.data_ptr() for parameter in parameters]
    for update in range(2):
        with FlatParameters(own_adam, [[parameter] for parameter in parameters]) as flat:
            for step in range(3):
                found = gradients(own, 10 * update + step)
                for parameter, gradient in zip(parameters, found, strict=True):
                    flat.view(flat.gradients, parameter).copy_(gradient)
                norm = flat.step(0.5)
                for parameter, gradient in zip(others.parameters(), found, strict=True):
                    parameter.grad = gradient.clone()
                expected = nn.utils.clip_grad_norm_(others.parameters(), 0.5)
                other_adam.step()
                assert float(norm) == pytest.approx(float(expected), rel=1e-6)
        assert [parameter.data_ptr() for parameter in parameters] == homes
    for parameter, other in zip(parameters, others.parameters(), strict=True):
        torch.testing.assert_close(parameter, other, rtol=0, atol=1e-6)
        state, known = own_adam.state[parameter], other_adam.state[other]
        assert float(state["step"]) == float(known["step"]) == 6
        torch.testing.assert_close(state["exp_avg_sq"], known["exp_avg_sq"], rtol=1e-5, atol=1e-9)


def test_what_has_no_gradient_neither_moves_nor_grows_older() -> None:
    layers = network()
    optimizer = adam(layers)
    still, *moving = layers.parameters()
    before = still.detach().clone()
    with FlatParameters(optimizer, [[parameter] for parameter in layers.parameters()], still=[still]) as flat:
        flat.gradients.fill_(1.0)
        flat.step(100.0)
    assert torch.equal(still, before)
    assert not optimizer.state.get(still)
    assert all(float(optimizer.state[parameter]["step"]) == 1 for parameter in moving)


def test_parameters_of_a_block_are_one_matrix() -> None:
    first, second = nn.Linear(4, 3), nn.Linear(4, 1)
    optimizer = Adam([first.weight, second.weight], lr=1e-3)
    with FlatParameters(optimizer, [[first.weight, second.weight]]) as flat:
        joined = flat.view(flat.weights, first.weight, second.weight)
        assert torch.equal(joined, torch.cat([first.weight, second.weight]))
