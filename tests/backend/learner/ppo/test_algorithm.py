"""PPO behind the seam: what wrappers hand it is learned from, and what it keeps comes back."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from attract.experience.batch import load_batch
from attract.learner.algorithms.algorithm import Learnable, Progress
from attract.learner.algorithms.update_batch import UpdateBatch
from attract.learner.ppo.algorithm import RETURNS, Ppo
from attract.policy.network import build_distribution, build_policy
from attract.settings.ppo import PpoSettings
from attract.settings.run import PolicySettings
from learner_world import SignsFleet, describe_signs


@pytest.fixture
def batch(tmp_path: Path):
    fleet = SignsFleet(tmp_path / "store", num_slots=8, horizon=16, seed=1)
    yield UpdateBatch.of(load_batch(fleet.store, fleet.play(None, 0)), 0)
    fleet.close()


def create(**ppo: object) -> tuple[Ppo, torch.nn.Module]:
    game = describe_signs()
    policy = build_policy(PolicySettings(hidden_sizes=(8,)), game, seed=2)
    settings = PpoSettings.model_validate({"target_kl": None, "learning_rate": 0.01, **ppo})
    return Ppo(Learnable(policy, build_distribution(game), seed=3), settings), policy


def weights_after(batch: UpdateBatch, extra_loss=None, **ppo: object) -> dict[str, torch.Tensor]:
    algorithm, policy = create(**ppo)
    algorithm.update(batch, Progress(), extra_loss and extra_loss(policy))
    return {name: tensor.clone() for name, tensor in policy.state_dict().items()}


def probability_of_zero(weights: dict[str, torch.Tensor], batch: UpdateBatch) -> float:
    _, policy = create()
    policy.load_state_dict(weights)
    with torch.no_grad():
        outputs, _ = policy({"obs": batch.observations["obs"].flatten(0, 1)})
    return float(outputs.softmax(1)[:, 0].mean())


def test_an_advantage_bonus_moves_the_policy_and_leaves_value_targets_alone(batch: UpdateBatch):
    paid = torch.where(batch.actions == 0, 5.0, -5.0)
    likelier, less_likely = (
        probability_of_zero(weights_after(replace(batch, advantage_bonus=bonus)), batch)
        for bonus in (paid, -paid)
    )
    assert likelier > 0.55 and less_likely < 0.45
    # One trunk each: what the value is fitted to is the same, up to what the common gradient norm does.
    for name in ("value_head.weight", "value_trunk.0.weight"):
        alike = weights_after(replace(batch, advantage_bonus=paid), max_grad_norm=None)[name]
        torch.testing.assert_close(alike, weights_after(batch, max_grad_norm=None)[name])


def test_a_reward_bonus_is_paid_on_top_of_scaled_rewards(batch: UpdateBatch):
    algorithm, _ = create()
    plain = algorithm.update(batch, Progress()).metrics
    algorithm, _ = create()
    paid = algorithm.update(replace(batch, reward_bonus=torch.full_like(batch.rewards, 3.0)), Progress())
    # The divisor is that of the game's own rewards; what the value is fitted to is more by the bonus.
    assert paid.metrics["train/reward_divisor"] == plain["train/reward_divisor"]
    assert paid.metrics["train/value_loss"] > 2 * plain["train/value_loss"]


def test_an_extra_loss_is_added_to_each_minibatchs_loss(batch: UpdateBatch):
    calls: list[torch.Generator] = []

    def push(policy):
        def loss(generator: torch.Generator) -> torch.Tensor:
            calls.append(generator)
            return 10.0 * policy.policy_head.bias[0]

        return loss

    pushed = weights_after(batch, push, n_epochs=2, num_minibatches=3)
    plain = weights_after(batch, n_epochs=2, num_minibatches=3)
    assert len(calls) == 6
    assert pushed["policy_head.bias"][0] < plain["policy_head.bias"][0] - 0.03


def test_P8_what_a_batch_shows_counts_from_commit_on(batch: UpdateBatch):
    algorithm, _ = create()
    algorithm.update(batch, Progress())
    assert algorithm.moments[RETURNS].count == 0
    shown = algorithm.commit()
    assert shown[RETURNS].count == int(batch.valid.sum())
    assert algorithm.commit() == {}


def test_D2_its_state_goes_into_a_checkpoint_and_comes_back_bit_for_bit(batch: UpdateBatch):
    one, policy = create()
    one.update(batch, Progress())
    one.moments = dict(one.commit())
    other, copied = create()
    copied.load_state_dict(policy.state_dict())
    other.moments = one.moments
    other.restore_optimizer({name: tensor.clone() for name, tensor in one.optimizer_tensors().items()})
    other.restore({**one.tensors(), "unknown": torch.zeros(1)}, {**one.document(), "unknown": 1})
    for algorithm in (one, other):
        algorithm.update(batch, Progress(1))
    for name, tensor in policy.state_dict().items():
        assert torch.equal(tensor, copied.state_dict()[name]), name


def test_P8_an_undo_point_brings_back_optimizer_and_random_state(batch: UpdateBatch):
    algorithm, _ = create()
    algorithm.update(batch, Progress())
    undo = algorithm.undo_point()
    before = {name: tensor.clone() for name, tensor in algorithm.optimizer_tensors().items()}
    state = algorithm.generator.get_state()
    algorithm.update(batch, Progress(1))
    undo()
    assert torch.equal(algorithm.generator.get_state(), state)
    assert all(torch.equal(tensor, before[name]) for name, tensor in algorithm.optimizer_tensors().items())
