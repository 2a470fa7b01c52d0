import copy
import dataclasses
import math

import pytest
import torch

from attract.algorithm.distributions import Categorical
from attract.algorithm.losses import normalise_advantages
from attract.errors import NonFiniteUpdateError
from attract.learner.checkpoint import weights_sha256
from attract.learner.estimates import Estimator
from attract.learner.report import UpdateRates
from attract.learner.update import create_optimizer, ppo_update
from attract.learner.update_batch import UpdateBatch
from attract.presets import PRESETS
from attract.schema.spaces import BoxSpace, DictSpace, DiscreteSpace
from attract.settings import PpoSettings
from played_batches import build as build_acting
from played_batches import play
from policies import create_policy

DISTRIBUTION = Categorical(3)
RATES = UpdateRates(learning_rate=1e-3, clip_range=0.2, entropy_coef=0.01)
SETTINGS = PpoSettings(n_epochs=3, num_minibatches=4)


def build(*, normalize=True, dtype="float32"):
    return create_policy(BoxSpace(shape=[4], dtype=dtype), hidden_sizes=(16, 16), normalize=normalize)


def make_batch(*, horizon=8, slots=6, invalid=0.0, seed=0, dtype="float32"):
    """Random play: flags, values and log-probabilities as a fresh policy would have them."""
    generator = torch.Generator().manual_seed(seed)
    shape = (horizon, slots)

    def random(*extra):
        return torch.randn(*shape, *extra, generator=generator)

    observations = random(4)
    if dtype == "uint8":
        observations = torch.randint(0, 256, (*shape, 4), generator=generator, dtype=torch.uint8)
    actions = torch.randint(0, 3, shape, generator=generator)
    with torch.no_grad():
        logits, values = build(dtype=dtype)({"obs": observations.flatten(0, 1)})
        log_probs = DISTRIBUTION.log_prob_and_entropy(logits, actions.flatten())[0]
    return UpdateBatch(
        observations={"obs": observations},
        actions=actions,
        log_probs=log_probs.view(shape),
        values=values.view(shape),
        rewards=random(),
        terminated=torch.rand(shape, generator=generator) < 0.1,
        truncated=torch.rand(shape, generator=generator) < 0.1,
        valid=torch.rand(shape, generator=generator) >= invalid,
        final_values=random(),
        bootstrap_value=torch.randn(slots, generator=generator),
        slot_id=torch.arange(slots),
        first_step=torch.zeros(slots, dtype=torch.int64),
    )


def advantages_and_targets(batch, settings=SETTINGS):
    estimates = Estimator(build(), DISTRIBUTION, batch, settings).estimate()
    return estimates.advantages, estimates.value_targets


def update(
    policy,
    batch,
    settings=SETTINGS,
    *,
    rates=RATES,
    seed=0,
    optimizer=None,
    on_minibatch=None,
    distribution=DISTRIBUTION,
):
    optimizer = optimizer or create_optimizer(policy, rates.learning_rate)
    generator = torch.Generator().manual_seed(seed)
    return ppo_update(
        policy,
        optimizer,
        batch,
        settings,
        generator,
        distribution=distribution,
        rates=rates,
        on_minibatch=on_minibatch,
    )


def tensors_of(batch):
    fields = {field.name: getattr(batch, field.name) for field in dataclasses.fields(batch)}
    return batch.observations | {name: value for name, value in fields.items() if torch.is_tensor(value)}


def weights_of(policy):
    return {name: tensor.clone() for name, tensor in policy.state_dict().items()}


def assert_same(policy, weights):
    for name, tensor in policy.state_dict().items():
        assert torch.equal(tensor, weights[name]), name


def recorded(policy):
    """The prepared observations of every minibatch, as the network sees them."""
    seen = []
    original = policy.forward_prepared
    policy.forward_prepared = lambda prepared: (seen.append(prepared["obs"].clone()), original(prepared))[1]
    return seen


