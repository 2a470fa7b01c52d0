"""Gradient steps of PPO, and the rows that they share."""

import dataclasses

import pytest
import torch

from attract.learner.ppo.estimates import Estimates, Estimator
from attract.learner.ppo.gradient_steps import AutogradSteps
from attract.learner.ppo.minibatches import Minibatches, shuffled_partition
from attract.learner.ppo.report import ScheduledHyperparameters
from attract.learner.ppo.update import create_optimizer
from attract.settings.run import PpoSettings
from batches import build, play

RATES = ScheduledHyperparameters(learning_rate=1e-3, clip_range=0.2, entropy_coef=0.1, prio_beta=0.4)


def steps_of(settings: PpoSettings) -> AutogradSteps:
    policy, distribution = build()
    batch = play(policy, distribution)
    inputs = Minibatches(policy, batch, settings, 0.0).inputs
    optimizer = create_optimizer(policy, 1e-3)
    generator = torch.Generator().manual_seed(1)
    return AutogradSteps(policy, optimizer, inputs, distribution, settings, RATES, None, generator)


def test_a_step_without_losses_is_refused() -> None:
    with steps_of(PpoSettings()) as steps, pytest.raises(RuntimeError, match="expected losses before"):
        steps.step()


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def any_steps(minibatches, batch):
    return minibatches.steps(estimates_of(torch.zeros_like(batch.value)))


def estimates_of(advantages):
    return Estimates(advantages, torch.zeros_like(advantages), torch.zeros_like(advantages))


def test_P2_parts_differ_by_at_most_one():
    parts = shuffled_partition(10, 4, generator())
    assert [len(part) for part in parts] == [3, 3, 2, 2]
    assert torch.cat(parts).sort().values.tolist() == list(range(10))


@pytest.mark.parametrize("recurrent", ["none", "lstm"])
def test_P2_S5_every_valid_step_comes_once_an_epoch(recurrent):
    policy, distribution = build(recurrent=recurrent)
    batch = play(policy, distribution, invalid=0.5)
    minibatches = Minibatches(policy, batch, PpoSettings(num_minibatches=3))
    assert minibatches.unit == ("segment" if recurrent == "lstm" else "step")
    draw, steps = generator(), any_steps(minibatches, batch)
    epochs = [
        torch.cat([part.index for part in minibatches.epoch(draw, None, steps)]).tolist() for _ in range(2)
    ]
    num_valid = int(batch.valid.sum())
    assert minibatches.num_steps == num_valid < batch.valid.numel()
    assert all(sorted(epoch) == list(range(num_valid)) for epoch in epochs) and epochs[0] != epochs[1]


@pytest.mark.parametrize("num_minibatches", [1, 3, 5])
@pytest.mark.parametrize("is_large", [False, True])
def test_P2_S5_a_minibatch_has_what_belongs_to_its_steps(num_minibatches, is_large, monkeypatch):
    policy, distribution = build()
    batch = play(policy, distribution, invalid=0.5)
    if is_large:
        monkeypatch.setattr("attract.learner.ppo.minibatches.LARGEST_COPY_BYTES", 0)
    settings = PpoSettings(num_minibatches=num_minibatches, normalize_advantage=False)
    minibatches = Minibatches(policy, batch, settings)
    steps = minibatches.steps(Estimator(policy, distribution, batch, settings).estimate())
    for part in minibatches.epoch(generator(), None, steps):
        outputs, values = minibatches.inputs.forward(policy, part)
        # The policy that played says of the observations what was said then: they are those of these steps.
        torch.testing.assert_close(values, part.steps.values, rtol=1e-5, atol=1e-5)
        log_probs, _ = distribution.log_prob_and_entropy(outputs, part.steps.actions)
        torch.testing.assert_close(log_probs, part.steps.log_probs, rtol=1e-5, atol=1e-5)
        assert torch.equal(part.steps.advantages, steps.advantages[part.index])
        assert torch.equal(part.steps.value_targets, steps.value_targets[part.index])
        assert (part.gathered is None) == is_large


