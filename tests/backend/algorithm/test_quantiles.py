"""Quantile regression: targets and loss by hand."""

import pytest
import torch

from attract.algorithm.quantiles import (
    quantile_huber_loss,
    quantile_huber_with_gradient,
    quantile_targets,
)


def test_a_target_is_the_rewards_and_the_discounted_quantiles_of_the_best_next_action():
    rewards, discount = torch.tensor([1.0, -2.0]), torch.tensor([0.81, 0.0])
    found = quantile_targets(rewards, discount, torch.tensor([[10.0, 20.0], [10.0, 20.0]]))
    # 1 + 0.81 * 10, 1 + 0.81 * 20; after a termination the reward alone.
    torch.testing.assert_close(found, torch.tensor([[9.1, 17.2], [-2.0, -2.0]]))


def test_the_loss_of_two_quantiles_by_hand():
    # tau is 1/4 and 3/4. Errors u = target - predicted:
    # i = 0, predicted 0: u = -0.5 and 3; L = 0.125 and 3 - 0.5 = 2.5;
    #   weights |1/4 - 1| = 3/4 and 1/4: 0.09375 and 0.625, mean 0.359375
    # i = 1, predicted 1: u = -1.5 and 2; L = 1 and 1.5;
    #   weights |3/4 - 1| = 1/4 and 3/4: 0.25 and 1.125, mean 0.6875
    found = quantile_huber_loss(torch.tensor([[0.0, 1.0]]), torch.tensor([[-0.5, 3.0]]))
    assert float(found) == pytest.approx(0.359375 + 0.6875)


def test_the_gradient_of_two_quantiles_by_hand_in_memory_that_was_used_before():
    # The weights above times -clip(u), mean over j: i = 0: -(3/4 * -0.5 + 1/4 * 1) / 2;
    # i = 1: -(1/4 * -1 + 3/4 * 1) / 2. Half of it for each of two equal rows of the batch.
    predicted, targets = torch.tensor([[0.0, 0.0], [1.0, 1.0]]), torch.tensor([[-0.5, -0.5], [3.0, 3.0]])
    loss, gradient = quantile_huber_with_gradient(predicted, targets, torch.full((3, 2, 2, 2), torch.nan))
    assert float(loss) == pytest.approx(0.359375 + 0.6875)
    torch.testing.assert_close(gradient, torch.tensor([[0.03125, 0.03125], [-0.125, -0.125]]))


def test_the_loss_is_the_mean_over_the_batch_and_of_one_quantile_half_of_hubers():
    predicted, targets = torch.tensor([[0.0], [0.0]]), torch.tensor([[0.5], [-4.0]])
    # tau is 1/2: 0.5 * 0.125 and 0.5 * 3.5
    assert float(quantile_huber_loss(predicted, targets)) == pytest.approx((0.0625 + 1.75) / 2)


def test_its_minimum_is_where_the_quantiles_of_the_targets_are():
    targets = torch.arange(100.0).unsqueeze(0)
    predicted = torch.full((1, 4), 50.0, requires_grad=True)
    optimizer = torch.optim.SGD([predicted], lr=2.0)
    for _ in range(2000):
        optimizer.zero_grad()
        quantile_huber_loss(predicted, targets).backward()
        optimizer.step()
    # Quantiles 1/8, 3/8, 5/8, 7/8 of 0 to 99.
    torch.testing.assert_close(
        predicted.detach(), torch.tensor([[12.0, 37.0, 62.0, 87.0]]), atol=1.0, rtol=0.0
    )
