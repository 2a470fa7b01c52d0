import pytest
import torch

from attract.policy.dense import ReluLayer, TanhLayer


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