def numbered(*, horizon, slots, invalid=None):
    """A batch whose observation at step t of slot s is 1000 s + t, in its first component."""
    batch = make_batch(horizon=horizon, slots=slots)
    steps = 1000.0 * torch.arange(slots) + torch.arange(horizon).unsqueeze(1)
    observations = torch.stack((steps, *[torch.zeros(horizon, slots)] * 3), -1)
    valid = torch.ones((horizon, slots), dtype=torch.bool)
    for t, s in invalid or []:
        valid[t, s] = False
    return dataclasses.replace(batch, observations={"obs": observations}, valid=valid)


def test_P2_each_epoch_is_a_partition_of_all_steps():
    policy = build(normalize=False)
    seen = recorded(policy)
    update(policy, numbered(horizon=5, slots=7), PpoSettings(n_epochs=3, num_minibatches=4))
    everything = sorted(1000.0 * s + t for s in range(7) for t in range(5))
    orders = []
    for epoch in range(3):
        parts = [part[:, 0].tolist() for part in seen[4 * epoch : 4 * epoch + 4]]
        # 35 steps in four parts: 9, 9, 9, 8.
        assert [len(part) for part in parts] == [9, 9, 9, 8]
        orders.append([step for part in parts for step in part])
        assert sorted(orders[-1]) == everything
    assert len(seen) == 12
    assert orders[0] != orders[1] and orders[0] != everything


def test_S5_invalid_steps_are_not_trained_on():
    policy = build(normalize=False)
    seen = recorded(policy)
    gone = [(0, 0), (3, 2), (4, 2)]
    report = update(
        policy, numbered(horizon=5, slots=3, invalid=gone), PpoSettings(n_epochs=1, num_minibatches=1)
    )
    expected = {1000.0 * s + t for s in range(3) for t in range(5) if (t, s) not in gone}
    assert set(seen[0][:, 0].tolist()) == expected and len(seen[0]) == 12
    assert report.num_steps == 12


@pytest.mark.parametrize("unit", ["step", "segment"])
def test_S5_what_invalid_steps_hold_changes_nothing(unit):
    settings = PpoSettings(n_epochs=2, num_minibatches=2, minibatch_unit=unit)
    # Every invalid stretch follows a flag (E9).
    batch = make_batch(invalid=0.2)
    before_invalid = torch.zeros_like(batch.valid)
    before_invalid[:-1] = ~batch.valid[1:]
    batch = dataclasses.replace(batch, terminated=batch.terminated | before_invalid)
    poisoned = dataclasses.replace(
        batch,
        **{
            name: torch.where(batch.valid, getattr(batch, name), torch.nan)
            for name in ("rewards", "values", "log_probs", "final_values")
        },
        observations={"obs": torch.where(batch.valid.unsqueeze(-1), batch.observations["obs"], torch.nan)},
    )
    policies = [build(), build()]
    reports = [
        update(policy, data, settings) for policy, data in zip(policies, (batch, poisoned), strict=True)
    ]
    assert reports[0] == reports[1]
    assert_same(policies[0], policies[1].state_dict())


