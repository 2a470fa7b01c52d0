"""What the unseen will pay, against sums written out by hand."""

from dataclasses import replace

import pytest
import torch

from attract.algorithm.normalisation import RunningMoments
from attract.experience.batch import Batch
from attract.learner.algorithms.reward_scale import SeenReturns
from attract.learner.exploration.intrinsic_value import IntrinsicValue
from attract.learner.exploration.novelty import SeenNovelty

HORIZON, GAMMA = 3, 0.5


def batch_of(valid: torch.Tensor, terminated: torch.Tensor) -> Batch:
    slots = valid.shape[1]
    numbers = torch.zeros(HORIZON, slots)
    return Batch(
        observation={},
        action=numbers.long(),
        log_prob=numbers,
        value=numbers,
        reward=numbers,
        terminated=terminated,
        truncated=torch.zeros_like(valid),
        valid=valid,
        final_value=numbers,
        bootstrap_value=numbers[0],
        slot_id=torch.zeros(slots, dtype=torch.int64),
        first_step=torch.arange(slots) * HORIZON,
        policy_version=torch.zeros(slots, dtype=torch.int64),
        worker_id=torch.zeros(slots, dtype=torch.int64),
    )


def seen_of(bonus: torch.Tensor, valid: torch.Tensor) -> SeenNovelty:
    slots = bonus.shape[1]
    nothing = SeenReturns(RunningMoments.empty(()), torch.zeros(0, 0), {})
    features = torch.randn(HORIZON, slots, 2, generator=torch.Generator().manual_seed(1))
    return SeenNovelty(bonus, features, torch.ones(slots, 2), valid, nothing, 0.0)


def silent() -> IntrinsicValue:
    """Whose values are all 0, so that advantages are sums of rewards alone."""
    value = IntrinsicValue(2, torch.Generator().manual_seed(0), torch.device("cpu"))
    value.restore({name: tensor * 0 for name, tensor in value.tensors().items()})
    return value


def test_it_counts_across_segments_and_the_ends_of_episodes():
    valid = torch.ones(HORIZON, 2, dtype=torch.bool)
    bonus = torch.tensor([[1.0, 8.0], [2.0, 16.0], [4.0, 32.0]])
    for ended in (False, True):
        batch = batch_of(valid, torch.full_like(valid, ended))
        found = silent().estimate(seen_of(bonus, valid), batch, gamma=GAMMA, gae_lambda=1.0)
        # The second segment follows the first in the same slot: 1, 2, 4, 8, 16, 32, halved at each step.
        sums = torch.tensor([[6.0, 24.0], [10.0, 32.0], [16.0, 32.0]])
        assert torch.equal(found.advantages, sums)
        assert torch.equal(found.targets, sums[valid])


def test_nothing_is_read_across_steps_at_which_an_agent_is_away():
    valid = torch.tensor([[True], [False], [True]])
    bonus = torch.tensor([[1.0], [float("nan")], [4.0]])
    found = silent().estimate(seen_of(bonus, valid), batch_of(valid, ~valid), gamma=GAMMA, gae_lambda=1.0)
    assert found.advantages.flatten().tolist() == [1.0, 0.0, 4.0]
    assert found.targets.tolist() == [1.0, 4.0]


def test_it_learns_what_the_unseen_pays():
    value = IntrinsicValue(2, torch.Generator().manual_seed(0), torch.device("cpu"))
    valid = torch.ones(HORIZON, 400, dtype=torch.bool)
    seen = seen_of(torch.zeros(HORIZON, 400), valid)
    seen = replace(seen, bonus=seen.features[..., 0].abs())
    batch = replace(batch_of(valid, ~valid), slot_id=torch.arange(400))
    generator = torch.Generator().manual_seed(2)
    before = value.estimate(seen, batch, gamma=0.0, gae_lambda=0.0).explained_variance
    for _ in range(20):
        value.learn(value.estimate(seen, batch, gamma=0.0, gae_lambda=0.0), generator)
    assert before < 0.3
    assert value.estimate(seen, batch, gamma=0.0, gae_lambda=0.0).explained_variance == pytest.approx(
        1.0, abs=0.1
    )
