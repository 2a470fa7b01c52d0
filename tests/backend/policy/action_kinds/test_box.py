import math

import pytest
import torch

from attract.errors import ConfigurationError
from attract.policy.action_kinds.box import DiagonalGaussian
from attract.policy.action_kinds.table import resolve_distribution
from policies import assert_as_reference, normal_numbers


def test_P6_the_density_is_torchs_at_what_was_sampled_however_far_outside():
    # Some actions lie far outside of [-1, 1], where the game's box ends.
    actions = 3 * normal_numbers(40, 2, seed=7)
    assert (actions.abs() > 4).any()

    def reference(outputs):
        mean, log_std = outputs.chunk(2, 1)
        normal = torch.distributions.Independent(torch.distributions.Normal(mean, log_std.exp()), 1)
        return normal.log_prob(actions), normal.entropy()

    assert_as_reference(DiagonalGaussian(2), reference, 0.7 * normal_numbers(40, 4), actions)


def test_P6_the_density_by_hand():
    # Mean 0.5 and log std ln 2: (3.5 - 0.5) / 2 = 1.5; -1.125 - ln 2 - ln(2 pi) / 2 = -2.7370858.
    outputs = torch.tensor([[0.5, math.log(2)]])
    log_prob, entropy = DiagonalGaussian(1).log_prob_and_entropy(outputs, torch.tensor([[3.5]]))
    assert log_prob.item() == pytest.approx(-2.7370857, rel=1e-6)
    # ln 2 + (1 + ln(2 pi)) / 2 = 2.1120857
    assert entropy.item() == pytest.approx(2.1120857, rel=1e-6)
    assert DiagonalGaussian(1).mode(torch.tensor([[4.0, 0.0]])).tolist() == [[4.0]]


def test_C5_normal_numbers_come_from_pairs_of_uniforms():
    # 1 - u = e^(-1/2): radius 1. Angles 0, half and a quarter turn: z = 1, -1, 0; in the other component 0.
    one = 1 - math.exp(-0.5)
    uniforms = torch.tensor([[one, 0.0, 0.0, 0.3], [one, 0.5, 0.0, 0.3], [one, 0.25, 0.0, 0.3]]).double()
    outputs = torch.tensor([0.5, -1.0, math.log(2), 0.0]).expand(3, 4)
    drawn = DiagonalGaussian(2).sample(outputs, uniforms)
    assert drawn.dtype == torch.float32
    torch.testing.assert_close(drawn[:, 0], torch.tensor([2.5, -1.5, 0.5]), rtol=1e-6, atol=1e-6)
    assert drawn[:, 1].tolist() == [-1.0, -1.0, -1.0]


def test_normal_numbers_have_mean_0_and_variance_1():
    uniforms = torch.rand(20_000, 2, generator=torch.Generator().manual_seed(1))
    drawn = DiagonalGaussian(1).sample(torch.zeros(20_000, 2), uniforms)
    # Standard errors 0.007 and 0.01; the largest uniform, 1 - 2^-24, gives sqrt(2 * 24 ln 2) = 5.77.
    assert abs(drawn.mean().item()) < 0.03 and abs(drawn.var().item() - 1) < 0.04
    edge = DiagonalGaussian(1).sample(torch.zeros(1, 2), torch.tensor([[1 - 2**-24, 0.0]]))
    assert edge.item() == pytest.approx(math.sqrt(48 * math.log(2)), rel=1e-6)


@pytest.mark.parametrize("change", [{"low": None}, {"high": None}, {"dtype": "uint8"}])
def test_P6_a_box_without_bounds_or_of_bytes_is_refused(change):
    space = {"kind": "box", "dtype": "float32", "shape": [2], "low": -1, "high": 1}
    with pytest.raises(ConfigurationError, match="both bounds"):
        resolve_distribution(space | change)
