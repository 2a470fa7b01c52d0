"""What is known of a game's rewards so far, and while of nothing, how long a policy is held."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from attract.experience.batch import Batch, load_batch
from attract.learner.ppo.reward_history import MAX_FROZEN_STEPS, RewardHistory
from learner_world import SignsFleet

NOTHING_YET = RewardHistory(lowest=-1.0, highest=-1.0, has_terminated=False, num_steps=100)


@pytest.fixture
def batch(tmp_path: Path):
    fleet = SignsFleet(tmp_path / "store", num_slots=8, horizon=16, seed=1)
    yield load_batch(fleet.store, fleet.play(None, 0)).at_version(0)
    fleet.close()


def test_P12_a_batch_counts_its_valid_steps(batch: Batch):
    assert RewardHistory.of(batch) == RewardHistory(0.0, 1.0, has_terminated=True, num_steps=8 * 16)
    only = torch.zeros_like(batch.valid)
    only[0, 0] = True  # no episode has ended after its first step
    reward = float(batch.reward[0, 0])
    expected = RewardHistory(reward, reward, has_terminated=False, num_steps=1)
    assert RewardHistory.of(replace(batch, valid=only)) == expected


def test_P14_rewards_of_agents_come_to_nothing_at_every_step_or_are_not_zero_sum(batch: Batch):
    valid = torch.ones_like(batch.valid)
    mirrored = batch.reward.clone() * 1e3 / 3
    mirrored[:, 1::2] = -mirrored[:, ::2]
    duel = replace(batch, reward=mirrored, valid=valid)
    assert RewardHistory.of(duel, 2).is_zero_sum
    assert not RewardHistory.of(duel).is_zero_sum, "an agent alone has no opponent"
    three = torch.tensor([0.1, 0.2, -0.3]).repeat(1, 2)
    trio = replace(duel.keep_segments(torch.arange(8) < 6), reward=three.expand(16, 6))
    assert RewardHistory.of(trio, 3).is_zero_sum
    # One step of one instance that does not come to 0; one agent of each instance away from the batch.
    unfair = mirrored.clone()
    unfair[3, 2] += 1.0
    assert not RewardHistory.of(replace(duel, reward=unfair), 2).is_zero_sum
    assert not RewardHistory.of(duel.keep_segments(torch.arange(8) % 2 == 0), 2).is_zero_sum
    # An instance that is half in the batch says nothing of the others.
    assert RewardHistory.of(duel.keep_segments(torch.arange(8) != 0), 2).is_zero_sum
    # What an agent that is away would have got does not count.
    away = valid.clone()
    away[3, 2] = False
    unfair[3, 3] = 0.0
    assert RewardHistory.of(replace(duel, reward=unfair, valid=away), 2).is_zero_sum


def test_P12_histories_follow_each_other():
    later = RewardHistory(lowest=-2.0, highest=5.0, has_terminated=True, num_steps=7)
    both = RewardHistory(lowest=-2.0, highest=5.0, has_terminated=True, num_steps=107)
    assert NOTHING_YET.then(later) == both == later.then(NOTHING_YET)
    assert NOTHING_YET.then(NOTHING_YET) == replace(NOTHING_YET, num_steps=200)
    duel = replace(NOTHING_YET, is_zero_sum=True)
    assert duel.then(duel).is_zero_sum
    assert not duel.then(NOTHING_YET).is_zero_sum and not NOTHING_YET.then(duel).is_zero_sum


@pytest.mark.parametrize(
    ("known", "is_frozen"),
    [
        (NOTHING_YET, True),
        (replace(NOTHING_YET, num_steps=MAX_FROZEN_STEPS), True),
        (replace(NOTHING_YET, num_steps=MAX_FROZEN_STEPS + 1), False),
        (replace(NOTHING_YET, highest=0.0), False),
        (replace(NOTHING_YET, has_terminated=True), False),
        (RewardHistory(0.0, 0.0, has_terminated=True, num_steps=100), True),
        (RewardHistory(0.0, 1.0, has_terminated=True, num_steps=100), False),
    ],
)
def test_P12_a_policy_is_frozen_until_something_was_found_but_not_for_ever(
    known: RewardHistory, is_frozen: bool
):
    assert known.freezes_policy is is_frozen


def test_P12_it_comes_back_from_a_document():
    document = json.loads(json.dumps(NOTHING_YET.to_document()))
    assert RewardHistory.restore(document) == NOTHING_YET
    with pytest.raises(KeyError):
        RewardHistory.restore({"lowest": 0.0})
