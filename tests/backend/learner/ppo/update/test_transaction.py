import dataclasses
import math

import pytest
import torch

from attract.errors import NonFiniteUpdateError
from attract.learner.checkpoints.state_tensors import adam_tensors
from attract.learner.ppo.report import ScheduledHyperparameters
from attract.learner.ppo.update import create_optimizer, ppo_update
from attract.settings.run import PpoSettings
from random_batches import DISTRIBUTION, RATES, SETTINGS, assert_same, build, make_batch, update, weights_of


@pytest.mark.parametrize("broken", ["reward", "log_prob", "value"])
@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_P8_a_non_finite_update_is_undone(broken, bad):
    policy = build()
    optimizer = create_optimizer(policy, 1e-3)
    update(policy, make_batch(seed=1), optimizer=optimizer)
    weights = weights_of(policy)
    moments = {name: tensor.clone() for name, tensor in adam_tensors(optimizer, policy).items()}
    batch = make_batch(seed=2)
    numbers = getattr(batch, broken).clone()
    numbers[3, 2] = bad
    with pytest.raises(NonFiniteUpdateError, match=r"P8: the (loss|gradient) was not finite in epoch 0"):
        update(policy, dataclasses.replace(batch, **{broken: numbers}), optimizer=optimizer)
    assert_same(policy, weights)
    after = adam_tensors(optimizer, policy)
    assert after.keys() == moments.keys()
    for name, tensor in moments.items():
        assert torch.equal(after[name], tensor), name
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


@pytest.mark.parametrize("fault", [KeyboardInterrupt, RuntimeError, StopIteration])
def test_P8_an_exception_in_the_middle_of_an_update_leaves_no_change(fault):
    policy = build()
    optimizer = create_optimizer(policy, 1e-3)
    update(policy, make_batch(seed=1), optimizer=optimizer)
    weights, rates = weights_of(policy), [group["lr"] for group in optimizer.param_groups]
    moments = {name: tensor.clone() for name, tensor in adam_tensors(optimizer, policy).items()}
    generator = torch.Generator().manual_seed(3)
    shuffles = generator.get_state()

    def fail(epoch, minibatch):
        if (epoch, minibatch) == (1, 2):
            raise fault

    with pytest.raises(fault):
        ppo_update(
            policy,
            optimizer,
            make_batch(seed=2),
            SETTINGS,
            generator,
            distribution=DISTRIBUTION,
            rates=dataclasses.replace(RATES, learning_rate=5e-3),
            on_minibatch=fail,
        )
    assert_same(policy, weights)
    assert all(parameter.grad is None for parameter in policy.parameters())
    assert torch.equal(generator.get_state(), shuffles)
    after = adam_tensors(optimizer, policy)
    assert [group["lr"] for group in optimizer.param_groups] == rates
    assert moments and after.keys() == moments.keys()
    for name, tensor in moments.items():
        assert torch.equal(after[name], tensor), name


def test_P8_a_weight_that_breaks_in_the_last_step_is_found():
    policy = build()
    weights = weights_of(policy)
    # A step this long overflows float32 in the weights themselves, after every loss was finite.
    rates = ScheduledHyperparameters(learning_rate=math.inf, clip_range=0.2, entropy_coef=0.0)
    with pytest.raises(NonFiniteUpdateError, match="a weight was not finite"):
        update(policy, make_batch(), PpoSettings(n_epochs=1, num_minibatches=1), rates=rates)
    assert_same(policy, weights)


def test_P8_the_shuffle_is_taken_back_with_the_rest():
    policy = build()
    generator = torch.Generator().manual_seed(3)
    before = generator.get_state()
    batch = make_batch()
    batch.reward[0, 0] = float("nan")
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


def test_P8_an_advantage_that_is_not_finite_has_no_priority():
    policy = build()
    weights = weights_of(policy)
    batch = make_batch()
    batch.reward[2, 1] = float("inf")
    with pytest.raises(NonFiniteUpdateError, match="an advantage was not finite"):
        update(policy, batch, PpoSettings(prio_alpha=0.5))
    assert_same(policy, weights)
