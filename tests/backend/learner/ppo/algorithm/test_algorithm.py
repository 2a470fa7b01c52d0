"""PPO behind the seam: what wrappers hand it is learned from, and what it keeps comes back."""

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from attract.errors import NonFiniteUpdateError
from attract.experience.batch import Batch, load_batch
from attract.learner.algorithms.algorithm import Learnable, Progress, undone_on_failure
from attract.learner.ppo import algorithm as ppo_algorithm
from attract.learner.ppo.algorithm import RETURNS, Ppo
from attract.learner.ppo.reward_history import MAX_FROZEN_STEPS, RewardHistory
from attract.policy.network import build_distribution, build_policy
from attract.schema.spaces import BoxSpace
from attract.settings.base import LearnerName
from attract.settings.ppo import PpoSettings
from attract.settings.run import PolicySettings
from learner_world import SignsFleet, describe_signs


@pytest.fixture
def batch(tmp_path: Path):
    fleet = SignsFleet(tmp_path / "store", num_slots=8, horizon=16, seed=1)
    yield load_batch(fleet.store, fleet.play(None, 0)).at_version(0)
    fleet.close()


def create(num_agents: int = 1, learner: LearnerName = "auto", **ppo: object) -> tuple[Ppo, torch.nn.Module]:
    game = describe_signs()
    policy = build_policy(PolicySettings(hidden_sizes=(8,)), game, seed=2)
    settings = PpoSettings.model_validate({"target_kl": None, "learning_rate": 0.01, **ppo})
    learnable = Learnable(policy, build_distribution(game), seed=3, num_agents=num_agents)
    return Ppo(learnable, settings, learner), policy


def weights_after(batch: Batch, extra_loss=None, **ppo: object) -> dict[str, torch.Tensor]:
    algorithm, policy = create(**ppo)
    algorithm.update(batch, Progress(), extra_loss and extra_loss(policy))
    return {name: tensor.clone() for name, tensor in policy.state_dict().items()}


def probability_of_zero(weights: dict[str, torch.Tensor], batch: Batch) -> float:
    _, policy = create()
    policy.load_state_dict(weights)
    with torch.no_grad():
        outputs, _ = policy({"obs": batch.observation["obs"].flatten(0, 1)})
    return float(outputs.softmax(1)[:, 0].mean())


def test_P14_what_one_agent_wins_and_another_loses_has_a_lambda_of_its_own(batch: Batch):
    mirrored = batch.reward.clone()
    mirrored[:, 1::2] = -mirrored[:, ::2]
    duel = replace(batch, reward=mirrored, valid=torch.ones_like(batch.valid))
    same = torch.equal
    by_itself, with_set, alone = (
        weights_after(duel, **how) for how in ({"num_agents": 2}, {"gae_lambda": 0.99}, {})
    )
    assert all(same(by_itself[name], with_set[name]) for name in with_set)
    assert not all(same(by_itself[name], alone[name]) for name in with_set)
    # Once rewards did not come to 0 the game is none of these, whatever follows.
    once, never = create(num_agents=2)[0], create(num_agents=2)[0]
    for algorithm, first in ((once, batch), (never, duel)):
        algorithm.update(first, Progress())
        algorithm.commit()
        algorithm.update(duel, Progress())
        algorithm.commit()
    assert [algorithm.state().document["rewards"]["is_zero_sum"] for algorithm in (once, never)] == [
        False,
        True,
    ]


def test_P14_a_quiet_batch_counts_in_full_where_one_agent_wins_what_another_loses(batch: Batch):
    mirrored = batch.reward.clone()
    mirrored[:, 1::2] = -mirrored[:, ::2]
    loud = replace(batch, reward=mirrored, valid=torch.ones_like(batch.valid))
    values = {name: 1e-3 * getattr(loud, name) for name in ("value", "final_value", "bootstrap_value")}
    quiet = replace(loud, reward=1e-3 * mirrored, **values)

    def moved_by_quiet(**how: object) -> dict[str, torch.Tensor]:
        algorithm, policy = create(normalize_rewards=False, gae_lambda=0.99, **how)
        for batch in (loud, quiet):
            algorithm.update(batch, Progress())
            algorithm.commit()
        return {name: tensor.clone() for name, tensor in policy.state_dict().items()}

    between_equals = moved_by_quiet(num_agents=2)
    without_floor = moved_by_quiet(num_agents=2, advantage_scale_decay=None)
    alone = moved_by_quiet()
    assert all(torch.equal(between_equals[name], without_floor[name]) for name in without_floor)
    assert not torch.equal(between_equals["policy_head.weight"], alone["policy_head.weight"])


def test_an_advantage_bonus_moves_the_policy_and_leaves_value_targets_alone(batch: Batch):
    paid = torch.where(batch.action == 0, 5.0, -5.0)
    likelier, less_likely = (
        probability_of_zero(weights_after(replace(batch, advantage_bonus=bonus)), batch)
        for bonus in (paid, -paid)
    )
    assert likelier > 0.55 and less_likely < 0.45
    # One trunk each: what the value is fitted to is the same, up to what the common gradient norm does.
    for name in ("value_head.weight", "value_trunk.0.weight"):
        alike = weights_after(replace(batch, advantage_bonus=paid), max_grad_norm=None)[name]
        torch.testing.assert_close(alike, weights_after(batch, max_grad_norm=None)[name])


