import math

import pytest
import torch

from attract.policy.action_kinds.multi_binary import Bernoulli
from policies import assert_as_reference, normal_numbers


def test_bits_agree_with_torchs():
    actions = (normal_numbers(40, 3, seed=6) > 0).long()

    def reference(outputs):
        bits = torch.distributions.Independent(torch.distributions.Bernoulli(logits=outputs), 1)
        return bits.log_prob(actions.float()), bits.entropy()

    assert_as_reference(Bernoulli(3), reference, 3 * normal_numbers(40, 3), actions)


def test_bits_that_are_nearly_certain_are_finite_and_exact():
    outputs = torch.tensor([[50.0, -50.0]])
    log_probs, entropies = Bernoulli(2).log_prob_and_entropy(outputs, torch.tensor([[1, 0]]))
    # log sigmoid(50) = -e^-50, twice; the entropy of each is 51 e^-50 to first order.
    assert log_probs.item() == pytest.approx(-2 * math.exp(-50), rel=1e-5)
    assert entropies.item() == pytest.approx(2 * 51 * math.exp(-50), rel=1e-5)
    unlikely, _ = Bernoulli(2).log_prob_and_entropy(outputs, torch.tensor([[0, 1]]))
    assert unlikely.item() == -100.0


def test_C5_a_bit_is_1_where_its_uniform_is_below_its_probability():
    outputs = torch.tensor([0.0, math.log(3)])  # probabilities 0.5 and 0.75
    uniforms = torch.tensor([[0.5, 0.75 - 2**-20], [0.5 - 2**-24, 0.75 + 2**-20]])
    assert Bernoulli(2).sample(outputs.expand(2, 2), uniforms).tolist() == [[0, 1], [1, 0]]
    assert Bernoulli(2).mode(torch.tensor([[-0.1, 0.1]])).tolist() == [[0, 1]]
