import dataclasses

import pytest
import torch

from attract.algorithm.advantages import advantages_from_segments
from attract.experience.layout import RECURRENT_STATE
from attract.learner.algorithms.batch_evaluation import evaluate_batch
from attract.learner.ppo.estimates import Estimator
from attract.schema.spaces import BoxSpace
from attract.settings.run import PpoSettings
from batches import build, play

VTRACE = PpoSettings(gamma=0.9, gae_lambda=0.8, lag_correction="vtrace")


def nudge(policy, by=0.3):
    """Other weights, as another version's."""
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter.add_(by * torch.randn(parameter.shape, generator=generator))


def lagging(batch):
    lag = torch.zeros(batch.valid.shape[1], dtype=torch.int64)
    lag[0] = 1
    return dataclasses.replace(batch, policy_lag=lag)


def gae(batch, values, final_values, bootstrap_value):
    """For batches whose slots have one segment each."""
    flags = batch.terminated, batch.truncated, batch.valid
    return advantages_from_segments(
        batch.reward, values, final_values, bootstrap_value, *flags, None, gamma=0.9, gae_lambda=0.8
    )


def assert_close_where(valid, got, expected, atol=1e-5):
    torch.testing.assert_close(got[valid], expected[valid], rtol=0, atol=atol)


@pytest.mark.parametrize("correction", ["none", "vtrace"])
def test_P4_P9_without_lag_it_is_gae_on_the_values_that_came(correction):
    policy, distribution = build()
    batch = play(policy, distribution, runs=1, invalid=0.5)
    nudge(policy)
    settings = VTRACE.model_copy(update={"lag_correction": correction})
    for lag in (None, torch.zeros(4, dtype=torch.int64)):
        lagless = dataclasses.replace(batch, policy_lag=lag)
        got = Estimator(policy, distribution, lagless, settings).estimate()
        assert got.ratios is None and got.values is batch.value
        expected = gae(batch, batch.value, batch.final_value, batch.bootstrap_value)
        assert torch.equal(got.advantages, expected)
        assert_close_where(batch.valid, got.value_targets, expected + batch.value, atol=0)


@pytest.mark.parametrize("recurrent", ["none", "lstm"])
def test_P9_with_lag_but_the_same_weights_it_is_gae(recurrent):
    policy, distribution = build(recurrent=recurrent)
    batch = play(policy, distribution, runs=3, slots=6, invalid=0.5)
    plain = Estimator(policy, distribution, batch, VTRACE).estimate()
    corrected = Estimator(policy, distribution, lagging(batch), VTRACE).estimate()
    assert corrected.ratios is not None
    assert_close_where(batch.valid, corrected.ratios, torch.ones_like(batch.value))
    assert_close_where(batch.valid, corrected.advantages, plain.advantages, atol=2e-5)
    assert_close_where(batch.valid, corrected.value_targets, plain.value_targets, atol=2e-5)


def test_P9_ratio_and_values_are_those_of_the_updates_start():
    policy, distribution = build()
    batch = lagging(play(policy, distribution, runs=1))
    nudge(policy)
    start = evaluate_batch(policy, distribution, batch)
    settings = VTRACE.model_copy(update={"recompute_advantages": True})
    estimator = Estimator(policy, distribution, batch, settings)
    first = estimator.estimate()
    assert first.ratios is not None
    assert_close_where(batch.valid, first.ratios, torch.exp(start.log_probs - batch.log_prob))
    assert float(first.ratios[batch.valid].sub(1).abs().mean()) > 0.05
    assert_close_where(batch.valid, first.values, start.values, atol=0)
    # Later in the update values are new, but the ratio is still that of the start.
    nudge(policy)
    later = estimator.estimate()
    assert later.ratios is first.ratios
    now = evaluate_batch(policy, distribution, batch)
    assert_close_where(batch.valid, later.values, now.values, atol=0)
    assert not torch.allclose(later.values[batch.valid], first.values[batch.valid], atol=0.01)


