import dataclasses
import math

import pytest
import torch

from attract.learner.ppo.report import ScheduledHyperparameters
from attract.learner.ppo.update import create_optimizer
from attract.settings.run import PpoSettings
from batches import build as build_acting
from batches import play
from random_batches import (
    RATES,
    advantages_and_targets,
    assert_same,
    build,
    make_batch,
    tensors_of,
    update,
    weights_of,
)


def reference_step(policy, batch, settings, rates):
    """One full-batch PPO step in float64 with torch's own distributions, optimizer and clipping."""
    advantages, targets = advantages_and_targets(batch, settings)
    a = advantages.flatten().double()
    a = (a - a.mean()) / (a.std() + 1e-8)
    double = build().double()
    double.load_state_dict(policy.state_dict())
    optimizer = torch.optim.Adam(double.parameters(), lr=rates.learning_rate, eps=1e-5)
    logits, values = double({"obs": batch.observation["obs"].flatten(0, 1).double()})
    coin = torch.distributions.Categorical(logits=logits)
    ratio = torch.exp(coin.log_prob(batch.action.flatten()) - batch.log_prob.flatten().double())
    clipped = torch.clamp(ratio, 1 - rates.clip_range, 1 + rates.clip_range)
    policy_loss = -torch.min(ratio * a, clipped * a).mean()
    value_loss = 0.5 * ((values - targets.flatten().double()) ** 2).mean()
    entropy = coin.entropy().mean()
    (policy_loss + settings.value_coef * value_loss - rates.entropy_coef * entropy).backward()
    norm = torch.nn.utils.clip_grad_norm_(double.parameters(), settings.max_grad_norm)
    optimizer.step()
    return double, policy_loss.item(), value_loss.item(), entropy.item(), norm.item()


def test_P5_one_step_equals_ppo_written_with_torchs_own_parts():
    settings = PpoSettings(
        n_epochs=1,
        num_minibatches=1,
        gamma=0.9,
        gae_lambda=0.7,
        value_coef=0.3,
        normalize_value_loss=False,
        max_grad_norm=0.2,
        target_kl=None,
    )
    batch = make_batch(horizon=16, slots=8)
    # Log-probabilities of another version, so that some ratios are clipped.
    noise = torch.randn(16, 8, generator=torch.Generator().manual_seed(2))
    batch = dataclasses.replace(batch, log_prob=batch.log_prob + 0.3 * noise)
    policy = build()
    expected, policy_loss, value, entropy, norm = reference_step(policy, batch, settings, RATES)
    report = update(policy, batch, settings)
    assert 0.1 < report.clip_fraction < 0.9
    assert norm > 0.2
    assert report.policy_loss == pytest.approx(policy_loss, rel=1e-4)
    assert report.value_loss == pytest.approx(value, rel=1e-4)
    assert report.entropy == pytest.approx(entropy, rel=1e-4)
    assert report.loss == pytest.approx(policy_loss + 0.3 * value - 0.01 * entropy, rel=1e-4)
    assert report.grad_norm == pytest.approx(norm, rel=1e-3)
    for name, tensor in expected.state_dict().items():
        torch.testing.assert_close(policy.state_dict()[name].double(), tensor, rtol=0, atol=2e-5, msg=name)


def value_coef_of(report):
    """What the value loss was multiplied with, from the sum that was minimised."""
    return (report.loss - report.policy_loss + 0.01 * report.entropy) / report.value_loss


def test_P5_the_value_loss_is_divided_by_the_variance_of_large_targets():
    settings = PpoSettings(n_epochs=1, num_minibatches=1, value_coef=0.5)
    small = make_batch(horizon=16)
    large = dataclasses.replace(small, reward=20 * small.reward)
    _, targets = advantages_and_targets(large)
    variance = targets.var(correction=0).item()
    assert variance > 100
    assert value_coef_of(update(build(), large, settings)) == pytest.approx(0.5 / variance, rel=1e-2)
    plain = settings.model_copy(update={"normalize_value_loss": False})
    assert value_coef_of(update(build(), large, plain)) == pytest.approx(0.5, rel=1e-4)
    # Targets that vary less than 1 keep their loss as it is.
    zeros = torch.zeros(16, 6)
    flat = dataclasses.replace(
        small, reward=0.01 * small.reward, value=zeros, final_value=zeros, bootstrap_value=zeros[0]
    )
    assert value_coef_of(update(build(), flat, settings)) == pytest.approx(0.5, rel=1e-3)


