import math

import pytest
import torch

from attract.algorithm.priorities import draw_segments, importance_weights, segment_probabilities

NAN = float("nan")


def test_P3_worked_by_hand():
    # Segments of two steps: |A| sums 1 + 3 = 4, 0 + 1 = 1 (one step), 0. Square roots: 2, 1, 0, each + 1e-6.
    advantages = torch.tensor([[1.0, -1.0, 0.0], [-3.0, NAN, 0.0]])
    valid = torch.tensor([[True, True, True], [True, False, True]])
    total = 3 + 3e-6
    expected = [(2 + 1e-6) / total, (1 + 1e-6) / total, 1e-6 / total]
    assert segment_probabilities(advantages, valid, 0.5).tolist() == pytest.approx(expected, rel=1e-12)


def test_P3_S5_a_segment_without_valid_steps_is_never_drawn():
    valid = torch.tensor([[True, False, True]])
    probabilities = segment_probabilities(torch.tensor([[1.0, NAN, 0.0]]), valid, 1.0)
    assert probabilities[1] == 0 and probabilities.sum().item() == pytest.approx(1)
    draws = draw_segments(probabilities, 10_000, torch.Generator().manual_seed(0))
    assert 1 not in draws.tolist()
    weights = importance_weights(probabilities, 1.0)
    # It counts in no mean either: two can be drawn.
    assert weights[1] == 0 and (weights * probabilities).tolist() == pytest.approx([0.5, 0, 0.5])


def test_P3_weights_worked_by_hand():
    # p = 1/2, 1/4, 1/8, 1/8 of four: (4 p)^-1/2 = 2^-1/2, 1, 2^1/2, 2^1/2, whose mean under p is
    # 2^-3/2 + 1/4 + 2^1/2 / 4 = 1/4 + 2^-1/2.
    weights = importance_weights(torch.tensor([0.5, 0.25, 0.125, 0.125], dtype=torch.float64), 0.5)
    mean = 0.25 + math.sqrt(0.5)
    expected = [math.sqrt(0.5) / mean, 1 / mean, math.sqrt(2) / mean, math.sqrt(2) / mean]
    assert weights.tolist() == pytest.approx(expected)


@pytest.mark.parametrize("beta", [0.4, 1.0])
@pytest.mark.parametrize("factor", [1.0, 0.01, 0.0])
def test_P3_correctness_R2_one_quiet_segment_does_not_switch_learning_off(beta, factor):
    advantages = torch.randn(32, 256, generator=torch.Generator().manual_seed(5))
    advantages[:, 0] *= factor
    probabilities = segment_probabilities(advantages, torch.ones(32, 256, dtype=torch.bool), 0.8)
    weights = importance_weights(probabilities, beta)
    # The drawn samples have a mean weight of 1, and about equal weights except for the quiet one.
    assert (probabilities * weights).sum().item() == pytest.approx(1.0)
    assert weights[1:].min() > 0.5 and weights[1:].max() < 2.0


def test_P3_beta_0_corrects_nothing_and_beta_1_restores_the_plain_mean():
    probabilities = torch.tensor([0.1, 0.2, 0.7], dtype=torch.float64)
    assert importance_weights(probabilities, 0.0).tolist() == [1, 1, 1]
    # With beta 1, p_i * weight_i is 1 / N: a mean of weighted draws is the plain mean, without a factor.
    assert (probabilities * importance_weights(probabilities, 1.0)).tolist() == pytest.approx([1 / 3] * 3)


def test_P3_draws_come_as_often_as_their_probability_says():
    probabilities = torch.tensor([0.05, 0.5, 0.0, 0.25, 0.2], dtype=torch.float64)
    num_draws = 200_000
    draws = draw_segments(probabilities, num_draws, torch.Generator().manual_seed(4))
    counts = torch.bincount(draws, minlength=5).double()
    # Five standard deviations of a binomial count.
    bound = 5 * (num_draws * probabilities * (1 - probabilities)).sqrt()
    assert ((counts - num_draws * probabilities).abs() <= bound).all(), counts


def test_P3_a_draw_is_the_first_segment_whose_running_sum_exceeds_its_uniform():
    probabilities = segment_probabilities(
        torch.randn(4, 9, generator=torch.Generator().manual_seed(2)), torch.ones(4, 9, dtype=torch.bool), 0.7
    )
    draws = draw_segments(probabilities, 500, torch.Generator().manual_seed(8)).tolist()
    uniforms = torch.rand(500, generator=torch.Generator().manual_seed(8), dtype=torch.float64).tolist()
    for draw, uniform in zip(draws, uniforms, strict=True):
        below = sum(probabilities[:draw].tolist())
        assert below <= uniform + 1e-12 and uniform <= below + probabilities[draw].item() + 1e-12


def test_P3_the_same_generator_draws_the_same():
    probabilities = torch.tensor([0.3, 0.7], dtype=torch.float64)
    first, again = (draw_segments(probabilities, 50, torch.Generator().manual_seed(1)) for _ in range(2))
    assert torch.equal(first, again)
