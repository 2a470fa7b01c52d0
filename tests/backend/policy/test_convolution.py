import pytest
import torch
from torch import nn

from attract.policy.convolution import ImpalaCnn, SmallCnn


def numbered(height, width, channels):
    """[1, h, w, c]: the value at row y, column x of channel c is 100 y + 10 x + c."""
    y, x, c = torch.meshgrid(torch.arange(height), torch.arange(width), torch.arange(channels), indexing="ij")
    return (100 * y + 10 * x + c).float().unsqueeze(0)


@pytest.mark.parametrize(
    ("shape", "strides"),
    [((4, 4, 1), [1, 1]), ((9, 2, 3), [2, 1]), ((32, 32, 3), [2, 2]), ((84, 84, 4), [2, 2, 2, 2])],
)
def test_the_small_network_halves_images_down_to_8_by_8(shape, strides):
    encoder = SmallCnn(shape, torch.Generator().manual_seed(0))
    assert [layer.stride[0] for layer in encoder.convolutions] == strides
    assert encoder(torch.zeros(3, *shape)).shape == (3, encoder.num_features) == (3, 128)


def test_rows_columns_and_channels_are_not_mixed_up():
    encoder = SmallCnn((4, 6, 2), torch.Generator().manual_seed(0))
    # The first filter picks channel 1 of the pixel to the right of the middle; all other weights are zero.
    with torch.no_grad():
        encoder.convolutions[0].weight.zero_()
        encoder.convolutions[0].weight[0, 1, 1, 2] = 1.0
    seen = []
    encoder.convolutions[1].register_forward_pre_hook(lambda _, arguments: seen.append(arguments[0]))
    encoder(numbered(4, 6, 2))
    # At row 2, column 3: the value of row 2, column 4, channel 1.
    assert seen[0][0, 0, 2, 3] == 241 and seen[0][0, 0, 3, 5] == 0


@pytest.mark.parametrize("shape", [(1, 1, 1), (7, 10, 3), (32, 32, 3)])
def test_impalas_network_equals_the_same_written_with_torchs_own_modules(shape):
    encoder = ImpalaCnn(shape, torch.Generator().manual_seed(0))
    images = torch.rand(2, *shape, generator=torch.Generator().manual_seed(1))
    maps = images.permute(0, 3, 1, 2)
    for stage in encoder.stages:
        maps = nn.MaxPool2d(3, 2, padding=1)(stage.convolution(maps))
        for block in stage.blocks:
            inner = block.first(nn.ReLU()(maps))
            maps = maps + block.second(nn.ReLU()(inner))
    expected = torch.relu(
        nn.functional.linear(torch.relu(maps).flatten(1), encoder.dense.weight, encoder.dense.bias)
    )
    torch.testing.assert_close(encoder(images), expected)
    assert encoder(images).shape == (2, 256)


@pytest.mark.parametrize("kind", [SmallCnn, ImpalaCnn])
def test_C8_the_generator_decides_the_weights(kind):
    weights = [kind((5, 5, 1), torch.Generator().manual_seed(seed)).state_dict() for seed in (1, 1, 2)]
    names = [name for name in weights[0] if name.endswith("weight")]
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in names)
    assert not any(torch.equal(weights[0][name], weights[2][name]) for name in names)