def test_P1_advantages_are_normalised_per_minibatch():
    # Rewards scaled by 1000, values held at 0: the policy's gradient must not see the scale.
    zeros = torch.zeros(8, 6)
    batch = dataclasses.replace(make_batch(), value=zeros, final_value=zeros, bootstrap_value=zeros[0])
    scaled = dataclasses.replace(batch, reward=1000 * batch.reward)
    settings = PpoSettings(n_epochs=1, num_minibatches=3, value_coef=0.0)
    losses = [update(build(), data, settings).policy_loss for data in (batch, scaled)]
    assert losses[0] == pytest.approx(losses[1], abs=1e-5)
    raw = PpoSettings(n_epochs=1, num_minibatches=3, value_coef=0.0, normalize_advantage=False)
    losses = [update(build(), data, raw).policy_loss for data in (batch, scaled)]
    assert losses[1] == pytest.approx(1000 * losses[0], rel=0.5) and abs(losses[1]) > 10


def test_P5_the_first_minibatch_of_an_on_policy_batch_has_ratio_one():
    report = update(build(), make_batch(), PpoSettings(n_epochs=1, num_minibatches=1))
    assert report.approx_kl == pytest.approx(0, abs=1e-6) and report.clip_fraction == 0
    # Normalised advantages have mean 0, the ratio is 1: so the surrogate is 0.
    assert report.policy_loss == pytest.approx(0, abs=1e-6)


def test_P5_the_kl_stop_ends_before_the_step_that_went_too_far():
    # All log-probabilities off by 0.1: approx_kl = e^-0.1 - 1 + 0.1 = 0.004837 on the very first minibatch.
    batch = make_batch()
    batch = dataclasses.replace(batch, log_prob=batch.log_prob + 0.1)
    policy = build()
    weights = weights_of(policy)
    report = update(policy, batch, PpoSettings(n_epochs=3, num_minibatches=2, target_kl=0.0032))
    assert report.stopped_by_kl and report.num_minibatches == 0 and report.num_epochs == 1
    assert report.approx_kl == pytest.approx(math.exp(-0.1) - 1 + 0.1, rel=1e-3)
    assert_same(policy, weights)
    # 1.5 times 0.0033 is 0.00495, not exceeded: one step at least is taken.
    report = update(policy, batch, PpoSettings(n_epochs=1, num_minibatches=1, target_kl=0.0033))
    assert not report.stopped_by_kl and report.num_minibatches == 1


def test_P5_the_kl_stop_leaves_out_what_the_batch_lags_already():
    # As above, but an earlier version played: the distance of 0.004837 is not this update's doing.
    batch = make_batch()
    batch = dataclasses.replace(
        batch, log_prob=batch.log_prob + 0.1, policy_lag=torch.ones_like(batch.policy_version)
    )
    report = update(build(), batch, PpoSettings(n_epochs=1, num_minibatches=2, target_kl=0.0032))
    assert not report.stopped_by_kl and report.num_minibatches == 2
    # What it does itself counts as ever.
    far = PpoSettings(n_epochs=9, num_minibatches=2, target_kl=0.0032)
    fast = dataclasses.replace(RATES, learning_rate=0.05)
    report = update(build(), batch, far, rates=fast)
    assert report.stopped_by_kl and 1 <= report.num_minibatches < 18


def test_P1_a_least_deviation_keeps_quiet_advantages_quiet():
    settings = PpoSettings(n_epochs=1, num_minibatches=1, value_coef=0.0, entropy_coef=0.0)
    loud, quiet = (
        update(build(), make_batch(), settings, min_deviation=least).grad_norm for least in (0.0, 1e3)
    )
    assert 0 < quiet < 0.01 * loud


def test_P5_value_clipping_reaches_the_loss():
    batch = make_batch()
    settings = PpoSettings(n_epochs=4, num_minibatches=1)
    plain = update(build(), batch, settings).value_loss
    clipped = update(build(), batch, settings.model_copy(update={"clip_range_vf": 1e-6})).value_loss
    assert clipped != plain


def test_P5_explained_variance_is_that_of_the_acting_versions_values():
    batch = make_batch()
    _, targets = advantages_and_targets(batch)
    expected = 1 - ((targets - batch.value).var(correction=0) / targets.var(correction=0)).item()
    assert update(build(), batch).explained_variance == pytest.approx(expected, rel=1e-4)


