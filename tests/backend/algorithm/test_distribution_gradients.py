import pytest
import torch

from attract.algorithm.distribution_gradients import evaluate_with_gradient, has_gradient
from attract.policy.action_kinds.box import DiagonalGaussian
from attract.policy.action_kinds.discrete import Categorical
from attract.policy.action_kinds.multi_binary import Bernoulli
from attract.policy.action_kinds.multi_discrete import MultiCategorical

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
