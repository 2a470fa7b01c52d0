import pytest
import torch

from attract.errors import ConfigurationError
from attract.learner.algorithms.algorithm import Learnable
from attract.learner.exploration.rnd import WithRnd
from attract.learner.imitation.cloning import WithCloning
from attract.learner.ppo.algorithm import Ppo
from attract.learner.registry import choose_algorithm
from attract.policy.network import build_distribution, build_policy
from attract.settings.run import PolicySettings
from demonstrated_signs import demonstrated_signs
from learner_world import describe_signs


def learnable(policy_id: str | None = None) -> Learnable:
    game = describe_signs()
    policy = build_policy(PolicySettings(hidden_sizes=(4,)), game)
    return Learnable(policy, build_distribution(game), seed=3, policy_id=policy_id)


def test_an_algorithm_is_chosen_by_its_name_and_checks_its_own_settings():
    choice = choose_algorithm("ppo", {"normalize_observations": False})
    assert (choice.name, choice.normalize_observations) == ("ppo", False)
    assert isinstance(choice.create(learnable()), Ppo)
    with pytest.raises(ConfigurationError, match=r"ppo\.gamma: must be a number from 0 to 1"):
        choose_algorithm("ppo", {"gamma": 2})


def test_a_name_that_is_not_there_is_refused_with_those_that_are():
    with pytest.raises(ConfigurationError, match="no algorithm is called 'sac'; there is ppo"):
        choose_algorithm("sac", {})


def test_exploration_is_around_the_algorithm_and_checks_its_own_settings():
    created = choose_algorithm("ppo", {}, exploration={"coef": 0.2}).create(learnable())
    assert isinstance(created, WithRnd)
    with pytest.raises(ConfigurationError, match=r"rnd\.coef: must be a number, at least 0"):
        choose_algorithm("ppo", {}, exploration={"coef": -1})


def test_demonstrations_are_around_all_of_it_where_there_are_some():
    around = {"exploration": {}, "cloning": {"coef": 0.2}}
    assert isinstance(choose_algorithm("ppo", {}, **around).create(learnable()), WithRnd)
    created = choose_algorithm("ppo", {}, **around, demonstrations={None: demonstrated_signs()})
    assert isinstance(created.create(learnable()), WithCloning)
    with pytest.raises(ConfigurationError, match=r"cloning\.coef: must be a number, at least 0"):
        choose_algorithm("ppo", {}, cloning={"coef": -1}, demonstrations={})


def test_C8_streams_of_a_policy_are_its_own():
    one, again, other = learnable("scout"), learnable("scout"), learnable("keeper")
    drawn = [torch.rand(4, generator=each.generator("shuffle")) for each in (one, again, other)]
    assert torch.equal(drawn[0], drawn[1]) and not torch.equal(drawn[0], drawn[2])
    assert not torch.equal(torch.rand(4, generator=one.generator("exploration")), drawn[0])