def test_a_reward_bonus_is_paid_on_top_of_scaled_rewards(batch: Batch):
    algorithm, _ = create()
    plain = algorithm.update(batch, Progress()).metrics
    algorithm, _ = create()
    paid = algorithm.update(replace(batch, reward_bonus=torch.full_like(batch.reward, 3.0)), Progress())
    # The divisor is that of the game's own rewards; what the value is fitted to is more by the bonus.
    assert paid.metrics["train/reward_divisor"] == plain["train/reward_divisor"]
    assert paid.metrics["train/value_loss"] > 2 * plain["train/value_loss"]


def test_an_extra_loss_is_added_to_each_minibatchs_loss(batch: Batch):
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


def test_P8_what_a_batch_shows_counts_from_commit_on(batch: Batch):
    algorithm, _ = create()
    algorithm.update(batch, Progress())
    assert algorithm.moments[RETURNS].count == 0
    shown = algorithm.commit()
    assert shown[RETURNS].count == int(batch.valid.sum())
    assert algorithm.commit() == {}


def test_D2_its_state_goes_into_a_checkpoint_and_comes_back_bit_for_bit(batch: Batch):
    one, policy = create()
    one.update(batch, Progress())
    one.moments = dict(one.commit())
    # So that what advantages are divided by is what was kept.
    quiet = replace(batch, reward=batch.reward / 100, value=batch.value / 100)
    other, copied = create()
    copied.load_state_dict(policy.state_dict())
    other.moments = one.moments
    state = copy.deepcopy(one.state())
    others = replace(
        state,
        tensors={**state.tensors, "unknown": torch.zeros(1)},
        document={**state.document, "unknown": 1},
    )
    other.load_state(others)
    for algorithm in (one, other):
        algorithm.update(quiet, Progress(1))
    for name, tensor in policy.state_dict().items():
        assert torch.equal(tensor, copied.state_dict()[name]), name


def test_P8_a_snapshot_brings_back_optimizer_and_random_state(batch: Batch):
    algorithm, _ = create()
    algorithm.update(batch, Progress())
    undo = algorithm.snapshot()
    before = {name: tensor.clone() for name, tensor in algorithm.state().optimizer.items()}
    state = algorithm.generator.get_state()
    algorithm.update(batch, Progress(1))
    undo()
    assert torch.equal(algorithm.generator.get_state(), state)
    assert all(torch.equal(tensor, before[name]) for name, tensor in algorithm.state().optimizer.items())


def test_P8_of_what_was_undone_nothing_is_committed(batch: Batch):
    algorithm, _ = create()
    undo = algorithm.snapshot()
    algorithm.update(batch, Progress())
    undo()
    assert algorithm.commit() == {}
    assert algorithm.state().document == create()[0].state().document


def test_P1_advantages_of_a_quiet_batch_count_for_as_little_as_they_are_smaller(batch: Batch):
    """A batch whose rewards are a thousandth of those before moves the policy by about that much less."""

    def norm_of_the_second(**ppo: object) -> float:
        settings = {"normalize_rewards": False, "value_coef": 0.0, "entropy_coef": 0.0, **ppo}
        # As if the value foresaw nothing at all, in both batches alike.
        zero = {
            name: torch.zeros_like(getattr(batch, name))
            for name in ("value", "final_value", "bootstrap_value")
        }
        loud = replace(batch, **zero)
        algorithm, _ = create(**settings, n_epochs=1)
        algorithm.update(loud, Progress())
        algorithm.commit()
        report = algorithm.update(replace(loud, reward=loud.reward / 1000), Progress(1))
        return report.metrics["train/grad_norm"]

    by_its_own = norm_of_the_second(advantage_scale_decay=None)
    assert 0 < norm_of_the_second() < 0.01 * by_its_own


def always_paid(batch: Batch) -> Batch:
    """So that steps differ in what is still to come."""
    return replace(batch, reward=torch.ones_like(batch.reward))


def unfound(batch: Batch) -> Batch:
    """All rewards are the same, and no episode has ended but at its limit."""
    return replace(always_paid(batch), terminated=torch.zeros_like(batch.terminated))


def moved(batch: Batch, algorithm: Ppo, policy: torch.nn.Module) -> set[str]:
    """Which of actions and value an update changes."""
    before = {name: tensor.clone() for name, tensor in policy.state_dict().items()}
    algorithm.update(batch, Progress())
    changed = {name for name, tensor in policy.state_dict().items() if not torch.equal(tensor, before[name])}
    return {head for head in ("policy_head", "value_head") if f"{head}.weight" in changed}


@pytest.fixture
def no_entropy(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ppo_algorithm, "UNREWARDED_ENTROPY_COEF", 0.0)
    return {"entropy_coef": 0.0}


BOTH = {"policy_head", "value_head"}