@pytest.mark.parametrize("num_minibatches", [1, 4, 5, 48])
@pytest.mark.parametrize("unit", ["step", "segment"])
def test_P1_each_minibatchs_advantages_are_its_own(num_minibatches, unit):
    policy, distribution = build()
    batch = play(policy, distribution)
    settings = PpoSettings(num_minibatches=num_minibatches, minibatch_unit=unit)
    minibatches = Minibatches(policy, batch, settings)
    steps = minibatches.steps(estimates_of(torch.arange(48.0).square().view_as(batch.value)))
    for part in minibatches.epoch(generator(), None, steps):
        alone = steps.advantages[part.index]
        expected = alone if len(alone) == 1 else (alone - alone.mean()) / alone.std()
        torch.testing.assert_close(part.steps.advantages, expected, rtol=1e-4, atol=1e-5)


def test_P3_segments_are_drawn_as_often_as_their_advantages_say():
    policy, distribution = build()
    batch = play(policy, distribution, slots=4, runs=1)
    # |A| summed over 6 steps: 6, 12, 0, 18 of 36; to the power of 1.
    estimates = estimates_of(torch.tensor([1.0, -2.0, 0.0, 3.0]).expand(6, 4))
    minibatches = Minibatches(policy, batch, PpoSettings(prio_alpha=1.0, num_minibatches=2))
    probabilities = minibatches.priorities(estimates)
    assert probabilities is not None
    assert probabilities.tolist() == pytest.approx([6 / 36, 12 / 36, 0, 18 / 36], abs=1e-6)
    draw, counts = generator(), torch.zeros(4)
    for _ in range(1000):
        parts = list(minibatches.epoch(draw, probabilities, any_steps(minibatches, batch)))
        # As many draws as there are segments, in parts that differ by at most one.
        assert [len(part.columns) for part in parts] == [2, 2]
        for part in parts:
            counts += torch.bincount(part.columns, minlength=4)
            # Each draw brings all steps of its segment, a segment drawn twice brings them twice.
            assert len(part.index) == 12
    # 4,000 draws; five standard deviations are at most 158.
    assert (counts - 4000 * probabilities).abs().max() < 158


def test_P3_S5_a_segment_without_valid_steps_gets_no_draw_and_makes_none():
    policy, distribution = build()
    batch = play(policy, distribution, slots=4, runs=1)
    valid = batch.valid.clone()
    valid[:, 1] = False
    batch = dataclasses.replace(batch, valid=valid)
    minibatches = Minibatches(policy, batch, PpoSettings(prio_alpha=0.5, num_minibatches=1))
    probabilities = minibatches.priorities(estimates_of(torch.ones(6, 4)))
    for _ in range(100):
        (part,) = minibatches.epoch(generator(_), probabilities, any_steps(minibatches, batch))
        assert len(part.columns) == 3 and 1 not in part.columns.tolist()


def test_P3_steps_carry_the_weight_of_their_segment():
    policy, distribution = build()
    batch = play(policy, distribution, slots=2, runs=2, invalid=0.5)
    minibatches = Minibatches(policy, batch, PpoSettings(prio_alpha=0.5, num_minibatches=1))
    estimates = estimates_of(torch.ones_like(batch.value))
    steps = minibatches.steps(estimates, torch.tensor([0.1, 0.2, 0.3, 0.4]))
    (part,) = minibatches.epoch(generator(), minibatches.priorities(estimates), steps)
    expected = torch.cat(
        [torch.tensor([0.1, 0.2, 0.3, 0.4])[part.columns][batch.valid[t, part.columns]] for t in range(6)]
    )
    assert torch.equal(part.steps.weights, expected)


def test_P3_alpha_0_draws_nothing_and_weighs_nothing():
    policy, distribution = build()
    minibatches = Minibatches(policy, play(policy, distribution), PpoSettings(prio_alpha=0.0))
    estimates = estimates_of(torch.ones(6, 8))
    assert minibatches.priorities(estimates) is None and minibatches.steps(estimates).weights is None


