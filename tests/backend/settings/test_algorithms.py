"""Settings of algorithms, and of what any of them can add."""

import pytest

from attract.errors import ConfigurationError
from attract.policy.action_kinds.table import KINDS
from attract.settings.algorithm import RunContext
from attract.settings.base import Settings
from attract.settings.cloning import CloningSettings
from attract.settings.dqn import DqnSettings
from attract.settings.ppo import PpoSettings
from attract.settings.presets import layer_settings
from attract.settings.rnd import RndSettings
from attract.settings.run import RunSettings
from attract.settings.sac import SacSettings


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


RUN = RunContext(schedule="overlap", is_recurrent=False, schedule_steps=1000)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"policy": {"recurrent": "lstm"}}, ("policy.recurrent", "algorithm 'ppo'")),
        ({"exploration": "rnd"}, ("exploration", "'none' works")),
        ({"cloning": {"demonstrations": "x.json"}}, ("cloning.demonstrations", "algorithm 'ppo'")),
        (
            {"federated": {"rank": 0, "world_size": 2, "rendezvous": "10.0.0.2:29500"}},
            ("federated", "algorithm 'ppo'"),
        ),
    ],
)
@pytest.mark.parametrize("algorithm", ["dqn", "sac"])
def test_what_does_not_fit_is_refused_and_what_works_is_named(
    algorithm: str, given: dict[str, object], said: tuple[str, str]
):
    with pytest.raises(ConfigurationError) as refused:
        RunSettings.from_mapping({"algorithm": algorithm, **given})
    assert all(text in str(refused.value) for text in said), refused.value
    RunSettings.from_mapping({"algorithm": "ppo", **given})


def test_an_update_is_told_by_its_gradient_steps():
    text = DqnSettings(horizon=16, replay_ratio=0.25, batch_size=32).update_text(RUN, 8)
    # A quarter of 8 segments of 16 steps.
    assert text.startswith("32 steps each") and "about 32 optimizer steps" in text


def test_each_step_is_drawn_so_often_on_average():
    assert DqnSettings(replay_ratio=0.5, batch_size=64).n_epochs == 32
    assert DqnSettings(replay_ratio=0.01, batch_size=32).n_epochs == 1


def test_schedules_end_with_the_run_and_only_those_that_fall_are_named():
    run = RunSettings(algorithm="dqn", total_steps=5000)
    assert run.hyperparameters.model_dump()["schedule_steps"] == 5000
    assert DqnSettings().scheduled_rates == []
    assert DqnSettings(learning_rate_schedule="linear").scheduled_rates == ["learning_rate"]


def test_a_study_begins_with_the_values_of_the_run():
    space = DqnSettings(gamma=0.9).search_space
    assert space["gamma"][0] == 0.9 and space["n_steps"] == [1, 3, 5]
    assert DqnSettings.promising({"n_steps": 1}) == []


def test_presets_give_it_their_discounts():
    found = layer_settings({"preset": "long-run", "algorithm": "dqn"})
    assert RunSettings.from_mapping(found).algorithm_settings.gamma == 0.998


def test_real_numbers_are_refused_and_what_moves_them_is_named():
    assert DqnSettings.refuses.keys() & KINDS.keys() == {"box", "mixed"}
    assert "'sac' or 'ppo'" in DqnSettings.refuses["box"]


@pytest.mark.parametrize("algorithm", [DqnSettings, SacSettings])
def test_mixed_actions_are_for_ppo_alone(algorithm):
    assert algorithm.refuses["mixed"].endswith("choices with real numbers need algorithm 'ppo'")


def test_choices_are_refused_and_what_makes_them_is_named():
    refused = SacSettings.refuses.keys() & KINDS.keys() - {"mixed"}
    assert refused == {"discrete", "multi_discrete", "multi_binary"}
    assert all("'dqn' or 'ppo'" in SacSettings.refuses[kind] for kind in refused)


def test_a_study_of_sac_begins_with_the_values_of_the_run():
    space = SacSettings(target_entropy=0.3, batch_size=64).search_space
    assert space["target_entropy"][0] == 0.3 and space["batch_size"] == [64, 32, 128]


def test_the_bonus_shares_the_value_head_unless_told():
    assert RndSettings().value_head == "shared"


def test_without_a_place_to_look_there_are_no_demonstrations():
    assert CloningSettings().demonstrations is None


WRONG: dict[type[Settings], dict[str, object]] = {
    PpoSettings: {
        "learning_rate": 0.0, "gamma": 1.01, "gae_lambda": -0.1, "clip_range": 0.0, "horizon": 65_537,
        "n_epochs": 0, "entropy_coef": -1.0, "burn_in_steps": -1, "schedule_steps": 0,
    },
    DqnSettings: {
        "replay_ratio": 0.0, "batch_size": 0, "tau": 1.5, "n_steps": 0, "gamma": 1.01,
        "buffer_mebibytes": 0, "n_quantiles": 0, "exploration_final_eps": -0.1,
    },
    SacSettings: {"temperature": 0.0, "replay_ratio": 65.0, "tau": 0.0},
    RndSettings: {"coef": -1, "gamma": 1.5, "value_head": "none", "coefficient": 1},
    CloningSettings: {"coef": -1, "share": 1.5, "minibatch_steps": 0, "weight": 1},
}  # fmt: skip


@pytest.mark.parametrize(
    ("settings", "name"), [(settings, name) for settings, names in WRONG.items() for name in names]
)
def test_what_cannot_be_is_refused_by_its_path(settings: type[Settings], name: str):
    with pytest.raises(ConfigurationError) as refused:
        settings.from_mapping({name: WRONG[settings][name]})
    assert f"{settings.section}.{name}" in str(refused.value)
