"""PPO's hyperparameters: how a batch is cut, and what follows where nothing is given."""

import pytest

from attract.errors import ConfigurationError
from attract.settings.algorithm import RunContext
from attract.settings.ppo import PpoSettings


def refusal(given: dict[str, object]) -> str:
    with pytest.raises(ConfigurationError) as refused:
        PpoSettings.from_mapping(given)
    return str(refused.value)


def test_S5_both_ways_to_cut_minibatches_are_refused():
    assert "exactly one" in refusal({"minibatch_steps": 512, "num_minibatches": 4})


def test_S5_minibatches_follow_from_the_one_that_was_given():
    by_steps, by_number = PpoSettings(minibatch_steps=100), PpoSettings(num_minibatches=7)
    # 1,001 steps in parts of at most 100: 11
    assert [by_steps.minibatches_for(n) for n in (1, 100, 101, 1001)] == [1, 1, 2, 11]
    assert [by_number.minibatches_for(n) for n in (1, 6, 1001)] == [1, 6, 7]


def test_S5_a_rollout_is_a_multiple_of_the_horizon():
    assert "64 or 96" in refusal({"horizon": 32, "rollout_steps": 80})
    assert "32 is" in refusal({"horizon": 32, "rollout_steps": 16})
    assert PpoSettings(horizon=32, rollout_steps=96).rollout_steps == 96


def test_S5_a_rollout_is_one_segment_unless_given():
    assert PpoSettings(horizon=64).rollout_segments == 1
    assert PpoSettings(horizon=32, rollout_steps=96).rollout_segments == 3


def test_S5_minibatches_have_256_steps_where_neither_is_given():
    assert [PpoSettings().minibatches_for(n) for n in (0, 256, 257, 2048)] == [1, 1, 2, 8]


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("learning_rate", 0.0),
        ("gamma", 1.01),
        ("gae_lambda", -0.1),
        ("clip_range", 0.0),
        ("horizon", 65_537),
        ("n_epochs", 0),
        ("entropy_coef", -1.0),
        ("burn_in_steps", -1),
        ("schedule_steps", 0),
    ],
)
def test_a_number_out_of_its_limits_is_refused_by_its_path(name: str, wrong: float):
    assert f"ppo.{name}" in refusal({name: wrong})


def test_what_may_be_off_is_off_with_none():
    off = PpoSettings(max_grad_norm=None, target_kl=None, clip_range_vf=None)
    assert (off.max_grad_norm, off.target_kl, off.clip_range_vf) == (None, None, None)


def test_P14_lambda_is_highest_where_one_wins_what_another_loses():
    assert PpoSettings().lambda_for(sees_pictures=True, is_zero_sum=True) == 0.99
    assert PpoSettings(gae_lambda=0.7).lambda_for(sees_pictures=False, is_zero_sum=True) == 0.7


def test_lambda_follows_what_is_observed_unless_it_is_given():
    assert PpoSettings().lambda_for(sees_pictures=True) < PpoSettings().lambda_for(sees_pictures=False)
    for sees_pictures in (True, False):
        assert PpoSettings(gae_lambda=0.7).lambda_for(sees_pictures=sees_pictures) == 0.7


def test_S1_more_minibatches_than_units_are_refused_with_the_largest_that_works() -> None:
    run = RunContext("overlap", is_recurrent=False, schedule_steps=1)

    def check(**given: object) -> None:
        PpoSettings.from_mapping({"horizon": 4, **given}).check_batch(run, 6, "")  # 24 steps

    with pytest.raises(ConfigurationError, match="largest that works is 24"):
        check(num_minibatches=25)
    with pytest.raises(ConfigurationError, match="largest that works is 6"):
        check(num_minibatches=7, minibatch_unit="segment")
    with pytest.raises(ConfigurationError, match="smallest that works is 4"):
        check(minibatch_steps=3, minibatch_unit="segment")
    check(num_minibatches=24)
    check(minibatch_steps=4, minibatch_unit="segment")
