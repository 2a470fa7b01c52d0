import math

import pytest
import torch

from attract.policy.action_kinds.multi_discrete import MultiCategorical
from policies import assert_as_reference, normal_numbers

NVEC = [2, 5, 3]


@pytest.mark.parametrize("is_masked", [False, True])
def test_several_choices_agree_with_torchs_one_by_one(is_masked):
    actions = torch.stack([torch.arange(40) % count for count in NVEC], 1)
    mask = None
    if is_masked:
        mask = torch.rand(40, 10, generator=torch.Generator().manual_seed(2)) < 0.6
        offsets = torch.tensor([0, 2, 7])
        mask[torch.arange(40).unsqueeze(1), actions + offsets] = True

    def reference(outputs):
        masked = outputs if mask is None else outputs.masked_fill(~mask, -1e9)
        parts = [torch.distributions.Categorical(logits=part) for part in masked.split(NVEC, 1)]
        log_probs = sum(part.log_prob(actions[:, place]) for place, part in enumerate(parts))
        return log_probs, sum(part.entropy() for part in parts)

    assert_as_reference(MultiCategorical(NVEC), reference, normal_numbers(40, 10), actions, mask)


def test_several_choices_by_enumeration():
    distribution = MultiCategorical([2, 3])
    outputs = normal_numbers(1, 5)
    every = torch.cartesian_prod(torch.arange(2), torch.arange(3))
    log_probs, entropies = distribution.log_prob_and_entropy(outputs.expand(6, 5), every)
    assert log_probs.exp().sum().item() == pytest.approx(1.0, rel=1e-6)
    assert entropies[0].item() == pytest.approx(-(log_probs.exp() * log_probs).sum().item(), rel=1e-5)
    assert distribution.mode(outputs)[0].tolist() == every[log_probs.argmax()].tolist()


def test_one_choice_that_is_impossible_is_as_good_as_not_there():
    outputs, mask = normal_numbers(3, 5), torch.ones(3, 5, dtype=torch.bool)
    mask[:, 3] = False
    whole = MultiCategorical([2, 3])
    left = MultiCategorical([2, 2])
    # Component 1 has choices 0 and 2 left, which are 0 and 1 of the smaller space.
    got = whole.log_prob_and_entropy(outputs, torch.tensor([[0, 0], [1, 2], [1, 0]]), mask)
    expected = left.log_prob_and_entropy(outputs[:, [0, 1, 2, 4]], torch.tensor([[0, 0], [1, 1], [1, 0]]))
    torch.testing.assert_close(got, expected)
    uniforms = torch.rand(2000, 2, generator=torch.Generator().manual_seed(0))
    drawn = whole.sample(outputs[:1].expand(2000, 5), uniforms, mask[:1])
    assert sorted(drawn[:, 1].unique().tolist()) == [0, 2]
    assert (whole.mode(torch.tensor([[0.0, 1.0, 0.0, 9.0, 1.0]]), mask[:1]) == torch.tensor([1, 2])).all()


def test_C5_component_c_of_several_choices_has_uniform_c():
    distribution = MultiCategorical([2, 3])
    # Weights 1 : 1 and 1 : 1 : 2: boundaries at 0.5, and at 0.25 and 0.5.
    outputs = torch.tensor([0.0, 0.0, 0.0, 0.0, math.log(2)]).expand(3, 5)
    uniforms = torch.tensor([[0.49, 0.51], [0.51, 0.24], [0.0, 0.26]])
    assert distribution.num_draws == 2 and distribution.num_outputs == 5
    assert distribution.sample(outputs, uniforms).tolist() == [[0, 2], [1, 0], [0, 1]]