@pytest.mark.parametrize("recurrent", ["lstm", "gru"])
@pytest.mark.parametrize("burn_in", [0, 2])
def test_S3_S4_minibatches_say_what_the_policy_said_when_it_played(recurrent, burn_in):
    policy, distribution = build(recurrent=recurrent)
    batch = play(policy, distribution, slots=5, invalid=0.5)
    settings = PpoSettings(num_minibatches=3, horizon=6, burn_in_steps=burn_in)
    minibatches = Minibatches(policy, batch, settings)
    steps = minibatches.steps(Estimator(policy, distribution, batch, settings).estimate())
    num_steps = 0
    for part in minibatches.epoch(generator(), None, steps):
        outputs, values = minibatches.inputs.forward(policy, part)
        chosen = part.steps
        torch.testing.assert_close(values, chosen.values, rtol=1e-5, atol=1e-5)
        log_probs, _ = distribution.log_prob_and_entropy(outputs, chosen.actions)
        torch.testing.assert_close(log_probs, chosen.log_probs, rtol=1e-5, atol=1e-5)
        num_steps += len(part.index)
    # Without the first steps of each segment.
    assert num_steps == int(batch.valid[burn_in:].sum()) == minibatches.num_steps


def test_S3_a_burn_in_brings_the_state_up_to_date_without_gradient():
    policy, distribution = build(recurrent="lstm")
    batch = play(policy, distribution, ends=0.0)
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter.add_(0.1)
    minibatches = Minibatches(policy, batch, PpoSettings(num_minibatches=1, horizon=6, burn_in_steps=5))
    (part,) = minibatches.epoch(generator(), None, any_steps(minibatches, batch))
    _, values = minibatches.inputs.forward(policy, part)
    prepared = {key: array[:, part.columns] for key, array in policy.preprocess(batch.observation).items()}
    _, whole, after = policy.unroll(prepared, batch.state[part.columns], batch.reset_after[:, part.columns])
    torch.testing.assert_close(values, whole[5], rtol=0, atol=1e-6)
    # The gradient is that of the sixth step alone, from a state that is just a number.
    (got,) = torch.autograd.grad(values.sum(), [policy.core.hidden.weight])
    state = after[4].detach()
    last = {key: array[5:] for key, array in prepared.items()}
    _, alone, _ = policy.unroll(last, state, batch.reset_after[5:, part.columns])
    (expected,) = torch.autograd.grad(alone.sum(), [policy.core.hidden.weight])
    torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-6)


def test_S3_from_zero_segments_are_unrolled_from_zeros():
    policy, distribution = build(recurrent="gru")
    batch = play(policy, distribution, ends=0.0)
    settings = PpoSettings(num_minibatches=1, recurrent_start="zero")
    minibatches = Minibatches(policy, dataclasses.replace(batch, recurrent_state={}), settings)
    (part,) = minibatches.epoch(generator(), None, any_steps(minibatches, batch))
    _, values = minibatches.inputs.forward(policy, part)
    prepared = {key: array[:, part.columns] for key, array in policy.preprocess(batch.observation).items()}
    zeros = torch.zeros(8, policy.state_size)
    _, expected, _ = policy.unroll(prepared, zeros, batch.reset_after[:, part.columns])
    torch.testing.assert_close(values, expected.flatten(), rtol=0, atol=1e-6)
    # The stored states would have said something else.
    assert not torch.allclose(values, batch.value[:, part.columns].flatten(), atol=0.01)


def test_S5_steps_of_the_burn_in_bring_no_loss():
    policy, distribution = build(recurrent="gru")
    batch = play(policy, distribution, slots=5, invalid=0.5)
    settings = PpoSettings(num_minibatches=3, horizon=6, burn_in_steps=2, normalize_advantage=False)
    minibatches = Minibatches(policy, batch, settings)
    # Each step's advantage is its own place in its segment.
    places = torch.arange(6.0).unsqueeze(1).expand(6, 10)
    draw = minibatches.epoch(generator(), None, minibatches.steps(estimates_of(places)))
    learned = torch.cat([part.steps.advantages for part in draw]).sort().values
    assert torch.equal(learned, places[batch.valid & (places >= 2)].sort().values)


def test_S5_nothing_to_learn_from_is_the_callers_bug():
    policy, distribution = build(recurrent="gru")
    batch = play(policy, distribution)
    valid = batch.valid.clone()
    valid[3:] = False
    with pytest.raises(ValueError, match="at least one valid step"):
        Minibatches(policy, dataclasses.replace(batch, valid=valid), PpoSettings(horizon=6, burn_in_steps=3))
