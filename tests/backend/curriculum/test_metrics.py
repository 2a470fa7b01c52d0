"""Which metrics a threshold can name."""

import pytest

from attract.curriculum.window import check_metric
from attract.errors import ConfigurationError
from attract.settings.run import RunSettings
from fake_worker import counting_description

GAME = counting_description().model_copy(update={"metrics": {"food": "sum"}, "reward_terms": {"step": 0.0}})
PLAIN = RunSettings()
EVALUATING = RunSettings.from_mapping(
    {"callbacks": {"evaluation": {"every_episodes": 100, "modes": ["sampled"]}}}
)


def refusal(name: str, settings: RunSettings = PLAIN) -> ConfigurationError:
    with pytest.raises(ConfigurationError) as refused:
        check_metric(name, settings, GAME, setting="curriculum.metric")
    assert refused.value.setting == "curriculum.metric"
    return refused.value


@pytest.mark.parametrize(
    "name",
    ["game/food", "reward/step", "rollout/ep_rew_mean", "rollout/ep_len_mean", "train/entropy", "own/name"],
)
def test_a_metric_that_the_run_will_have_passes(name: str):
    check_metric(name, PLAIN, GAME, setting="curriculum.metric")


def test_a_name_without_a_family_is_no_metric():
    error = refusal("food")
    assert "'food' is no metric" in str(error)
    assert "rollout/ep_rew_mean" in str(error)


def test_a_wrong_name_is_answered_with_the_nearest():
    assert "did you mean 'game/food'?" in str(refusal("game/fod"))
    assert "did you mean 'rollout/ep_len_mean'?" in str(refusal("rollout/ep_len_men"))


def test_a_name_like_no_other_is_answered_with_those_there_are():
    assert "there are: reward/step" in str(refusal("reward/" + "z" * 40))
    bare = counting_description()
    with pytest.raises(ConfigurationError, match="Counting-v1 declares none"):
        check_metric("game/food", PLAIN, bare, setting="curriculum.metric")


def test_an_evaluations_metric_needs_an_evaluation_of_its_mode():
    assert "none are configured" in str(refusal("eval/mean_reward"))
    check_metric("eval_sampled/mean_reward", EVALUATING, GAME, setting="curriculum.metric")
    assert "'deterministic' among its modes" in str(refusal("eval/mean_reward", EVALUATING))
