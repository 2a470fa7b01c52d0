"""The networks of SAC: which weights learn from what, and a policy that is the exported one."""

import math

import pytest
import torch

from attract.learner.sac.network import SoftActorCritic
from attract.policy.export import OnnxPatcher
from attract.policy.network import build_policy
from attract.policy.parity import check_parity
from attract.schema.spaces import BoxSpace, DictSpace, DiscreteSpace
from attract.settings.run import PolicySettings
from policies import describe

BOX = BoxSpace(shape=[2], low=-1.0, high=1.0)


def network_of(game, **settings) -> SoftActorCritic:
    policy = build_policy(PolicySettings(**settings), game, seed=1)
    return SoftActorCritic(policy, 0.5, torch.Generator().manual_seed(2))


def test_encoders_learn_from_the_critics_and_are_followed():
    picture = BoxSpace(shape=[12, 12, 1], dtype="uint8")
    game = describe(DictSpace(spaces={"view": picture, "speed": BoxSpace(shape=[1])}), BOX)
    network = network_of(game, hidden_sizes=(8,))
    encoder = next(iter(network.policy.encoders.values()))
    followed = {id(parameter) for parameter in network.followed()}
    assert {id(parameter) for parameter in encoder.parameters()} < followed
    assert not followed & {id(parameter) for parameter in network.policy.trunk.parameters()}
    given = network.policy.preprocess(
        {"view": torch.randint(0, 256, (4, 12, 12, 1), dtype=torch.uint8), "speed": torch.randn(4, 1)}
    )
    network.values(network.features(given), torch.zeros(4, 2)).sum().backward()
    assert all(parameter.grad is not None for parameter in encoder.parameters())


def test_actions_and_their_entropy_are_those_of_the_policy():
    network = network_of(describe(BoxSpace(shape=[3]), BOX))
    observations = {"obs": torch.randn(5, 3)}
    given = network.policy.preprocess(observations)
    outputs, _ = network.policy(observations)
    mean, log_std = outputs.chunk(2, 1)
    noise = torch.randn(5, 2)
    torch.testing.assert_close(network.act(network.features(given), noise), mean + log_std.exp() * noise)
    normal = torch.distributions.Normal(mean[0], log_std[0].exp())
    assert network.entropy.item() == pytest.approx(normal.entropy().sum().item(), rel=1e-6)
    assert network.log_temperature.item() == pytest.approx(math.log(0.5))


def test_C9_the_policy_is_exported_as_any_other():
    network = network_of(describe(BoxSpace(shape=[3]), BOX))
    policy = network.policy
    assert check_parity(policy, OnnxPatcher(policy).patched(policy.state_dict())).is_within_tolerance


def test_a_policy_of_choices_has_no_entropy_here():
    with pytest.raises(RuntimeError, match="real numbers"):
        _ = network_of(describe(BoxSpace(shape=[3]), DiscreteSpace(n=3))).entropy