def test_P9_the_correction_clips_at_the_settings():
    policy, distribution = build()
    batch = lagging(play(policy, distribution, runs=1))
    nudge(policy)
    results = [
        Estimator(policy, distribution, batch, VTRACE.model_copy(update=change)).estimate().value_targets
        for change in ({}, {"rho_max": 3.0}, {"c_max": 3.0})
    ]
    assert not torch.equal(results[0], results[1]) and not torch.equal(results[0], results[2])


@pytest.mark.parametrize("recurrent", ["none", "gru"])
def test_P4_recomputed_advantages_are_gae_on_the_values_of_the_moment(recurrent):
    policy, distribution = build(recurrent=recurrent)
    batch = play(policy, distribution, runs=1, invalid=0.5)
    settings = PpoSettings(gamma=0.9, gae_lambda=0.8, recompute_advantages=True)
    estimator = Estimator(policy, distribution, batch, settings)
    for _ in range(2):
        nudge(policy)
        now = evaluate_batch(policy, distribution, batch)
        expected = gae(batch, now.values, now.final_values, now.bootstrap_value)
        got = estimator.estimate()
        assert got.ratios is None
        assert_close_where(batch.valid, got.advantages, expected, atol=0)
        assert_close_where(batch.valid, got.value_targets, expected + now.values, atol=0)
        assert not torch.allclose(got.values[batch.valid], batch.value[batch.valid], atol=0.01)


def test_S2_correctness_R4_the_step_before_a_failed_one_has_its_own_bootstrap() -> None:
    policy, distribution = build()
    batch = play(policy, distribution, runs=2, ends=0.0)
    # Slot 0's game fails in the first step of its second segment, which carries no observation.
    batch.valid[0, 1] = False
    batch.observation["obs"][0, 1] = 0.0
    nudge(policy)
    now = evaluate_batch(policy, distribution, batch)
    settings = PpoSettings(gamma=0.9, gae_lambda=0.8, recompute_advantages=True)
    got = Estimator(policy, distribution, batch, settings).estimate()
    expected = batch.reward[-1, 0] + 0.9 * now.bootstrap_value[0] - now.values[-1, 0]
    torch.testing.assert_close(got.advantages[-1, 0], expected)


@pytest.mark.parametrize("change", [{"lag_correction": "vtrace"}, {"recompute_advantages": True}])
def test_S3_computed_anew_from_zero_the_stored_states_are_not_read(change) -> None:
    policy, distribution = build(recurrent="lstm")
    batch = lagging(play(policy, distribution, ends=0.0))
    settings = PpoSettings(gamma=0.9, gae_lambda=0.8, recurrent_start="zero", **change)
    got = Estimator(policy, distribution, dataclasses.replace(batch, recurrent_state={}), settings).estimate()
    zeros = dataclasses.replace(batch, recurrent_state={RECURRENT_STATE: torch.zeros_like(batch.state)})
    expected = evaluate_batch(policy, distribution, zeros)
    assert torch.equal(got.values, expected.values)
    if got.ratios is not None:
        assert torch.equal(got.ratios, torch.exp(expected.log_probs - batch.log_prob))
    # The stored ones would have said something else.
    assert not torch.allclose(expected.values, batch.value, atol=1e-3)


def test_lambda_follows_what_the_policy_observes():
    picture = BoxSpace(shape=[8, 8, 1], dtype="uint8")
    for observation, expected in ((None, 0.95), (picture, 0.9)):
        policy, distribution = build(observation, cnn="small")
        batch = play(policy, distribution, runs=1)
        settings = PpoSettings(gae_lambda=expected)
        by_itself = Estimator(policy, distribution, batch, PpoSettings()).estimate()
        assert torch.equal(
            by_itself.advantages, Estimator(policy, distribution, batch, settings).estimate().advantages
        )
