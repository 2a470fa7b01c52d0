"""How weights begin: orthogonal rows of the length asked for, biases of zero."""

import pytest
import torch
from torch import nn

from attract.policy.dense import HIDDEN_GAIN, POLICY_HEAD_GAIN, initialise


def generator(seed: int = 1) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("gain", [HIDDEN_GAIN, POLICY_HEAD_GAIN, 1.0])
def test_rows_are_orthogonal_and_as_long_as_the_gain(gain: float):
    layer = initialise(nn.Linear(8, 3), gain, generator())
    products = layer.weight @ layer.weight.T
    torch.testing.assert_close(products, gain**2 * torch.eye(3), rtol=1e-5, atol=1e-6)
    assert layer.bias.tolist() == [0.0] * 3


def test_a_convolution_is_orthogonal_over_all_that_a_map_sees():
    layer = initialise(nn.Conv2d(2, 4, 3), HIDDEN_GAIN, generator())
    rows = layer.weight.flatten(1)
    torch.testing.assert_close(rows @ rows.T, 2.0 * torch.eye(4), rtol=1e-5, atol=1e-5)
    assert layer.bias is not None
    assert not layer.bias.any()


def test_the_same_generator_gives_the_same_weights_and_its_next_draw_others():
    drawn = generator()
    first, second = (initialise(nn.Linear(8, 3), 1.0, drawn).weight for _ in range(2))
    assert torch.equal(first, initialise(nn.Linear(8, 3), 1.0, generator()).weight)
    assert not torch.equal(first, second)


def test_a_layer_without_a_bias_has_none_to_set():
    assert initialise(nn.Linear(4, 4, bias=False), 1.0, generator()).bias is None