def test_S5_segments_stay_together_when_they_are_the_unit():
    policy = build(normalize=False)
    seen = recorded(policy)
    settings = PpoSettings(n_epochs=2, num_minibatches=3, minibatch_unit="segment")
    update(policy, numbered(horizon=5, slots=7, invalid=[(1, 4)]), settings)
    for epoch in range(2):
        parts = [part[:, 0].tolist() for part in seen[3 * epoch : 3 * epoch + 3]]
        slots = [{int(step) // 1000 for step in part} for part in parts]
        assert [len(part) for part in slots] == [3, 2, 2]
        assert set.union(*slots) == set(range(7)) and sum(map(len, slots)) == 7
        for part, members in zip(parts, slots, strict=True):
            assert sorted(part) == sorted(
                1000.0 * s + t for s in members for t in range(5) if (t, s) != (1, 4)
            )


def test_S5_the_number_of_minibatches_follows_from_minibatch_steps():
    # 40 steps, at most 16 each: three parts of 14, 13, 13.
    policy = build(normalize=False)
    seen = recorded(policy)
    update(policy, numbered(horizon=8, slots=5), PpoSettings(n_epochs=1, minibatch_steps=16))
    assert [len(part) for part in seen] == [14, 13, 13]


def reference_step(policy, batch, settings, rates):
    """One full-batch PPO step in float64 with torch's own distributions, optimizer and clipping."""
    advantages, targets = advantages_and_targets(batch, settings)
    a = advantages.flatten().double()
    a = (a - a.mean()) / (a.std() + 1e-8)
    double = build().double()
    double.load_state_dict(policy.state_dict())
    optimizer = torch.optim.Adam(double.parameters(), lr=rates.learning_rate, eps=1e-5)
    logits, values = double({"obs": batch.observations["obs"].flatten(0, 1).double()})
    coin = torch.distributions.Categorical(logits=logits)
    ratio = torch.exp(coin.log_prob(batch.actions.flatten()) - batch.log_probs.flatten().double())
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
    )
    batch = make_batch(horizon=16, slots=8)
    # Log-probabilities of another version, so that some ratios are clipped.
    noise = torch.randn(16, 8, generator=torch.Generator().manual_seed(2))
    batch = dataclasses.replace(batch, log_probs=batch.log_probs + 0.3 * noise)
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
    large = dataclasses.replace(small, rewards=20 * small.rewards)
    _, targets = advantages_and_targets(large)
    variance = targets.var(correction=0).item()
    assert variance > 100
    assert value_coef_of(update(build(), large, settings)) == pytest.approx(0.5 / variance, rel=1e-2)
    plain = settings.model_copy(update={"normalize_value_loss": False})
    assert value_coef_of(update(build(), large, plain)) == pytest.approx(0.5, rel=1e-4)
    # Targets that vary less than 1 keep their loss as it is.
    zeros = torch.zeros(16, 6)
    flat = dataclasses.replace(
        small, rewards=0.01 * small.rewards, values=zeros, final_values=zeros, bootstrap_value=zeros[0]
    )
    assert value_coef_of(update(build(), flat, settings)) == pytest.approx(0.5, rel=1e-3)


def test_P1_advantages_are_normalised_per_minibatch():
    # Rewards scaled by 1000, values held at 0: the policy's gradient must not see the scale.
    zeros = torch.zeros(8, 6)
    batch = dataclasses.replace(make_batch(), values=zeros, final_values=zeros, bootstrap_value=zeros[0])
    scaled = dataclasses.replace(batch, rewards=1000 * batch.rewards)
    settings = PpoSettings(n_epochs=1, num_minibatches=3, value_coef=0.0)
    losses = [update(build(), data, settings).policy_loss for data in (batch, scaled)]
    assert losses[0] == pytest.approx(losses[1], abs=1e-5)
    raw = PpoSettings(n_epochs=1, num_minibatches=3, value_coef=0.0, normalize_advantage=False)
    losses = [update(build(), data, raw).policy_loss for data in (batch, scaled)]
    assert losses[1] == pytest.approx(1000 * losses[0], rel=0.5) and abs(losses[1]) > 10


def test_P4_old_numbers_are_frozen_during_an_update():
    batch = make_batch()
    before = {name: tensor.clone() for name, tensor in tensors_of(batch).items()}
    policy = build()
    rates = UpdateRates(learning_rate=0.05, clip_range=0.2, entropy_coef=0.0)
    report = update(policy, batch, PpoSettings(n_epochs=10, num_minibatches=2), rates=rates)
    for name, tensor in tensors_of(batch).items():
        assert torch.equal(tensor, before[name]), name
    # Targets too: the value function is fitted to the same numbers all along, and comes nearer to them.
    _, targets = advantages_and_targets(batch)
    with torch.no_grad():
        now = policy({"obs": batch.observations["obs"].flatten(0, 1)})[1]
    start = torch.nn.functional.mse_loss(batch.values, targets)
    assert torch.nn.functional.mse_loss(now, targets.flatten()) < 0.8 * start
    # And the ratio is against the acting version: after ten epochs at this rate it has moved far.
    assert report.approx_kl > 0.01


def test_P5_the_first_minibatch_of_an_on_policy_batch_has_ratio_one():
    report = update(build(), make_batch(), PpoSettings(n_epochs=1, num_minibatches=1))
    assert report.approx_kl == pytest.approx(0, abs=1e-6) and report.clip_fraction == 0
    # Normalised advantages have mean 0, the ratio is 1: so the surrogate is 0.
    assert report.policy_loss == pytest.approx(0, abs=1e-6)


def test_P5_the_kl_stop_ends_before_the_step_that_went_too_far():
    # All log-probabilities off by 0.1: approx_kl = e^-0.1 - 1 + 0.1 = 0.004837 on the very first minibatch.
    batch = make_batch()
    batch = dataclasses.replace(batch, log_probs=batch.log_probs + 0.1)
    policy = build()
    weights = weights_of(policy)
    report = update(policy, batch, PpoSettings(n_epochs=3, num_minibatches=2, target_kl=0.0032))
    assert report.stopped_by_kl and report.num_minibatches == 0 and report.num_epochs == 1
    assert report.approx_kl == pytest.approx(math.exp(-0.1) - 1 + 0.1, rel=1e-3)
    assert_same(policy, weights)
    # 1.5 times 0.0033 is 0.00495, not exceeded: one step at least is taken.
    report = update(policy, batch, PpoSettings(n_epochs=1, num_minibatches=1, target_kl=0.0033))
    assert not report.stopped_by_kl and report.num_minibatches == 1


def test_P5_value_clipping_reaches_the_loss():
    batch = make_batch()
    settings = PpoSettings(n_epochs=4, num_minibatches=1)
    plain = update(build(), batch, settings).value_loss
    clipped = update(build(), batch, settings.model_copy(update={"clip_range_vf": 1e-6})).value_loss
    assert clipped != plain


def test_P5_explained_variance_is_that_of_the_acting_versions_values():
    batch = make_batch()
    _, targets = advantages_and_targets(batch)
    expected = 1 - ((targets - batch.values).var(correction=0) / targets.var(correction=0)).item()
    assert update(build(), batch).explained_variance == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("broken", ["rewards", "log_probs", "values"])
@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_P8_a_non_finite_update_is_undone(broken, bad):
    policy = build()
    optimizer = create_optimizer(policy, 1e-3)
    update(policy, make_batch(seed=1), optimizer=optimizer)
    weights, state = weights_of(policy), optimizer.state_dict()["state"]
    moments = {(i, key): tensor.clone() for i, entry in state.items() for key, tensor in entry.items()}
    batch = make_batch(seed=2)
    numbers = getattr(batch, broken).clone()
    numbers[3, 2] = bad
    with pytest.raises(NonFiniteUpdateError, match=r"P8: the (loss|gradient) was not finite in epoch 0"):
        update(policy, dataclasses.replace(batch, **{broken: numbers}), optimizer=optimizer)
    assert_same(policy, weights)
    after = optimizer.state_dict()["state"]
    assert {(i, key) for i, entry in after.items() for key in entry} == moments.keys()
    for (i, key), tensor in moments.items():
        assert torch.equal(after[i][key], tensor), key
    # And it goes on as if the bad batch had never been.
    twin = build()
    twin_optimizer = create_optimizer(twin, 1e-3)
    for seed in (1, 3):
        update(twin, make_batch(seed=seed), optimizer=twin_optimizer)
    update(policy, make_batch(seed=3), optimizer=optimizer)
    assert_same(policy, weights_of(twin))


def test_P8_a_broken_weight_in_the_middle_of_an_update_is_undone():
    policy = build()
    weights = weights_of(policy)

    def poison(epoch, minibatch):
        if (epoch, minibatch) == (1, 2):
            with torch.no_grad():
                policy.policy_head.weight[0, 0] = float("nan")

    with pytest.raises(NonFiniteUpdateError) as caught:
        update(policy, make_batch(), on_minibatch=poison)
    assert (caught.value.epoch, caught.value.minibatch) == (1, 2)
    assert_same(policy, weights)
    assert all(parameter.grad is None for parameter in policy.parameters())


def test_P8_a_weight_that_breaks_in_the_last_step_is_found():
    policy = build()
    weights = weights_of(policy)
    # A step this long overflows float32 in the weights themselves, after every loss was finite.
    rates = UpdateRates(learning_rate=math.inf, clip_range=0.2, entropy_coef=0.0)
    with pytest.raises(NonFiniteUpdateError, match="a weight was not finite"):
        update(policy, make_batch(), PpoSettings(n_epochs=1, num_minibatches=1), rates=rates)
    assert_same(policy, weights)


def test_P8_the_shuffle_is_taken_back_with_the_rest():
    policy = build()
    generator = torch.Generator().manual_seed(3)
    before = generator.get_state()
    batch = make_batch()
    batch.rewards[0, 0] = float("nan")
    with pytest.raises(NonFiniteUpdateError):
        ppo_update(
            policy,
            create_optimizer(policy, 1e-3),
            batch,
            SETTINGS,
            generator,
            distribution=DISTRIBUTION,
            rates=RATES,
        )
    assert torch.equal(generator.get_state(), before)


def test_P7_an_update_uses_its_statistics_and_changes_none():
    policy = build()
    policy.normalisers["obs"].set_statistics(torch.full((4,), 3.0), torch.full((4,), 0.5))
    seen = recorded(policy)
    batch = make_batch()
    update(policy, batch, PpoSettings(n_epochs=2, num_minibatches=1))
    expected = ((batch.observations["obs"] - 3.0) * 0.5).sum()
    for prepared in seen:
        assert prepared.sum().item() == pytest.approx(expected.item(), rel=1e-4)
    assert (
        policy.normalisers["obs"].mean.tolist() == [3.0] * 4
        and policy.normalisers["obs"].inv_std.tolist() == [0.5] * 4
    )


def test_P7_bytes_are_trained_on_scaled_and_stay_bytes_until_their_minibatch():
    batch = make_batch(dtype="uint8")
    scaled = dataclasses.replace(batch, observations={"obs": batch.observations["obs"] / 255})
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


def test_P10_the_optimizer_steps_with_the_scheduled_rate():
    policy = build()
    optimizer = create_optimizer(policy, 123.0)
    weights = weights_of(policy)
    rates = UpdateRates(learning_rate=1e-4, clip_range=0.2, entropy_coef=0.0)
    update(policy, make_batch(), PpoSettings(n_epochs=1, num_minibatches=1), rates=rates, optimizer=optimizer)
    moved = max((policy.state_dict()[name] - weights[name]).abs().max().item() for name in weights)
    # Adam's first step moves every weight by nearly the learning rate.
    assert 0.5e-4 < moved < 1.01e-4


def test_a_batch_without_a_valid_step_is_the_callers_bug():
    batch = make_batch()
    with pytest.raises(ValueError, match="at least one valid step"):
        update(build(), dataclasses.replace(batch, valid=torch.zeros_like(batch.valid)))


def hash_after(settings, *, invalid=0.2, rates=RATES):
    policy = build()
    update(policy, make_batch(invalid=invalid), settings, rates=rates)
    return weights_sha256(policy.state_dict())


def test_P3_with_alpha_0_an_update_is_that_of_P2_bit_for_bit():
    settings = PpoSettings(n_epochs=2, num_minibatches=3, minibatch_unit="segment")
    without = settings.model_copy(update={"prio_alpha": 0.0, "prio_beta": 0.9})
    assert hash_after(without, rates=dataclasses.replace(RATES, prio_beta=0.3)) == hash_after(settings)
    assert hash_after(settings.model_copy(update={"prio_alpha": 1e-9})) != hash_after(settings)


def test_P3_weights_multiply_the_policy_loss_after_P1_and_nothing_else():
    settings = PpoSettings(n_epochs=1, num_minibatches=1, prio_alpha=1.0, normalize_value_loss=False)
    batch, rates = make_batch(slots=3), dataclasses.replace(RATES, prio_beta=0.7)
    report = update(build(), batch, settings, rates=rates)
    # The draws again, from a generator in the same state, by the rule's own formulas.
    advantages, targets = advantages_and_targets(batch, settings)
    priorities = advantages.abs().sum(0).double() + 1e-6
    p = priorities / priorities.sum()
    uniforms = torch.rand(3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    drawn = [int((p.cumsum(0) <= u).sum()) for u in uniforms.tolist()]
    weights = (3 * p) ** -0.7
    weights = (weights / weights.max()).float()
    assert weights[drawn].min() < 0.99
    a = normalise_advantages(advantages[:, drawn].flatten()).view(8, 3)
    # The ratio is 1: the policy loss is minus the mean of weight times normalised advantage.
    assert report.policy_loss == pytest.approx(-(weights[drawn] * a).mean().item(), abs=1e-6)
    errors = batch.values[:, drawn] - targets[:, drawn]
    assert report.value_loss == pytest.approx(0.5 * errors.square().mean().item(), rel=1e-4)
    assert report.details["train/prio_beta"] == 0.7
    # Kish: (sum p)^2 / sum p^2.
    effective = 1 / p.square().sum().item()
    assert report.details["train/prio_effective_segments"] == pytest.approx(effective, rel=1e-6)


def test_P8_an_advantage_that_is_not_finite_has_no_priority():
    policy = build()
    weights = weights_of(policy)
    batch = make_batch()
    batch.rewards[2, 1] = float("inf")
    with pytest.raises(NonFiniteUpdateError, match="an advantage was not finite"):
        update(policy, batch, PpoSettings(prio_alpha=0.5))
    assert_same(policy, weights)


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
        logits, values = after_one({"obs": batch.observations["obs"].flatten(0, 1)})
        new_log_probs, _ = distribution.log_prob_and_entropy(logits, batch.actions.flatten())
    ratio = torch.exp(new_log_probs - batch.log_probs.flatten())

    def loss(old_values):
        a = normalise_advantages(batch.rewards.flatten() - old_values)
        return -torch.minimum(ratio * a, ratio.clamp(0.8, 1.2) * a).mean().item()

    # The loss of epoch 1 is 0: ratio 1, normalised advantages.
    assert report.policy_loss == pytest.approx(loss(values) / 2, abs=1e-5)
    assert plain_report.policy_loss == pytest.approx(loss(batch.values.flatten()) / 2, abs=1e-5)
    assert abs(loss(values) - loss(batch.values.flatten())) > 1e-3


def test_P9_the_ratio_of_ppo_is_against_the_version_that_acted():
    policy, distribution = build_acting()
    batch = play(policy, distribution, slots=8)
    with torch.no_grad():
        policy.policy_head.weight.mul_(-0.5)
        new_log_probs = distribution.log_prob_and_entropy(
            policy({key: array.flatten(0, 1) for key, array in batch.observations.items()})[0],
            batch.actions.flatten(),
        )[0]
    ratio = torch.exp(new_log_probs - batch.log_probs.flatten())
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


PLAYED = {
    "several entries, bits": {
        "observation": DictSpace(
            spaces={
                "hand": DiscreteSpace(n=4),
                "map": BoxSpace(shape=[12, 12, 2], dtype="uint8"),
                "place": BoxSpace(shape=[2]),
            }
        ),
        "action": {"kind": "multi_binary", "n": 3},
    },
    "continuous": {"action": {"kind": "box", "shape": [2], "dtype": "float32", "low": -1.0, "high": 1.0}},
    "masked": {"masks": 3},
    "masked components, gru": {
        "action": {"kind": "multi_discrete", "nvec": [2, 4]},
        "masks": 6,
        "recurrent": "gru",
    },
}


@pytest.mark.parametrize("kind", PLAYED)
@pytest.mark.parametrize("unit", ["step", "segment"])
def test_P5_S5_on_policy_every_kind_of_policy_has_ratio_one_and_learns(kind, unit):
    network = dict(PLAYED[kind])
    masks = network.pop("masks", 0)
    policy, distribution = build_acting(**network)
    unit = "segment" if policy.state_size else unit
    batch = play(policy, distribution, masks=masks, invalid=0.5)
    settings = PpoSettings(n_epochs=1, num_minibatches=1, minibatch_unit=unit)
    weights = weights_of(policy)
    report = update(policy, batch, settings, distribution=distribution)
    # The distribution of the update is that of the play, mask and all: ratio 1, so the surrogate is 0.
    assert report.approx_kl == pytest.approx(0, abs=1e-6) and report.clip_fraction == 0
    assert report.policy_loss == pytest.approx(0, abs=1e-5)
    assert report.num_steps == int(batch.valid.sum()) < batch.valid.numel()
    assert all(not torch.equal(tensor, weights[name]) for name, tensor in policy.named_parameters())


@pytest.fixture
def one_thread():
    """As the learner runs on small machines: with more, other tests' processes stall its barriers."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("recurrent", ["none", "lstm"])
def test_S5_a_batch_of_8160_segments_of_64_steps_trains_on_the_preset_for_it(recurrent):
    policy = create_policy(hidden_sizes=(8,), recurrent=recurrent, recurrent_size=8)
    batch = make_batch(horizon=64, slots=8160, invalid=0.02)
    state = torch.zeros(8160, policy.state_size) if policy.state_size else None
    settings = PpoSettings.from_mapping(PRESETS["segments-64"]["ppo"])
    weights = weights_of(policy)
    report = update(policy, dataclasses.replace(batch, state=state), settings)
    assert report.num_steps == int(batch.valid.sum()) > 500_000
    assert report.num_minibatches == 32 and report.num_epochs == 1
    assert not torch.equal(policy.state_dict()["trunk.0.weight"], weights["trunk.0.weight"])


class UnrolledReference(torch.nn.Module):
    """The recurrent policy out of torch's own LSTM or GRU, unrolled step by step with a loop of its own."""

    def __init__(self, policy, recurrent):
        super().__init__()
        core = policy.core
        kind = torch.nn.LSTM if recurrent == "lstm" else torch.nn.GRU
        self.cells = kind(core.inputs.in_features, core.size)
        self.heads = torch.nn.ModuleList([policy.trunk, policy.policy_head, policy.value_head])
        with torch.no_grad():
            self.cells.weight_ih_l0.copy_(core.inputs.weight)
            self.cells.weight_hh_l0.copy_(core.hidden.weight)
            self.cells.bias_ih_l0.copy_(core.inputs.bias)
            self.cells.bias_hh_l0.copy_(0 if core.hidden.bias is None else core.hidden.bias)

    def forward(self, observations, state, reset_after):
        """Outputs and values along one segment: [T, n], [T]."""
        parts = state.view(-1, 1, 1, self.cells.hidden_size)
        hidden = (parts[0], parts[1]) if len(parts) == 2 else parts[0]
        trunk, policy_head, value_head = self.heads
        outputs, values = [], []
        for observation, reset in zip(observations, reset_after, strict=True):
            output, hidden = self.cells(observation.view(1, 1, -1), hidden)
            features = trunk(output.view(1, -1))
            outputs.append(policy_head(features)[0])
            values.append(value_head(features)[0, 0])
            if reset:
                hidden = (0 * hidden[0], 0 * hidden[1]) if len(parts) == 2 else 0 * hidden
        return torch.stack(outputs), torch.stack(values)


@pytest.mark.parametrize("recurrent", ["lstm", "gru"])
def test_S3_S4_one_step_equals_ppo_written_with_torchs_own_recurrent_network(recurrent):
    policy, distribution = build_acting(recurrent=recurrent)
    batch = play(policy, distribution, slots=4, runs=3, invalid=0.5, ends=0.1)
    assert (batch.state != 0).any(1).sum() >= 3 and bool(batch.truncated[:-1].any())
    noise = torch.randn(batch.log_probs.shape, generator=torch.Generator().manual_seed(2))
    batch = dataclasses.replace(batch, log_probs=batch.log_probs + 0.3 * noise)
    settings = PpoSettings(n_epochs=1, num_minibatches=1, normalize_value_loss=False, max_grad_norm=None)
    reference = UnrolledReference(policy, recurrent)
    estimates = Estimator(policy, distribution, batch, settings).estimate()

    # One number per valid step, segment by segment: order does not matter to a mean.
    terms = {name: [] for name in ("ratio", "advantage", "error", "entropy")}
    for column in range(batch.valid.shape[1]):
        valid = batch.valid[:, column]
        ends = (batch.terminated | batch.truncated)[:, column] | ~valid
        observations = torch.where(valid.unsqueeze(1), batch.observations["obs"][:, column], 7.0)
        logits, values = reference(observations, batch.state[column], ends.tolist())
        coin = torch.distributions.Categorical(logits=logits[valid])
        new_log_probs = coin.log_prob(batch.actions[:, column][valid])
        terms["ratio"].append(torch.exp(new_log_probs - batch.log_probs[:, column][valid]))
        terms["advantage"].append(estimates.advantages[:, column][valid])
        terms["error"].append(values[valid] - estimates.value_targets[:, column][valid])
        terms["entropy"].append(coin.entropy())
    ratio, a, error, entropy = (torch.cat(terms[name]) for name in terms)
    a = (a - a.mean()) / (a.std() + 1e-8)
    policy_loss = -torch.min(ratio * a, ratio.clamp(0.8, 1.2) * a).mean()
    value_loss = 0.5 * error.square().mean()
    (policy_loss + 0.5 * value_loss - 0.01 * entropy.mean()).backward()

    frozen = dataclasses.replace(RATES, learning_rate=0.0)
    report = update(policy, batch, settings, rates=frozen)
    assert report.num_steps == int(batch.valid.sum()) < batch.valid.numel()
    assert report.policy_loss == pytest.approx(policy_loss.item(), rel=1e-4, abs=1e-6)
    assert report.value_loss == pytest.approx(value_loss.item(), rel=1e-4)
    assert report.entropy == pytest.approx(entropy.mean().item(), rel=1e-4)
    cells = reference.cells
    pairs = [
        (policy.core.inputs.weight, cells.weight_ih_l0),
        (policy.core.inputs.bias, cells.bias_ih_l0),
        (policy.core.hidden.weight, cells.weight_hh_l0),
    ]
    for mine, theirs in pairs:
        assert theirs.grad is not None and theirs.grad.abs().max() > 1e-4
        torch.testing.assert_close(mine.grad, theirs.grad, rtol=1e-3, atol=1e-6)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_P5_cuda_updates_like_the_cpu():
    policies = [build(), build().to("cuda")]
    batch = make_batch(invalid=0.1)
    on_device = dataclasses.replace(
        batch,
        observations={"obs": batch.observations["obs"].cuda()},
        **{name: tensor.cuda() for name, tensor in tensors_of(batch).items() if name != "obs"},
    )
    update(policies[0], batch)
    update(policies[1], on_device)
    for name, tensor in policies[0].state_dict().items():
        torch.testing.assert_close(policies[1].state_dict()[name].cpu(), tensor, rtol=0, atol=1e-4, msg=name)
