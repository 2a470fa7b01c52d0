"""Exploration by the scale of the logits: the entropy of an epsilon."""

import math

import pytest
import torch

from attract.learner.dqn.exploration import epsilon, logit_scale, wanted_entropy
from attract.learner.dqn.network import Choices
from attract.policy.export import OnnxPatcher
from attract.policy.network import Policy, build_distribution
from attract.policy.parity import check_parity
from attract.schema.spaces import ActionSpace, DiscreteSpace, MultiBinarySpace, MultiDiscreteSpace
from policies import create_policy, describe, observations_for, randomise


def test_epsilon_falls_over_a_share_of_the_schedule():
    found = [epsilon(1.0, 0.1, 0.2, steps, 1000) for steps in (0, 100, 200, 1000)]
    assert found == pytest.approx([1.0, 0.55, 0.1, 0.1])
    assert epsilon(1.0, 0.1, 0.0, 0, 1000) == 0.1


def test_the_entropy_of_epsilon_by_hand():
    # 4 actions with epsilon 0.4: one has 0.7, three have 0.1.
    by_hand = -0.7 * math.log(0.7) - 3 * 0.1 * math.log(0.1)
    assert wanted_entropy(0.4, Choices((4,)), None, 1) == pytest.approx(by_hand)
    assert wanted_entropy(0.0, Choices((4, 2)), None, 1) == 0.0
    assert wanted_entropy(1.0, Choices((4, 2)), None, 3) == pytest.approx(math.log(4) + math.log(2))
    # One observation allows four, the other only one, between which there is nothing to choose.
    mask = torch.tensor([[True] * 4, [True, False, False, False]])
    assert wanted_entropy(0.4, Choices((4,)), mask, 2) == pytest.approx(by_hand / 2)


def sharp_policy(action: ActionSpace, spread: float) -> Policy:
    """Advantages whose differences are about `spread`; their sums have terms of order 1."""
    policy = create_policy(action=action, hidden_sizes=(128, 128), activation="relu")
    randomise(policy, 3)
    with torch.no_grad():
        head = policy.policy_head
        head.weight.copy_(head.weight.mean(0) + spread * head.weight)
    return policy


@pytest.mark.parametrize(
    "action",
    [DiscreteSpace(n=3), MultiDiscreteSpace(nvec=[2, 3]), MultiBinarySpace(n=2)],
    ids=lambda action: action.kind,
)
def test_the_scale_gives_the_entropy_that_is_wanted(action: ActionSpace):
    policy, distribution = sharp_policy(action, 1.0), build_distribution(describe(action=action))
    observations = policy.preprocess(observations_for(policy))
    for eps in (1.0, 0.9, 0.3):
        wanted = wanted_entropy(eps, Choices.of(distribution), None, 64)
        scale, entropy = logit_scale(policy, distribution, observations, None, wanted)
        assert entropy == pytest.approx(wanted, abs=1e-4)
        with torch.no_grad():
            outputs = scale * policy.forward_preprocessed(observations)[0]
        actions = distribution.mode(outputs)
        found = distribution.log_prob_and_entropy(outputs, actions)[1]
        assert float(found.mean()) == pytest.approx(wanted, abs=1e-4)


def test_masks_count_in_the_entropy():
    distribution = build_distribution(describe())
    policy = sharp_policy(DiscreteSpace(n=3), 1.0)
    observations = policy.preprocess(observations_for(policy))
    mask = torch.tensor([[True, True, False]]).expand(64, 3)
    wanted = wanted_entropy(0.2, Choices((3,)), mask, 64)
    masked, plain = (
        logit_scale(policy, distribution, observations, each, wanted)[0] for each in (mask, None)
    )
    assert masked != pytest.approx(plain, rel=0.01)


def test_actions_that_are_worth_nearly_the_same_are_told_apart():
    policy, distribution = sharp_policy(DiscreteSpace(n=3), 1e-4), build_distribution(describe())
    # Advantages that differ in the last digits of the numbers that they are summed from.
    with torch.no_grad():
        policy.policy_head.weight.add_(policy.policy_head.weight.mean(0).abs(), alpha=10.0)
        policy.policy_head.bias.zero_()
    observations = policy.preprocess(observations_for(policy))
    _, entropy = logit_scale(policy, distribution, observations, None, 0.2)
    assert entropy == pytest.approx(0.2, abs=0.01)


def test_C9_an_export_of_the_sharpest_logits_passes_its_check():
    policy, distribution = sharp_policy(DiscreteSpace(n=3), 1e-4), build_distribution(describe())
    torch.nn.init.zeros_(policy.policy_head.bias)
    observations = policy.preprocess(observations_for(policy))
    scale, _ = logit_scale(policy, distribution, observations, None, 0.0)
    with torch.no_grad():
        policy.policy_head.weight.mul_(scale)
        policy.policy_head.bias.mul_(scale)
    parity = check_parity(policy, OnnxPatcher(policy).patched(policy.state_dict()))
    assert scale > 1e5 and 0 < parity.differences["logits"] < 1e-6
