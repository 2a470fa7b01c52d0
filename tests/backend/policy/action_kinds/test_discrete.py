import math

import numpy as np
import pytest
import torch

from attract.algorithm.distributions import categorical_sample
from attract.policy.action_kinds.discrete import Categorical
from attract.policy.action_kinds.table import resolve_distribution

# Weights 1 : 2 : 5, shifted by 3: probabilities 0.125, 0.25, 0.625 whatever the shift.
LOGITS = torch.tensor([3.0, 3.0 + math.log(2), 3.0 + math.log(5)])


def log_prob_and_entropy(
    logits: torch.Tensor, action: int, mask: torch.Tensor | None = None
) -> tuple[float, float]:
    log_probs, entropies = Categorical(3).log_prob_and_entropy(
        logits.unsqueeze(0), torch.tensor([action]), None if mask is None else mask.unsqueeze(0)
    )
    return log_probs.item(), entropies.item()


def test_log_prob_of_weights_1_2_5():
    got, _ = Categorical(3).log_prob_and_entropy(LOGITS.expand(3, 3), torch.arange(3))
    expected = torch.tensor([math.log(0.125), math.log(0.25), math.log(0.625)])
    torch.testing.assert_close(got, expected, rtol=1e-6, atol=0)


def test_entropy_of_weights_1_2_5():
    # 1/8 ln 8 + 1/4 ln 4 + 5/8 ln 8/5
    exact = math.log(8) / 8 + math.log(4) / 4 + 5 / 8 * math.log(8 / 5)
    assert log_prob_and_entropy(LOGITS, 0)[1] == pytest.approx(exact, rel=1e-6)


def test_the_learners_one_pass_agrees_with_torch_distributions():
    generator = torch.Generator().manual_seed(5)
    logits = torch.randn(50, 7, generator=generator, requires_grad=True)
    actions = torch.randint(0, 7, (50,), generator=generator)
    mask = torch.rand(50, 7, generator=generator) < 0.7
    mask[torch.arange(50), actions] = True
    log_probs, entropies = Categorical(7).log_prob_and_entropy(logits, actions, mask)
    (log_probs.sum() + entropies.sum()).backward()
    assert logits.grad is not None
    grad, logits.grad = logits.grad.clone(), None
    reference = torch.distributions.Categorical(logits=logits.masked_fill(~mask, -1e9))
    torch.testing.assert_close(log_probs, reference.log_prob(actions))
    torch.testing.assert_close(entropies, reference.entropy())
    (reference.log_prob(actions).sum() + reference.entropy().sum()).backward()
    torch.testing.assert_close(grad, logits.grad, rtol=1e-4, atol=1e-6)


def test_mode_and_sample_of_the_object():
    distribution = resolve_distribution({"kind": "discrete", "n": 3})
    assert (distribution.num_outputs, distribution.output_names, distribution.num_draws) == (
        3,
        ("logits",),
        1,
    )
    assert distribution.mode(LOGITS).item() == 2
    assert distribution.mode(LOGITS, torch.tensor([True, True, False])).item() == 1
    assert distribution.mode(torch.zeros(4)).item() == 0
    np.testing.assert_array_equal(
        distribution.sample(LOGITS.expand(2, 3), torch.tensor([[0.1], [0.9]])), [0, 2]
    )


def test_large_logits_do_not_overflow():
    logits = torch.tensor([1000.0, 999.0, -1000.0])
    assert categorical_sample(logits, torch.tensor(0.9999)).item() == 1
    # softmax of (0, -1, -2000): 1 / (1 + 1/e)
    assert log_prob_and_entropy(logits, 0)[0] == pytest.approx(-math.log(1 + math.exp(-1)))


def test_a_forbidden_action_is_never_drawn_and_adds_no_entropy():
    mask = torch.tensor([True, False, True])
    # Left: weights 1 and 5, probabilities 1/6 and 5/6.
    uniforms = torch.tensor([0.0, 0.166, 0.167, 1 - 2**-24])
    actions = categorical_sample(LOGITS.expand(4, 3), uniforms, mask.expand(4, 3))
    assert actions.tolist() == [0, 0, 2, 2]
    entropy = math.log(6) / 6 + 5 / 6 * math.log(6 / 5)
    assert log_prob_and_entropy(LOGITS, 2, mask) == pytest.approx((math.log(5 / 6), entropy), rel=1e-6)
    last_forbidden = torch.tensor([True, True, False])
    assert categorical_sample(LOGITS, torch.tensor(1 - 2**-24), last_forbidden).item() == 1
