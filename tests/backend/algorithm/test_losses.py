"""Losses by hand, of categories too, and the numbers that scale them."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attract.algorithm.annealing import annealed_to_one, progress_of, resolve_schedule, scheduled
from attract.algorithm.categories import bin_centres, cross_entropy_with_gradient, histogram
from attract.algorithm.losses import (
    approx_kl,
    clip_fraction,
    clipped_surrogate_loss,
    explained_variance,
    normalise_advantages,
    value_loss,
)
from attract.algorithm.normalisation import RunningMoments
from attract.errors import ConfigurationError


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


def test_the_histogram_of_a_return_by_hand():
    # 51 bins from -10 to 10 are 0.4 wide, and the deviation is 0.3. Within 2/3 deviations lie 0.4950, and
    # from there to 2 deviations (0.9545 within) on each side half of the rest.
    shares = histogram(torch.tensor([0.0, 0.2]), 10.0)
    assert shares[24:27, 0].tolist() == pytest.approx([0.22975, 0.4950, 0.22975], abs=1e-4)
    # Halfway between two centres both have as much: 1.3333 deviations, 0.8176 within, half of it.
    assert shares[25:27, 1].tolist() == pytest.approx([0.4088, 0.4088], abs=1e-4)


def test_the_mean_of_a_histogram_is_the_return_and_what_lies_beyond_the_limits_is_at_them():
    returns = torch.tensor([-8.0, -0.123, 0.0, 3.21, 8.0, 25.0, -1e6])
    shares = histogram(returns, 10.0)
    torch.testing.assert_close(shares.sum(0), torch.ones(7))
    torch.testing.assert_close((bin_centres(10.0) @ shares)[:5], returns[:5], atol=1e-4, rtol=0.0)
    assert torch.equal(shares[:, 5:], histogram(torch.tensor([10.0, -10.0]), 10.0))


def test_the_cross_entropy_and_its_gradient_are_those_of_torch():
    generator = torch.Generator().manual_seed(1)
    logits = torch.randn(51, 6, generator=generator)
    shares = histogram(torch.randn(6, generator=generator), 10.0)
    theirs = logits.t().clone().requires_grad_()
    expected = torch.nn.functional.cross_entropy(theirs, shares.t())
    expected.backward()
    loss, gradient, predicted = cross_entropy_with_gradient(logits, shares)
    torch.testing.assert_close(loss, expected.detach())
    torch.testing.assert_close(gradient.t(), theirs.grad)
    torch.testing.assert_close(predicted, logits.softmax(0))


@pytest.mark.parametrize(
    ("agent_steps", "expected"), [(0, 0.004), (250, 0.003), (500, 0.002), (1000, 0.0002), (5000, 0.0002)]
)
def test_P10_linear_falls_over_the_schedules_steps_to_a_floor(agent_steps, expected):
    # A twentieth of 0.004 stays: a run that goes on longer than its schedule still learns.
    assert scheduled(0.004, "linear", agent_steps, 1000) == pytest.approx(expected)


def test_P10_without_steps_to_run_over_a_schedule_is_constant():
    assert scheduled(0.004, "linear", 10**9, None) == 0.004


def test_P10_constant_stays():
    assert scheduled(0.2, "constant", 999, 1000) == 0.2


def test_P10_progress_ends_at_one():
    assert [progress_of(steps, 200) for steps in (0, 50, 200, 300)] == [0.0, 0.25, 1.0, 1.0]


def test_P10_beta_rises_to_one():
    # From 0.4: a quarter of the way 1 - 0.6 * 3/4 = 0.55, and 1 at the end.
    values = [annealed_to_one(0.4, "linear", steps, 1000) for steps in (0, 250, 1000, 2000)]
    assert values == pytest.approx([0.4, 0.55, 1.0, 1.0])
    assert annealed_to_one(0.4, "constant", 999, 1000) == pytest.approx(0.4)
    assert annealed_to_one(0.4, "linear", 999, None) == pytest.approx(0.4)


def test_an_unknown_schedule_is_refused_with_the_names_there_are():
    with pytest.raises(ConfigurationError, match=r"'cosy'(.|\n)*constant, linear"):
        resolve_schedule("cosy")


def of(rows):
    data = torch.tensor(rows, dtype=torch.float32)
    return RunningMoments.of(data, torch.ones(data.shape[0], dtype=torch.bool))


def test_P7_mean_and_variance_by_hand():
    # 1, 3, 8: mean 4, squared deviations 9 + 1 + 16 = 26; 10, 10, 10: constant.
    moments = of([[1, 10], [3, 10], [8, 10]])
    assert moments.count == 3
    assert moments.mean.tolist() == [4, 10]
    assert moments.squared_deviations.tolist() == [26, 0]
    assert moments.variance.tolist() == pytest.approx([26 / 3, 0])
    assert moments.inverse_std.tolist() == pytest.approx([(26 / 3) ** -0.5, 1e4])


def test_P7_merging_is_exact():
    # {1, 3} and {8}: means 2 and 8, deviations 2 and 0; together 2 + 0 + 6^2 * 2 * 1 / 3 = 26.
    merged = of([[1], [3]]).merge(of([[8]]))
    assert (merged.count, merged.mean.item()) == (3, pytest.approx(4))
    assert merged.squared_deviations.item() == pytest.approx(26)


def test_P7_nothing_seen_is_the_identity_of_merging():
    some = of([[1.0, 2.0], [5.0, 2.0]])
    for merged in (some.merge(RunningMoments.empty((2,))), RunningMoments.empty((2,)).merge(some)):
        assert merged.count == 2 and torch.equal(merged.mean, some.mean)
        assert torch.equal(merged.squared_deviations, some.squared_deviations)
    assert RunningMoments.empty((2,)).merge(RunningMoments.empty((2,))).variance.tolist() == [1, 1]


@given(st.lists(st.integers(0, 40), min_size=1, max_size=12).filter(any), st.integers(0, 2**32 - 1))
def test_P7_many_batches_equal_numpy_over_all_of_them(sizes, seed):
    random = np.random.default_rng(seed)
    # A large offset: a sum of squares in float32 would lose every digit of the variance.
    batches = [random.normal(1e4, 1, (size, 3)).astype(np.float32) for size in sizes]
    moments = RunningMoments.empty((3,))
    for batch in batches:
        valid = torch.ones(len(batch), dtype=torch.bool)
        moments = moments.merge(RunningMoments.of(torch.from_numpy(batch), valid))
    everything = np.concatenate(batches).astype(np.float64)
    assert moments.count == len(everything)
    np.testing.assert_allclose(moments.mean, everything.mean(0), rtol=1e-13)
    np.testing.assert_allclose(moments.variance, everything.var(0), rtol=1e-9)


def test_P7_S5_invalid_steps_do_not_count():
    observations = torch.tensor([[[1.0], [100.0]], [[float("nan")], [3.0]]])
    moments = RunningMoments.of(observations, torch.tensor([[True, False], [False, True]]))
    assert (moments.count, moments.mean.item(), moments.squared_deviations.item()) == (2, 2.0, 2.0)
    nothing = RunningMoments.of(observations, torch.zeros((2, 2), dtype=torch.bool))
    assert nothing.count == 0 and nothing.mean.tolist() == [0]


@pytest.mark.parametrize("part_bytes", [1, 1000, 2048])
def test_P7_correctness_6_observations_that_are_looked_at_in_parts_give_the_same_moments(
    part_bytes, monkeypatch
):
    random = np.random.default_rng(3)
    observations = random.normal(1e4, 1, (40, 6, 5)).astype(np.float32)
    valid = random.random((40, 6)) < 0.7
    # A whole row of parts without a valid step, and NaN where nothing counts.
    valid[8:20] = False
    observations[~valid] = np.nan
    monkeypatch.setattr("attract.algorithm.normalisation.PART_BYTES", part_bytes)
    moments = RunningMoments.of(torch.from_numpy(observations), torch.from_numpy(valid))
    everything = observations[valid].astype(np.float64)
    assert moments.count == len(everything)
    np.testing.assert_allclose(moments.mean, everything.mean(0), rtol=1e-13)
    np.testing.assert_allclose(moments.variance, everything.var(0), rtol=1e-9)
    assert RunningMoments.of(torch.zeros(0, 5), torch.zeros(0, dtype=torch.bool)).count == 0