def test_P9_the_ratio_of_ppo_is_against_the_version_that_acted():
    policy, distribution = build_acting()
    batch = play(policy, distribution, slots=8)
    with torch.no_grad():
        policy.policy_head.weight.mul_(-0.5)
        new_log_probs = distribution.log_prob_and_entropy(
            policy({key: array.flatten(0, 1) for key, array in batch.observation.items()})[0],
            batch.action.flatten(),
        )[0]
    ratio = torch.exp(new_log_probs - batch.log_prob.flatten())
    lagging = dataclasses.replace(batch, policy_lag=torch.ones(16, dtype=torch.int64))
    settings = PpoSettings(n_epochs=1, num_minibatches=1, lag_correction="vtrace", rho_max=1.2)
    report = update(policy, lagging, settings)
    expected = (ratio - 1 - ratio.log()).mean().item()
    assert report.approx_kl == pytest.approx(expected, rel=1e-3) and expected > 0.01
    assert report.details["train/vtrace_rho_mean"] == pytest.approx(ratio.mean().item(), rel=1e-4)
    assert report.details["train/vtrace_rho_max"] == pytest.approx(ratio.max().item(), rel=1e-4)
    share = (ratio > 1.2).float().mean().item()
    assert report.details["train/vtrace_clipped_fraction"] == pytest.approx(share, abs=0.02)
    # Without lag there is nothing to correct, and nothing is said of it.
    assert update(policy, batch, settings).details == {}


def test_P10_the_optimizer_steps_with_the_scheduled_rate():
    policy = build()
    optimizer = create_optimizer(policy, 123.0)
    weights = weights_of(policy)
    rates = ScheduledHyperparameters(learning_rate=1e-4, clip_range=0.2, entropy_coef=0.0)
    update(policy, make_batch(), PpoSettings(n_epochs=1, num_minibatches=1), rates=rates, optimizer=optimizer)
    moved = max((policy.state_dict()[name] - weights[name]).abs().max().item() for name in weights)
    # Adam's first step moves every weight by nearly the learning rate.
    assert 0.5e-4 < moved < 1.01e-4


def test_P13_the_log_deviation_learns_at_four_times_the_rate_of_the_weights():
    policy, distribution = build_acting(action={"kind": "box", "shape": [2], "low": -1.0, "high": 1.0})
    weights = weights_of(policy)
    rates = ScheduledHyperparameters(learning_rate=1e-4, clip_range=0.2, entropy_coef=0.0)
    settings = PpoSettings(n_epochs=1, num_minibatches=1)
    update(policy, play(policy, distribution), settings, rates=rates, distribution=distribution)
    moved = {name: (policy.state_dict()[name] - weights[name]).abs().max().item() for name in weights}
    # Adam's first step moves every number by nearly its rate.
    assert moved.pop("action_log_std") == pytest.approx(4e-4, rel=0.02)
    assert max(moved.values()) == pytest.approx(1e-4, rel=0.02)


@pytest.mark.parametrize(("initial", "largest"), [(0.5, 1.0), (0.0, 1.0), (1.5, 1.5)])
def test_P13_an_entropy_bonus_alone_widens_no_action_for_ever(initial, largest):
    policy, distribution = build_acting(
        action={"kind": "box", "shape": [2], "low": -1.0, "high": 1.0}, log_std_init=initial
    )
    rates = ScheduledHyperparameters(learning_rate=0.1, clip_range=0.2, entropy_coef=10.0)
    settings = PpoSettings(n_epochs=8, num_minibatches=1, target_kl=None)
    update(policy, play(policy, distribution), settings, rates=rates, distribution=distribution)
    assert policy.action_log_std.tolist() == [largest, largest]


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_P5_cuda_updates_like_the_cpu():
    policies = [build(), build().to("cuda")]
    batch = make_batch(invalid=0.1)
    on_device = dataclasses.replace(
        batch,
        observation={"obs": batch.observation["obs"].cuda()},
        **{name: tensor.cuda() for name, tensor in tensors_of(batch).items() if name != "obs"},
    )
    update(policies[0], batch)
    update(policies[1], on_device)
    for name, tensor in policies[0].state_dict().items():
        torch.testing.assert_close(policies[1].state_dict()[name].cpu(), tensor, rtol=0, atol=1e-4, msg=name)
