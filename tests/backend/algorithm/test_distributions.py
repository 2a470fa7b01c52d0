"""Distributions of actions, their gradients, and the streams that draws come from."""

import math

import pytest
import torch

from attract.algorithm.distribution_gradients import evaluate_with_gradient, has_gradient
from attract.algorithm.distributions import categorical_sample
from attract.algorithm.streams import chain_segments, discounted_sums
from attract.policy.action_kinds.box import DiagonalGaussian
from attract.policy.action_kinds.discrete import Categorical
from attract.policy.action_kinds.multi_binary import Bernoulli
from attract.policy.action_kinds.multi_discrete import MultiCategorical

# Weights 1 : 2 : 5, shifted by 3: probabilities 0.125, 0.25, 0.625 whatever the shift.
LOGITS = torch.tensor([3.0, 3.0 + math.log(2), 3.0 + math.log(5)])


@pytest.mark.parametrize(
    ("uniform", "action"), [(0.0, 0), (0.124, 0), (0.126, 1), (0.374, 1), (0.376, 2), (1 - 2**-24, 2)]
)
def test_C5_the_sample_is_the_first_action_whose_cumulative_probability_exceeds_u(uniform, action):
    assert categorical_sample(LOGITS, torch.tensor(uniform)).item() == action


def test_C5_a_draw_on_the_boundary_belongs_to_the_next_action():
    # Two equal logits: cumulative 0.5 does not exceed u = 0.5.
    assert categorical_sample(torch.zeros(2), torch.tensor(0.5)).item() == 1
    assert categorical_sample(torch.zeros(2), torch.tensor(0.5 - 2**-24)).item() == 0


def test_C5_frequencies_over_an_even_grid_of_uniforms():
    uniforms = (torch.arange(8000) + 0.5) / 8000
    actions = categorical_sample(LOGITS.expand(8000, 3), uniforms)
    assert torch.bincount(actions).tolist() == [1000, 2000, 5000]


N = 17
KINDS = {
    "categorical": (Categorical(4), False),
    "categorical, masks": (Categorical(4), True),
    "multi-categorical": (MultiCategorical([2, 3]), False),
    "multi-categorical, masks": (MultiCategorical([2, 3]), True),
    "bernoulli": (Bernoulli(3), False),
    "gaussian": (DiagonalGaussian(2), False),
}


@pytest.mark.parametrize("by_entropy", [0.0, -0.3])
@pytest.mark.parametrize("kind", KINDS)
def test_P5_a_gradient_is_the_one_that_autograd_finds(kind, by_entropy):
    distribution, is_masked = KINDS[kind]
    generator = torch.Generator().manual_seed(1)
    outputs = 2 * torch.randn(N, distribution.num_outputs, generator=generator)
    uniforms = torch.rand((N, distribution.num_draws), generator=generator)
    # Some of the actions are ones that the mask forbids.
    actions = distribution.sample(outputs, uniforms)
    mask = torch.rand((N, distribution.num_outputs), generator=generator) < 0.6 if is_masked else None
    by_log_prob = torch.randn(N, generator=generator)

    leaf = outputs.clone().requires_grad_()
    log_probs, entropies = distribution.log_prob_and_entropy(leaf, actions, mask)
    ((by_log_prob * log_probs).sum() + by_entropy * entropies.sum()).backward()

    found = evaluate_with_gradient(distribution, outputs.t().contiguous(), actions, mask)
    torch.testing.assert_close(found.log_probs, log_probs.detach(), rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(found.entropies, entropies.detach(), rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(found.gradient(by_log_prob, by_entropy).t(), leaf.grad, rtol=1e-5, atol=2e-6)


@pytest.mark.parametrize("distribution", [Bernoulli(2), DiagonalGaussian(1)])
def test_P5_actions_that_know_no_masks_refuse_one(distribution):
    with pytest.raises(RuntimeError, match="mask"):
        evaluate_with_gradient(
            distribution, torch.zeros(2, 3), torch.zeros(3, 2), torch.ones(3, 2, dtype=torch.bool)
        )


def test_P5_a_distribution_of_another_kind_has_no_gradient():
    class Other(Categorical):
        pass

    assert has_gradient(Categorical(2))
    assert not has_gradient(Other(2))


def test_S2_at_a_hole_the_own_bootstrap_is_used():
    # Slot 7 plays steps 0-1 and 4-5; steps 2-3 were refused: nothing follows anything.
    assert chain_segments(torch.tensor([7, 7]), torch.tensor([0, 4]), horizon=2) is None


def test_S2_slots_are_not_mixed():
    # Another slot's segment with the next step is no successor.
    assert chain_segments(torch.tensor([7, 8]), torch.tensor([0, 2]), horizon=2) is None


def test_S2_the_order_of_columns_and_of_arrival_is_no_matter_of_succession():
    # Slot 3 plays steps 4-5, 0-1, 2-3 in columns 0, 1, 2; slot 1 steps 2-3 stand between.
    follows = chain_segments(torch.tensor([3, 3, 3, 1]), torch.tensor([4, 0, 2, 2]), horizon=2)
    assert follows is not None and follows.tolist() == [-1, 2, 0, -1]


def test_S2_correctness_R4_a_segment_that_begins_with_an_invalid_step_follows_nothing():
    # Slot 3 plays steps 0-1, 2-3, 4-5; its game failed in step 2 and restarted in step 3.
    slots, steps = torch.tensor([3, 3, 3]), torch.tensor([4, 0, 2])
    follows = chain_segments(slots, steps, 2, torch.tensor([True, True, False]))
    assert follows is not None and follows.tolist() == [-1, -1, 0]
    assert chain_segments(slots, steps, 2, torch.tensor([False, True, False])) is None


def test_S2_sums_run_through_five_segments_of_one_step():
    # x_t = 1 + x_{t+1} / 2 over five steps: 1, 1.5, 1.75, 1.875, 1.9375 from the last to the first.
    follows = torch.tensor([1, 2, 3, 4, -1])
    ones = torch.ones(1, 5)
    assert discounted_sums(ones, 0.5 * ones, follows).tolist() == [[1.9375, 1.875, 1.75, 1.5, 1.0]]
