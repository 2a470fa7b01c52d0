import math

import pytest
import torch

from attract.algorithm.losses import (
    approx_kl,
    clip_fraction,
    clipped_surrogate_loss,
    explained_variance,
    normalise_advantages,
    value_loss,
)


def numbers(*values, grad=False):
    return torch.tensor(values, dtype=torch.float64, requires_grad=grad)


def test_P1_advantages_get_mean_0_and_deviation_1():
    # 1, 2, 3, 6: mean 3, squared deviations 4 + 1 + 0 + 9 = 14, std sqrt(14 / 3)
    std = math.sqrt(14 / 3)
    expected = numbers(-2 / std, -1 / std, 0, 3 / std)
    torch.testing.assert_close(normalise_advantages(numbers(1, 2, 3, 6)), expected, rtol=0, atol=1e-7)


def test_P1_one_step_is_left_alone():
    assert normalise_advantages(numbers(5)).tolist() == [5]


@pytest.mark.parametrize("level", [0.0, 0.3, -1e6])
def test_P1_no_spread_is_left_alone(level):
    advantages = torch.full((7,), level)
    assert torch.equal(normalise_advantages(advantages), advantages)


def test_P1_rounding_is_no_spread():
    level = torch.tensor(0.3)
    advantages = torch.stack((level, torch.nextafter(level, torch.tensor(1.0)), level))
    assert torch.equal(normalise_advantages(advantages), advantages)


def test_P1_a_small_spread_is_one():
    # 1e-4 around 0: std sqrt(2) e-4, each 1 / sqrt(2) from the mean up to the 1e-8 in the denominator.
    normalised = normalise_advantages(numbers(-1e-4, 1e-4))
    torch.testing.assert_close(normalised, numbers(-0.7071, 0.7071), rtol=0, atol=1e-3)


def test_P1_a_row_that_spreads_less_than_the_least_is_divided_by_the_least():
    rows = torch.stack((numbers(1, 2, 3, 6), numbers(10, 20, 30, 60)))
    std = math.sqrt(14 / 3)  # of the first row; 21.6 of the second
    expected = torch.stack((numbers(-1, -0.5, 0, 1.5) / 2, numbers(-2, -1, 0, 3) / std))
    torch.testing.assert_close(normalise_advantages(rows, 4.0), expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("ratio", "advantage", "objective", "slope"),
    [
        (1.0, 2.0, 2.0, 2.0),  # inside the clip: ratio * A
        (1.5, 2.0, 2.4, 0.0),  # above it, good action: 1.2 * 2, flat
        (1.5, -2.0, -3.0, -2.0),  # above it, bad action: min(-3, -2.4), pulled back
        (0.5, 2.0, 1.0, 2.0),  # below it, good action: min(1, 1.6), pulled back
        (0.5, -2.0, -1.6, 0.0),  # below it, bad action: 0.8 * -2, flat
    ],
)
def test_P5_the_surrogate_is_clipped_on_the_optimistic_side_only(ratio, advantage, objective, slope):
    ratios = numbers(ratio, grad=True)
    loss = clipped_surrogate_loss(ratios, numbers(advantage), 0.2)
    loss.backward()
    assert loss.item() == pytest.approx(-objective)
    assert ratios.grad is not None and ratios.grad.item() == pytest.approx(-slope)


def test_P5_the_surrogate_is_a_mean():
    # min(1.5, 1.2) * 1 = 1.2 and min(0.5, 0.8) * 3 = 1.5: - (1.2 + 1.5) / 2
    assert clipped_surrogate_loss(numbers(1.5, 0.5), numbers(1, 3), 0.2).item() == pytest.approx(-1.35)


def test_P3_weights_multiply_the_objective_and_not_the_mean():
    # 1/2 * 1.2 + 1/4 * 1.5 over two steps: - (0.6 + 0.375) / 2
    loss = clipped_surrogate_loss(numbers(1.5, 0.5), numbers(1, 3), 0.2, numbers(0.5, 0.25))
    assert loss.item() == pytest.approx(-0.4875)


def test_P5_value_loss_is_half_the_mean_square():
    # 1/2 * (3^2 + 1^2) / 2 = 2.5
    assert value_loss(numbers(4, 0), numbers(1, 1)).item() == pytest.approx(2.5)


def test_P5_value_clipping_takes_the_larger_square():
    # old 1, clip 0.5. Prediction 3, target 2: (3-2)^2 = 1 against (1.5-2)^2 = 0.25, takes 1.
    # Prediction 3, target 4: (3-4)^2 = 1 against (1.5-4)^2 = 6.25, takes 6.25. 1/2 * 7.25 / 2 = 1.8125
    new_values = numbers(3, 3, grad=True)
    loss = value_loss(new_values, numbers(2, 4), numbers(1, 1), 0.5)
    loss.backward()
    assert loss.item() == pytest.approx(1.8125)
    # The first pulls down by (3-2)/2; the second is clipped and gives nothing.
    assert new_values.grad is not None and new_values.grad.tolist() == [0.5, 0.0]


def test_P5_value_clipping_needs_the_old_values():
    with pytest.raises(ValueError, match="expected old_values"):
        value_loss(numbers(1), numbers(1), None, 0.5)


def test_P5_approx_kl_of_two_coins():
    # Old coin 0.6, new coin 0.5, both outcomes in their true proportion:
    # KL(old || new) = 0.6 ln(0.6 / 0.5) + 0.4 ln(0.4 / 0.5)
    log_ratio = torch.tensor([math.log(0.5 / 0.6)] * 6 + [math.log(0.5 / 0.4)] * 4, dtype=torch.float64)
    exact = 0.6 * math.log(0.6 / 0.5) + 0.4 * math.log(0.4 / 0.5)
    assert approx_kl(log_ratio, log_ratio.exp()).item() == pytest.approx(exact, rel=1e-9)


def test_P5_clip_fraction_counts_both_sides():
    assert clip_fraction(numbers(0.7, 0.85, 1.0, 1.15, 1.3), 0.2).item() == pytest.approx(0.4)


def test_P5_explained_variance():
    # Targets 0, 2, 4: variance 8/3. Residuals 0, 1, -1 around 0: variance 2/3. 1 - (2/3)/(8/3) = 0.75
    assert explained_variance(numbers(0, 1, 5), numbers(0, 2, 4)).item() == pytest.approx(0.75)
    assert explained_variance(numbers(7, 7, 7), numbers(0, 2, 4)).item() == pytest.approx(0)
    assert math.isnan(explained_variance(numbers(1, 2), numbers(3, 3)).item())
