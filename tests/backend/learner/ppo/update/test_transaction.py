import dataclasses
import math
from collections.abc import Iterator

import pytest
import torch

from attract.errors import NonFiniteUpdateError
from attract.learner.algorithms.algorithm import Learnable, undone_on_failure
from attract.learner.checkpoints.state_tensors import adam_tensors
from attract.learner.ppo.algorithm import Ppo
from attract.learner.ppo.report import ScheduledHyperparameters
from attract.learner.ppo.update import ppo_update
from attract.settings.run import PpoSettings
from random_batches import DISTRIBUTION, RATES, SETTINGS, assert_same, build, make_batch, weights_of


def create() -> Ppo:
    return Ppo(Learnable(build(), DISTRIBUTION, seed=3), SETTINGS)


def update(ppo: Ppo, batch, settings=SETTINGS, *, rates=RATES, on_minibatch=None) -> None:
    """One update of what `ppo` changes."""
    ppo_update(
        ppo._policy,
        ppo.optimizer,
        batch,
        settings,
        ppo.generator,
        distribution=DISTRIBUTION,
        rates=rates,
        on_minibatch=on_minibatch,
    )


@pytest.fixture
def ppo() -> Iterator[Ppo]:
    """After one update, and after the test as it was then, its gradients removed."""
    ppo = create()
    update(ppo, make_batch(seed=1))
    weights, shuffles = weights_of(ppo._policy), ppo.generator.get_state()
    rates = [group["lr"] for group in ppo.optimizer.param_groups]
    moments = {name: tensor.clone() for name, tensor in adam_tensors(ppo.optimizer, ppo._policy).items()}
    yield ppo
    assert_same(ppo._policy, weights)
    assert all(parameter.grad is None for parameter in ppo._policy.parameters())
    assert torch.equal(ppo.generator.get_state(), shuffles)
    assert [group["lr"] for group in ppo.optimizer.param_groups] == rates
    after = adam_tensors(ppo.optimizer, ppo._policy)
    assert moments and after.keys() == moments.keys()
    for name, tensor in moments.items():
        assert torch.equal(after[name], tensor), name


@pytest.mark.parametrize("broken", ["reward", "log_prob", "value"])
@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_P8_a_non_finite_update_is_undone(ppo: Ppo, broken: str, bad: float):
    batch = make_batch(seed=2)
    numbers = getattr(batch, broken).clone()
    numbers[3, 2] = bad
    with (
        pytest.raises(NonFiniteUpdateError, match=r"P8: the (loss|gradient) was not finite in epoch 0"),
        undone_on_failure(ppo),
    ):
        update(ppo, dataclasses.replace(batch, **{broken: numbers}))


def test_P8_it_goes_on_as_if_the_update_that_was_undone_had_never_been():
    spoilt = make_batch(seed=2)
    spoilt.reward[0, 0] = float("nan")
    ppo, twin = create(), create()
    with pytest.raises(NonFiniteUpdateError), undone_on_failure(ppo):
        update(ppo, spoilt)
    for each in (ppo, twin):
        update(each, make_batch(seed=3))
    assert_same(ppo._policy, weights_of(twin._policy))


def test_P8_a_broken_weight_in_the_middle_of_an_update_is_undone(ppo: Ppo):
    def poison(epoch, minibatch):
        if (epoch, minibatch) == (1, 2):
            with torch.no_grad():
                ppo._policy.policy_head.weight[0, 0] = float("nan")

    with pytest.raises(NonFiniteUpdateError) as caught, undone_on_failure(ppo):
        update(ppo, make_batch(), on_minibatch=poison)
    assert (caught.value.epoch, caught.value.minibatch) == (1, 2)


@pytest.mark.parametrize("fault", [KeyboardInterrupt, RuntimeError, StopIteration])
def test_P8_an_exception_in_the_middle_of_an_update_leaves_no_change(ppo: Ppo, fault: type[BaseException]):
    def fail(epoch, minibatch):
        if (epoch, minibatch) == (1, 2):
            raise fault

    with pytest.raises(fault), undone_on_failure(ppo):
        update(
            ppo, make_batch(seed=2), rates=dataclasses.replace(RATES, learning_rate=5e-3), on_minibatch=fail
        )


def test_P8_a_weight_that_breaks_in_the_last_step_is_found(ppo: Ppo):
    # A step this long overflows float32 in the weights themselves, after every loss was finite.
    rates = ScheduledHyperparameters(learning_rate=math.inf, clip_range=0.2, entropy_coef=0.0)
    with pytest.raises(NonFiniteUpdateError, match="a weight was not finite"), undone_on_failure(ppo):
        update(ppo, make_batch(), PpoSettings(n_epochs=1, num_minibatches=1), rates=rates)


def test_P8_an_advantage_that_is_not_finite_has_no_priority(ppo: Ppo):
    batch = make_batch()
    batch.reward[2, 1] = float("inf")
    with pytest.raises(NonFiniteUpdateError, match="an advantage was not finite"), undone_on_failure(ppo):
        update(ppo, batch, PpoSettings(prio_alpha=0.5))
