from typing import Any

import torch

from attract.learner.algorithms.algorithm import Learnable
from attract.learner.exploration.rnd import WithRnd
from attract.learner.imitation.cloning import WithCloning
from attract.learner.ppo.algorithm import Ppo
from attract.learner.registry import ALGORITHMS, choose_algorithm
from attract.policy.network import build_distribution, build_policy
from attract.settings.run import ALGORITHM_SETTINGS, PolicySettings, RunSettings
from batches import demonstrated_signs
from learner_world import describe_signs


def learnable(policy_id: str | None = None) -> Learnable:
    game = describe_signs()
    policy = build_policy(PolicySettings(hidden_sizes=(4,)), game)
    return Learnable(policy, build_distribution(game), seed=3, policy_id=policy_id)


def run(**settings: Any) -> RunSettings:
    return RunSettings.from_mapping(settings)


def test_an_algorithm_is_chosen_by_its_name_with_its_own_settings():
    choice = choose_algorithm(run(ppo={"normalize_observations": False}))
    assert (choice.name, choice.normalize_observations) == ("ppo", False)
    assert isinstance(choice.create(learnable()), Ppo)


def test_every_algorithm_that_can_be_set_can_be_chosen():
    assert ALGORITHMS.keys() == ALGORITHM_SETTINGS.keys()


def test_exploration_is_around_the_algorithm():
    assert isinstance(choose_algorithm(run(exploration="rnd")).create(learnable()), WithRnd)
    assert isinstance(choose_algorithm(run(rnd={"coef": 0.2})).create(learnable()), Ppo)


def test_demonstrations_are_around_all_of_it_where_there_are_some():
    around = run(exploration="rnd", cloning={"coef": 0.2})
    assert isinstance(choose_algorithm(around).create(learnable()), WithRnd)
    created = choose_algorithm(around, demonstrations={None: demonstrated_signs()})
    assert isinstance(created.create(learnable()), WithCloning)


def test_C8_streams_of_a_policy_are_its_own():
    one, again, other = learnable("scout"), learnable("scout"), learnable("keeper")
    drawn = [torch.rand(4, generator=each.generator("shuffle")) for each in (one, again, other)]
    assert torch.equal(drawn[0], drawn[1]) and not torch.equal(drawn[0], drawn[2])
    assert not torch.equal(torch.rand(4, generator=one.generator("exploration")), drawn[0])
