"""Dense layers and their gradients."""

import pytest
import torch

from attract.policy.dense import ReluLayer, TanhLayer
from attract.policy.dense_gradients import DensePolicy, is_dense, parameter_blocks
from attract.policy.network import Policy
from batches import build


@pytest.mark.parametrize("num_inputs", [1, 3, 15, 16, 40])
@pytest.mark.parametrize(("kind", "function"), [(TanhLayer, torch.tanh), (ReluLayer, torch.relu)])
def test_outputs_and_gradients_are_those_of_torchs_own_operators(kind, function, num_inputs):
    generator = torch.Generator().manual_seed(num_inputs)
    layer = kind(num_inputs, 7)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator))
    inputs = torch.randn(33, num_inputs, generator=generator, requires_grad=True)
    weights = torch.randn(33, 7, generator=generator)
    wanted = [inputs, layer.weight, layer.bias]

    outputs = layer(inputs)
    expected = function(torch.nn.functional.linear(inputs, layer.weight, layer.bias))
    torch.testing.assert_close(outputs, expected, rtol=0, atol=5e-7)
    gradients = torch.autograd.grad((outputs * weights).sum(), wanted)
    for got, reference in zip(
        gradients, torch.autograd.grad((expected * weights).sum(), wanted), strict=True
    ):
        torch.testing.assert_close(got, reference, rtol=1e-4, atol=2e-5)


def test_tanh_saturates_without_overflow():
    layer = TanhLayer(1, 1)
    with torch.no_grad():
        layer.weight.fill_(1)
        layer.bias.zero_()
    outputs = layer(torch.tensor([[-1e30], [-50.0], [0.0], [50.0], [1e30]]))
    assert outputs.flatten().tolist() == [-1, -1, 0, 1, 1]


def test_the_input_layer_needs_no_gradient_of_its_inputs():
    layer = TanhLayer(2, 3)
    layer(torch.ones(4, 2)).sum().backward()
    assert layer.weight.grad is not None and layer.weight.grad.shape == (3, 2)


def made(*, shared_trunk: bool, activation: str | None, hidden_sizes: tuple[int, ...]) -> Policy:
    policy, _ = build(
        shared_trunk=shared_trunk,
        activation=activation,
        hidden_sizes=hidden_sizes,
    )
    return policy


@pytest.mark.parametrize("shared_trunk", [True, False])
@pytest.mark.parametrize("activation", ["tanh", "relu", None])
@pytest.mark.parametrize("hidden_sizes", [(), (7,), (40, 24)])
def test_outputs_and_gradients_are_autograds(
    shared_trunk: bool, activation: str | None, hidden_sizes: tuple[int, ...]
) -> None:
    policy = made(shared_trunk=shared_trunk, activation=activation, hidden_sizes=hidden_sizes)
    assert is_dense(policy)
    gradients: dict[torch.Tensor, torch.Tensor] = {}

    joined: dict[tuple[torch.Tensor, ...], torch.Tensor] = {}

    def views(*block: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        # Heads on one trunk are one matrix: here a copy of them.
        weights = torch.cat([parameter.detach() for parameter in block])
        joined[block] = torch.zeros_like(weights)
        return weights, joined[block]

    dense = DensePolicy(policy, views)
    generator = torch.Generator().manual_seed(3)
    inputs = torch.randn(50, 4, generator=generator)
    by_outputs = torch.randn(dense.num_rows, 50, generator=generator)

    outputs = dense.forward(inputs)
    dense.backward(inputs, by_outputs)

    below = policy.trunk(inputs)
    value_below = below if policy.value_trunk is None else policy.value_trunk(inputs)
    expected = torch.cat([policy.policy_head(below), policy.value_head(value_below)], 1).t()
    torch.testing.assert_close(outputs, expected, rtol=1e-5, atol=1e-6)
    (expected * by_outputs).sum().backward()
    for block, gradient in joined.items():
        place = 0
        for parameter in block:
            gradients[parameter] = gradient[place : place + len(parameter)]
            place += len(parameter)
    for parameter in policy.parameters():
        torch.testing.assert_close(gradients[parameter], parameter.grad, rtol=1e-4, atol=1e-5)


def test_every_parameter_stands_in_one_block() -> None:
    policy = made(shared_trunk=True, activation="tanh", hidden_sizes=(8,))
    found = [parameter for block in parameter_blocks(policy) for parameter in block]
    assert len(found) == len(set(found)) == len(list(policy.parameters()))


def test_a_policy_with_memory_is_not_dense() -> None:
    policy, _ = build(recurrent="gru")
    assert not is_dense(policy)
