import pytest
import torch

from attract.errors import ConfigurationError
from attract.policy.network import build_distribution, build_policy
from attract.schema.game import GameDescription
from attract.schema.spaces import BoxSpace, DictSpace, DiscreteSpace, MultiBinarySpace
from attract.settings import PolicySettings


def game(observation=None, action=None):
    return GameDescription(
        id="Test-v1",
        tick_seconds=0.1,
        seconds_per_step=0.1,
        ticks_per_step=1,
        max_seconds=None,
        max_steps=None,
        observation=observation or BoxSpace(shape=[5]),
        action=action or DiscreteSpace(n=3),
    )


def test_the_network_has_the_games_shapes_and_the_settings_sizes():
    policy = build_policy(
        PolicySettings(hidden_sizes=(32, 16), activation="relu", shared_trunk=False), game()
    )
    logits, value = policy(torch.zeros(4, 5))
    assert logits.shape == (4, 3) and value.shape == (4,)
    assert [tuple(layer.weight.shape) for layer in policy.value_trunk] == [(32, 5), (16, 32)]


def test_observations_may_stay_as_they_are():
    assert build_policy(PolicySettings(), game(), normalize_observations=False).normaliser is None
    assert build_policy(PolicySettings(), game(BoxSpace(dtype="uint8", shape=[5]))).normaliser is None
    assert build_policy(PolicySettings(), game()).normaliser is not None


def test_C8_the_seed_decides_the_weights():
    weights = [build_policy(PolicySettings(), game(), seed=seed).trunk[0].weight for seed in (4, 4, 5)]
    assert torch.equal(weights[0], weights[1]) and not torch.equal(weights[0], weights[2])


def test_the_distribution_follows_the_action_space():
    assert build_distribution(game(action=DiscreteSpace(n=9))).num_outputs == 9


def test_spaces_without_a_network_are_refused():
    with pytest.raises(ConfigurationError, match="'dict'"):
        build_policy(PolicySettings(), game(DictSpace(spaces={"a": BoxSpace(shape=[1])})))
    with pytest.raises(ConfigurationError, match="'multi_binary'"):
        build_policy(PolicySettings(), game(action=MultiBinarySpace(n=2)))