def test_P12_while_nothing_was_found_only_the_critic_and_entropy_learn(
    batch: Batch, no_entropy: dict[str, float]
):
    assert moved(unfound(batch), *create(**no_entropy)) == {"value_head"}
    for found in (batch, always_paid(batch)):  # a reward; an end
        assert moved(found, *create(**no_entropy)) == BOTH


def test_P12_of_a_policy_that_is_frozen_entropy_alone_moves_the_choices(batch: Batch):
    held = unfound(batch)
    # Other values make other advantages.
    other = replace(held, value=torch.randn(held.value.shape, generator=torch.Generator().manual_seed(4)))
    first, second = (weights_after(batch, max_grad_norm=None) for batch in (held, other))
    assert torch.equal(first["policy_head.weight"], second["policy_head.weight"])
    assert not torch.equal(first["value_head.weight"], second["value_head.weight"])


@pytest.mark.parametrize("bonus", ["reward_bonus", "advantage_bonus"])
def test_P12_a_policy_is_not_held_where_the_unseen_is_paid_for(
    batch: Batch, no_entropy: dict[str, float], bonus: str
):
    paid = replace(unfound(batch), **{bonus: torch.zeros_like(batch.reward)})
    assert moved(paid, *create(**no_entropy)) == BOTH


def test_P12_what_was_found_is_not_forgotten_and_a_policy_not_held_for_ever(
    batch: Batch, no_entropy: dict[str, float]
):
    algorithm, policy = create(**no_entropy)
    algorithm.update(batch, Progress())
    algorithm.commit()
    assert moved(unfound(batch), algorithm, policy) == BOTH
    waiting, policy = create(**no_entropy)
    known = RewardHistory(1.0, 1.0, has_terminated=False, num_steps=MAX_FROZEN_STEPS)
    state = waiting.state()
    waiting.load_state(replace(state, document={**state.document, "rewards": known.to_document()}))
    assert moved(unfound(batch), waiting, policy) == BOTH


def test_P8_P12_an_update_that_is_dropped_has_found_nothing(batch: Batch):
    algorithm, _ = create()
    rewards = batch.reward.clone().index_fill(0, torch.tensor([3]), float("inf"))
    with pytest.raises(NonFiniteUpdateError), undone_on_failure(algorithm):
        algorithm.update(replace(batch, reward=rewards), Progress())
    algorithm.update(unfound(batch), Progress())
    algorithm.commit()
    assert algorithm.state().document["rewards"] == RewardHistory.of(unfound(batch)).to_document()


def test_P12_the_spread_of_numbers_does_not_grow_while_nothing_was_found(batch: Batch):
    game = describe_signs().model_copy(update={"action": BoxSpace(shape=[1], low=0.0, high=1.0)})
    policy = build_policy(PolicySettings(hidden_sizes=(8,)), game, seed=2)
    algorithm = Ppo(
        Learnable(policy, build_distribution(game), seed=3), PpoSettings(target_kl=None, entropy_coef=0.01)
    )
    numbers = replace(unfound(batch), action=batch.action.float().unsqueeze(-1))
    before = {name: tensor.clone() for name, tensor in policy.state_dict().items()}
    algorithm.update(numbers, Progress())
    changed = {name for name, tensor in policy.state_dict().items() if not torch.equal(tensor, before[name])}
    assert "value_head.weight" in changed and not any("log_std" in name for name in changed)
    assert any("log_std" in name for name in before)


def has_room_for(policy: Any, most: int) -> list[int]:
    """As on a device with room for so many steps at once; returns how many they were where it had none."""
    failed: list[int] = []

    def look(_module: torch.nn.Module, given: tuple[Any, ...]) -> None:
        if (size := len(given[0])) > most:
            failed.append(size)
            raise torch.OutOfMemoryError("CUDA out of memory")

    policy.policy_head.register_forward_pre_hook(look)
    return failed


@pytest.mark.parametrize("cut", [{"minibatch_steps": 64}, {"num_minibatches": 2}])
def test_P8_where_the_device_is_out_of_memory_minibatches_are_halved_once_and_for_good(
    batch: Batch, cut: dict[str, int]
) -> None:
    algorithm, policy = create(learner="autograd", **cut)
    small, small_policy = create(learner="autograd", minibatch_steps=32)
    failed = has_room_for(policy, 63)
    for _ in range(2):
        report = algorithm.update(batch, Progress())
        assert report.metrics == small.update(batch, Progress()).metrics
        algorithm.commit()
        small.commit()
    assert failed == [64]
    weights = small_policy.state_dict()
    assert all(torch.equal(tensor, weights[name]) for name, tensor in policy.state_dict().items())


def test_P8_a_device_without_room_for_half_a_minibatch_leaves_the_policy_as_it_was(batch: Batch) -> None:
    algorithm, policy = create(learner="autograd", minibatch_steps=64)
    before = {name: tensor.clone() for name, tensor in policy.state_dict().items()}
    failed = has_room_for(policy, 31)
    with pytest.raises(torch.OutOfMemoryError), undone_on_failure(algorithm):
        algorithm.update(batch, Progress())
    assert failed == [64, 32]
    assert all(torch.equal(tensor, before[name]) for name, tensor in policy.state_dict().items())
