"""One policy's updates over rows that a policy played: what rewards become, what a dropped one leaves."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from attract.errors import NonFiniteUpdateError
from attract.experience.batch import Batch, load_batch
from attract.learner.policies import policy_updater
from attract.learner.policies.policy_state import RETURNS, PolicyState
from attract.learner.policies.policy_updater import UNREWARDED_ENTROPY_COEF, PolicyUpdater
from attract.learner.ppo.report import ScheduledHyperparameters
from attract.learner.ppo.reward_history import MOST_HELD_STEPS, RewardHistory
from attract.policy.network import build_distribution
from attract.schema.spaces import BoxSpace
from attract.settings.run import PolicySettings, PpoSettings
from learner_world import SignsFleet, describe_signs

RATES = ScheduledHyperparameters(learning_rate=1e-3, clip_range=0.2, entropy_coef=0.0)


@pytest.fixture
def batch(tmp_path: Path):
    fleet = SignsFleet(tmp_path / "store", num_slots=8, horizon=16, seed=1)
    yield load_batch(fleet.store, fleet.play(None, 0))
    fleet.close()


def trainer_for(**ppo: object) -> PolicyUpdater:
    settings = PpoSettings(target_kl=None, **ppo)
    game = describe_signs()
    state = PolicyState.create(game, PolicySettings(hidden_sizes=(8,)), settings, 3, torch.device("cpu"))
    return PolicyUpdater(state, build_distribution(game), settings, 2)


def weights(trainer: PolicyUpdater) -> dict[str, torch.Tensor]:
    return {name: tensor.clone() for name, tensor in trainer.state.policy.state_dict().items()}


def with_rewards(batch: Batch, factor: float) -> Batch:
    return replace(batch, reward=batch.reward * factor)


def test_P11_rewards_times_a_power_of_two_train_the_same_weights_bit_for_bit(batch: Batch):
    trained = []
    for factor in (1.0, 2.0**10, 2.0**-10):
        trainer = trainer_for()
        for version in range(3):
            trainer.update(with_rewards(batch, factor), version, RATES)
            trainer.gather(batch)
        trained.append(weights(trainer))
    for other in trained[1:]:
        assert all(torch.equal(tensor, other[name]) for name, tensor in trained[0].items())


def test_P11_without_normalize_rewards_they_stay_raw(batch: Batch):
    raw, scaled = trainer_for(normalize_rewards=False), trainer_for()
    assert "train/reward_divisor" not in raw.update(batch, 0, RATES).details
    assert RETURNS not in raw.state.statistics
    divisor = scaled.update(batch, 0, RATES).details["train/reward_divisor"]
    assert 1.0 < divisor < 100.0  # rewards of 0 and 1, discounted over episodes of 5 to 9 steps
    assert not torch.equal(weights(raw)["value_head.weight"], weights(scaled)["value_head.weight"])


def test_P8_P11_an_update_that_is_dropped_leaves_the_divisor_as_it_was(batch: Batch):
    trainer = trainer_for()
    broken = replace(batch, reward=batch.reward.clone().index_fill(0, torch.tensor([3]), float("inf")))
    with pytest.raises(NonFiniteUpdateError):
        trainer.update(broken, 0, RATES)
    expected = trainer_for().update(batch, 0, RATES).details
    assert trainer.update(batch, 0, RATES).details == expected


@pytest.mark.parametrize(("rewards", "expected"), [(0.0, UNREWARDED_ENTROPY_COEF), (1.0, 0.0)])
def test_choices_stay_open_while_every_step_is_paid_the_same(batch: Batch, rewards: float, expected: float):
    trainer = trainer_for()
    report = trainer.update(with_rewards(batch, rewards), 0, RATES)
    assert report.details["train/entropy_coef"] == expected
    trainer.gather(batch)
    # What was once paid differently stays known.
    again = trainer.update(with_rewards(batch, 0.0), 1, RATES)
    assert again.details["train/entropy_coef"] == expected


def test_a_larger_entropy_coefficient_stays(batch: Batch):
    report = trainer_for().update(with_rewards(batch, 0.0), 0, replace(RATES, entropy_coef=0.05))
    assert report.details["train/entropy_coef"] == 0.05


def unfound(batch: Batch) -> Batch:
    """All rewards are the same, and no episode has ended but at its limit."""
    return replace(always_paid(batch), terminated=torch.zeros_like(batch.terminated))


def always_paid(batch: Batch) -> Batch:
    """So that steps differ in what is still to come."""
    return replace(batch, reward=torch.ones_like(batch.reward))


def moved(trainer: PolicyUpdater, batch: Batch) -> set[str]:
    """Which of actions and value an update changes."""
    before = weights(trainer)
    trainer.update(batch, 0, RATES)
    changed = {name for name, tensor in weights(trainer).items() if not torch.equal(tensor, before[name])}
    return {head for head in ("policy_head", "value_head") if f"{head}.weight" in changed}


def test_P12_while_nothing_was_found_only_the_critic_and_entropy_learn(
    batch: Batch, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(policy_updater, "UNREWARDED_ENTROPY_COEF", 0.0)
    assert moved(trainer_for(), unfound(batch)) == {"value_head"}
    for found in (batch, always_paid(batch)):  # a reward; an end
        assert moved(trainer_for(), found) == {"policy_head", "value_head"}


def test_P12_the_spread_of_numbers_does_not_grow_while_nothing_was_found(batch: Batch):
    game = describe_signs().model_copy(update={"action": BoxSpace(shape=[1], low=0.0, high=1.0)})
    settings = PpoSettings(target_kl=None)
    state = PolicyState.create(game, PolicySettings(hidden_sizes=(8,)), settings, 3, torch.device("cpu"))
    trainer = PolicyUpdater(state, build_distribution(game), settings, 2)
    numbers = replace(unfound(batch), action=batch.action.float().unsqueeze(-1))
    before = weights(trainer)
    trainer.update(numbers, 0, replace(RATES, entropy_coef=0.01))
    changed = {name for name, tensor in weights(trainer).items() if not torch.equal(tensor, before[name])}
    assert "value_head.weight" in changed and not any("log_std" in name for name in changed)
    assert any("log_std" in name for name in before)


def test_P12_a_policy_is_not_held_where_the_unseen_is_paid_for(batch: Batch, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(policy_updater, "UNREWARDED_ENTROPY_COEF", 0.0)
    assert moved(trainer_for(exploration="rnd"), unfound(batch)) == {"policy_head", "value_head"}


def test_P12_what_was_found_is_not_forgotten_and_a_policy_not_held_for_ever(
    batch: Batch, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(policy_updater, "UNREWARDED_ENTROPY_COEF", 0.0)
    trainer = trainer_for()
    trainer.update(batch, 0, RATES)
    trainer.gather(batch)
    assert moved(trainer, unfound(batch)) == {"policy_head", "value_head"}
    waiting = trainer_for()
    waiting.state.rewards = RewardHistory(1.0, 1.0, has_terminated=False, num_steps=MOST_HELD_STEPS)
    assert moved(waiting, unfound(batch)) == {"policy_head", "value_head"}


def test_P8_P12_an_update_that_is_dropped_has_found_nothing(batch: Batch):
    trainer = trainer_for()
    broken = replace(batch, reward=batch.reward.clone().index_fill(0, torch.tensor([3]), float("inf")))
    with pytest.raises(NonFiniteUpdateError):
        trainer.update(broken, 0, RATES)
    trainer.update(unfound(batch), 0, RATES)
    trainer.gather(unfound(batch))
    assert trainer.state.rewards == RewardHistory.of(unfound(batch))


def test_rnd_pays_for_the_unseen_and_less_the_next_time(batch: Batch):
    trainer = trainer_for(exploration="rnd")
    bonuses = []
    for version in range(20):
        bonuses.append(trainer.update(batch, version, RATES).details["train/exploration_bonus"])
        trainer.gather(batch)
    assert bonuses[0] > 0 and bonuses[-1] < 0.5 * bonuses[0]
    assert "train/exploration_bonus" not in trainer_for().update(batch, 0, RATES).details
