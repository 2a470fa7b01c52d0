import dataclasses

import pytest
import torch

from attract.algorithm.losses import normalise_advantages
from attract.experience.layout import RECURRENT_STATE
from attract.learner.checkpoints.checkpoint import weights_sha256
from attract.settings.presets import PRESETS
from attract.settings.run import PpoSettings
from policies import create_policy
from random_batches import (
    RATES,
    advantages_and_targets,
    assert_same,
    build,
    make_batch,
    numbered,
    recorded,
    update,
    weights_of,
)


def bounded():
    """A policy for `numbered` steps as they are: units without a bound end the update at its first part."""
    return build(normalize=False, activation="tanh")


def test_P2_each_epoch_is_a_partition_of_all_steps():
    policy = bounded()
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
            for name in ("reward", "value", "log_prob", "final_value")
        },
        observation={"obs": torch.where(batch.valid.unsqueeze(-1), batch.observation["obs"], torch.nan)},
    )
    policies = [build(), build()]
    reports = [
        update(policy, data, settings) for policy, data in zip(policies, (batch, poisoned), strict=True)
    ]
    assert reports[0] == reports[1]
    assert_same(policies[0], policies[1].state_dict())


def test_S5_segments_stay_together_when_they_are_the_unit():
    policy = bounded()
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
    policy = bounded()
    seen = recorded(policy)
    update(policy, numbered(horizon=8, slots=5), PpoSettings(n_epochs=1, minibatch_steps=16))
    assert [len(part) for part in seen] == [14, 13, 13]


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
    weights = (weights / (p * weights).sum()).float()
    assert (weights[drawn] - 1).abs().max() > 0.01
    a = normalise_advantages(advantages[:, drawn].flatten()).view(8, 3)
    # The ratio is 1: the policy loss is minus the mean of weight times normalised advantage.
    assert report.policy_loss == pytest.approx(-(weights[drawn] * a).mean().item(), abs=1e-6)
    errors = batch.value[:, drawn] - targets[:, drawn]
    assert report.value_loss == pytest.approx(0.5 * errors.square().mean().item(), rel=1e-4)
    assert report.details["train/prio_beta"] == 0.7
    # Kish: (sum p)^2 / sum p^2.
    effective = 1 / p.square().sum().item()
    assert report.details["train/prio_effective_segments"] == pytest.approx(effective, rel=1e-6)


def test_P3_correctness_R3_a_segment_that_is_valid_in_its_burn_in_alone_is_never_drawn():
    batch = make_batch(horizon=8, slots=2)
    batch.valid[4:, 0] = False
    # It would be drawn nearly every time by what it holds.
    batch.reward[:4, 0] = 1e6
    settings = PpoSettings(
        horizon=8, n_epochs=8, num_minibatches=1, prio_alpha=1.0, burn_in_steps=4, recurrent_start="zero"
    )
    policy = create_policy(hidden_sizes=(8,), recurrent="lstm", recurrent_size=8)
    report = update(policy, batch, settings)
    assert report.num_steps == 4 and report.num_minibatches > 0
    assert report.details["train/prio_effective_segments"] == pytest.approx(1.0)


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
    size = policy.state_size
    states = {RECURRENT_STATE: torch.zeros(8160, size)} if size else {}
    settings = PpoSettings.from_mapping(PRESETS["segments-64"]["ppo"])
    weights = weights_of(policy)
    report = update(policy, dataclasses.replace(batch, recurrent_state=states), settings)
    assert report.num_steps == int(batch.valid.sum()) > 500_000
    assert report.num_minibatches == 32 and report.num_epochs == 1
    assert not torch.equal(policy.state_dict()["trunk.0.weight"], weights["trunk.0.weight"])


def test_a_batch_without_a_valid_step_is_the_callers_bug():
    batch = make_batch()
    with pytest.raises(ValueError, match="at least one valid step"):
        update(build(), dataclasses.replace(batch, valid=torch.zeros_like(batch.valid)))
