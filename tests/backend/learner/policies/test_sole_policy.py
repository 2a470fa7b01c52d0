"""One policy's updates over rows that a policy played: what rewards become, what a dropped one leaves."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from attract.errors import NonFiniteUpdateError
from attract.experience.batch import Batch, load_batch
from attract.learner.algorithms.algorithm import Progress
from attract.learner.ppo.algorithm import UNREWARDED_ENTROPY_COEF
from attract.learner.registry import choose_algorithm
from attract.settings.run import RunSettings
from learner_world import SignsFleet, SolePolicy

PPO = {"learning_rate": 1e-3, "clip_range": 0.2, "entropy_coef": 0.0, "target_kl": None}


@pytest.fixture
def batch(tmp_path: Path):
    fleet = SignsFleet(tmp_path / "store", num_slots=8, horizon=16, seed=1)
    yield load_batch(fleet.store, fleet.play(None, 0))
    fleet.close()


def trainer_for(**ppo: object) -> SolePolicy:
    return SolePolicy(choose_algorithm(RunSettings.from_mapping({"ppo": PPO | ppo})))


def weights(trainer: SolePolicy) -> dict[str, torch.Tensor]:
    return {name: tensor.clone() for name, tensor in trainer.state.policy.state_dict().items()}


def with_rewards(batch: Batch, factor: float) -> Batch:
    return replace(batch, reward=batch.reward * factor)


def test_P11_rewards_times_a_power_of_two_train_the_same_weights_bit_for_bit(batch: Batch):
    trained = []
    for factor in (1.0, 2.0**10, 2.0**-10):
        trainer = trainer_for()
        for version in range(3):
            trainer.update(with_rewards(batch, factor), Progress(version))
            trainer.gather(batch)
        trained.append(weights(trainer))
    for other in trained[1:]:
        assert all(torch.equal(tensor, other[name]) for name, tensor in trained[0].items())


def test_P11_without_normalize_rewards_they_stay_raw(batch: Batch):
    raw, scaled = trainer_for(normalize_rewards=False), trainer_for()
    assert "train/reward_divisor" not in raw.update(batch, Progress(0)).metrics
    assert raw.state.statistics.keys() == {"obs"}
    divisor = scaled.update(batch, Progress(0)).metrics["train/reward_divisor"]
    assert 1.0 < divisor < 100.0  # rewards of 0 and 1, discounted over episodes of 5 to 9 steps
    assert not torch.equal(weights(raw)["value_head.weight"], weights(scaled)["value_head.weight"])


def test_P8_P11_an_update_that_is_dropped_leaves_the_divisor_as_it_was(batch: Batch):
    trainer = trainer_for()
    broken = replace(batch, reward=batch.reward.clone().index_fill(0, torch.tensor([3]), float("inf")))
    with pytest.raises(NonFiniteUpdateError):
        trainer.update(broken, Progress(0))
    expected = trainer_for().update(batch, Progress(0)).metrics
    assert trainer.update(batch, Progress(0)).metrics == expected


@pytest.mark.parametrize(("rewards", "expected"), [(0.0, UNREWARDED_ENTROPY_COEF), (1.0, None)])
def test_choices_stay_open_while_every_step_is_paid_the_same(
    batch: Batch, rewards: float, expected: float | None
):
    trainer = trainer_for()
    report = trainer.update(with_rewards(batch, rewards), Progress(0))
    assert report.metrics.get("train/entropy_coef") == expected
    trainer.gather(batch)
    # What was once paid differently stays known.
    again = trainer.update(with_rewards(batch, 0.0), Progress(1))
    assert again.metrics.get("train/entropy_coef") == expected


def test_a_larger_entropy_coefficient_stays(batch: Batch):
    report = trainer_for(entropy_coef=0.05).update(with_rewards(batch, 0.0), Progress(0))
    assert report.shared_metrics["train/entropy_coef"] == 0.05
    assert "train/entropy_coef" not in report.metrics
