import copy
import dataclasses

import pytest
import torch

from attract.algorithm.losses import normalise_advantages
from attract.learner.ppo.report import ScheduledHyperparameters
from attract.settings.run import PpoSettings
from batches import build as build_acting
from batches import play
from random_batches import (
    RATES,
    advantages_and_targets,
    assert_same,
    build,
    make_batch,
    recorded,
    tensors_of,
    update,
)


def test_P4_old_numbers_are_frozen_during_an_update():
    batch = make_batch()
    before = {name: tensor.clone() for name, tensor in tensors_of(batch).items()}
    policy = build()
    rates = ScheduledHyperparameters(learning_rate=0.05, clip_range=0.2, entropy_coef=0.0)
    report = update(policy, batch, PpoSettings(n_epochs=10, num_minibatches=2, target_kl=None), rates=rates)
    for name, tensor in tensors_of(batch).items():
        assert torch.equal(tensor, before[name]), name
    # Targets too: the value function is fitted to the same numbers all along, and comes nearer to them.
    _, targets = advantages_and_targets(batch)
    with torch.no_grad():
        now = policy({"obs": batch.observation["obs"].flatten(0, 1)})[1]
    start = torch.nn.functional.mse_loss(batch.value, targets)
    assert torch.nn.functional.mse_loss(now, targets.flatten()) < 0.8 * start
    # And the ratio is against the acting version: after ten epochs at this rate it has moved far.
    assert report.approx_kl > 0.01


def test_P4_recomputed_advantages_follow_the_weights_from_epoch_to_epoch():
    policy, distribution = build_acting(hidden_sizes=(16, 16))
    batch = play(policy, distribution, slots=8)
    rates = dataclasses.replace(RATES, learning_rate=0.02)
    # With gamma 0 an advantage is reward - value: under the values of epoch 2's weights, in epoch 2.
    settings = PpoSettings(n_epochs=1, num_minibatches=1, gamma=0.0, recompute_advantages=True)
    after_one, after_two, frozen = (copy.deepcopy(policy) for _ in range(3))
    update(after_one, batch, settings, rates=rates)
    report = update(after_two, batch, settings.model_copy(update={"n_epochs": 2}), rates=rates)
    plain = settings.model_copy(update={"n_epochs": 2, "recompute_advantages": False})
    plain_report = update(frozen, batch, plain, rates=rates)
    with torch.no_grad():
        logits, values = after_one({"obs": batch.observation["obs"].flatten(0, 1)})
        new_log_probs, _ = distribution.log_prob_and_entropy(logits, batch.action.flatten())
    ratio = torch.exp(new_log_probs - batch.log_prob.flatten())

    def loss(old_values):
        a = normalise_advantages(batch.reward.flatten() - old_values)
        return -torch.minimum(ratio * a, ratio.clamp(0.8, 1.2) * a).mean().item()

    # The loss of epoch 1 is 0: ratio 1, normalised advantages.
    assert report.policy_loss == pytest.approx(loss(values) / 2, abs=1e-5)
    assert plain_report.policy_loss == pytest.approx(loss(batch.value.flatten()) / 2, abs=1e-5)
    assert abs(loss(values) - loss(batch.value.flatten())) > 1e-3


def test_P7_an_update_uses_its_statistics_and_changes_none():
    policy = build()
    policy.normalisers["obs"].set_statistics(torch.full((4,), 3.0), torch.full((4,), 0.5))
    seen = recorded(policy)
    batch = make_batch()
    update(policy, batch, PpoSettings(n_epochs=2, num_minibatches=1))
    expected = ((batch.observation["obs"] - 3.0) * 0.5).sum()
    for prepared in seen:
        assert prepared.sum().item() == pytest.approx(expected.item(), rel=1e-4)
    assert (
        policy.normalisers["obs"].mean.tolist() == [3.0] * 4
        and policy.normalisers["obs"].inv_std.tolist() == [0.5] * 4
    )


def test_P7_bytes_are_trained_on_scaled_and_stay_bytes_until_their_minibatch():
    batch = make_batch(dtype="uint8")
    scaled = dataclasses.replace(batch, observation={"obs": batch.observation["obs"] / 255})
    policies = build(dtype="uint8"), build(normalize=False)
    seen = recorded(policies[0])
    for policy, data in zip(policies, (batch, scaled), strict=True):
        update(policy, data)
    assert all(prepared.dtype == torch.uint8 for prepared in seen)
    for name, tensor in policies[1].state_dict().items():
        torch.testing.assert_close(policies[0].state_dict()[name], tensor, rtol=0, atol=1e-5, msg=name)


def test_C8_the_same_seed_gives_the_same_bits_and_another_does_not():
    policies = [build() for _ in range(3)]
    for policy, seed in zip(policies, (5, 5, 6), strict=True):
        update(policy, make_batch(), seed=seed)
    assert_same(policies[0], policies[1].state_dict())
    assert not torch.equal(policies[0].trunk[0].weight, policies[2].trunk[0].weight)
