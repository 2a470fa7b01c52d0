from typing import get_args

import pytest

from attract.errors import ConfigurationError
from attract.settings.presets import PRESET_HELP, PRESETS, algorithm_for_few_steps, layer_settings
from attract.settings.run import PpoSettings, RunSettings


def ppo(*layers):
    return RunSettings.from_mapping(layer_settings(*layers)).ppo


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_can_be_chosen_and_is_written_down(name):
    settings = RunSettings.from_mapping(layer_settings({"preset": name}))
    assert settings.preset == name
    assert RunSettings.from_mapping(layer_settings(settings.model_dump(mode="json"))) == settings


def test_segments_64_has_the_values_of_its_source():
    chosen = ppo({"preset": "segments-64"})
    assert (chosen.horizon, chosen.rollout_segments, chosen.num_minibatches, chosen.n_epochs) == (
        64,
        1,
        32,
        1,
    )
    assert (chosen.gamma, chosen.gae_lambda, chosen.clip_range) == (0.977, 0.916, 0.1)
    assert (chosen.value_coef, chosen.entropy_coef, chosen.max_grad_norm) == (0.44, 0.0021, 0.5)


def test_a_preset_stands_above_what_a_game_recommends_and_beneath_what_is_given():
    recommended = {"ppo": {"horizon": 16, "gamma": 0.5, "learning_rate": 0.1, "minibatch_steps": 128}}
    chosen = ppo(recommended, {"preset": "segments-64", "ppo": {"gamma": 0.9}})
    assert (chosen.horizon, chosen.gamma, chosen.learning_rate) == (64, 0.9, 0.1)
    # S5: 32 minibatches replace the game's number of steps.
    assert (chosen.num_minibatches, chosen.minibatch_steps) == (32, None)


def test_a_preset_that_a_game_names_stands_beneath_the_games_own_values():
    chosen = ppo({"preset": "classic-control", "ppo": {"gamma": 0.5}}, {"ppo": {"n_epochs": 7}})
    assert (chosen.gamma, chosen.gae_lambda, chosen.n_epochs) == (0.5, 0.9, 7)


def test_default_puts_a_games_recommendations_aside():
    recommended = {"policy": {"shared_trunk": False}, "ppo": {"gamma": 0.5, "num_minibatches": 4}}
    settings = RunSettings.from_mapping(layer_settings(recommended, {"preset": "default"}))
    assert settings.ppo == PpoSettings()
    assert not settings.policy.shared_trunk
    # It puts nothing in their place: what stands beside or above it counts.
    assert layer_settings(recommended, {"preset": "default", "ppo": {"n_epochs": 7}})["ppo"] == {
        "n_epochs": 7
    }
    assert layer_settings({"preset": "default", "ppo": {"gamma": 0.5}})["ppo"] == {"gamma": 0.5}


def test_S5_of_two_that_exclude_each_other_the_higher_layer_stays():
    assert ppo({"ppo": {"minibatch_steps": 512}}, {"ppo": {"num_minibatches": 4}}).minibatch_steps is None
    # Layers that were written out in full, as a resumed run's, name both.
    full = PpoSettings(num_minibatches=8).model_dump(mode="json")
    assert ppo({"ppo": full}, {"ppo": {"minibatch_steps": 256}}).num_minibatches is None


def test_S5_a_horizon_given_alone_takes_its_rollout_with_it():
    assert ppo({"ppo": {"horizon": 32, "rollout_steps": 32}}, {"ppo": {"horizon": 64}}).rollout_segments == 1
    # A rollout that is a multiple of it stays.
    kept = ppo({"ppo": {"horizon": 64, "rollout_steps": 128}}, {"ppo": {"horizon": 32}})
    assert kept.rollout_segments == 4


def test_a_parameters_distribution_replaces_the_one_below_it():
    below = {"parameters": {"size": {"uniform": [6, 20]}, "wind": {"constant": 1.0}}}
    settings = RunSettings.from_mapping(layer_settings(below, {"parameters": {"size": 8}}))
    assert settings.model_dump(mode="json")["parameters"] == {
        "size": {"constant": 8.0},
        "wind": {"constant": 1.0},
    }


def test_what_cannot_be_is_left_to_the_settings_to_refuse():
    with pytest.raises(ConfigurationError, match="preset"):
        RunSettings.from_mapping(layer_settings({"preset": "cosy"}))
    with pytest.raises(ConfigurationError, match=r"ppo\.horizon"):
        ppo({"ppo": {"rollout_steps": 32}}, {"ppo": {"horizon": 0}})
    with pytest.raises(ConfigurationError, match="ppo"):
        ppo({"ppo": 5})
    with pytest.raises(ConfigurationError, match="parameters"):
        RunSettings.from_mapping(layer_settings({"parameters": {"size": 8}}, {"parameters": 5}))


def test_P10_total_steps_win_over_a_games_schedule():
    recommended = {"ppo": {"learning_rate_schedule": "linear", "schedule_steps": 1_000_000}}
    assert ppo(recommended).schedule_steps == 1_000_000
    assert ppo(recommended, {"total_steps": 3_000_000}).schedule_steps is None
    # What is given beside the total stays, and what was given for one layer is not taken by another.
    both = {"total_steps": 3_000_000, "ppo": {"schedule_steps": 500_000}}
    assert ppo(recommended, both).schedule_steps == 500_000


def test_every_preset_says_when_to_take_it():
    assert list(PRESET_HELP) == list(PRESETS)
    assert set(get_args(get_args(RunSettings.model_fields["preset"].annotation)[0])) == set(PRESETS)


def test_slow_page_trains_by_what_learns_more_from_each_step_unless_another_algorithm_is_given():
    chosen = RunSettings.from_mapping(layer_settings({"ppo": {"n_epochs": 3}}, {"preset": "slow-page"}))
    assert (chosen.algorithm, chosen.policy.hidden_sizes, chosen.policy.activation) == (
        "dqn",
        (128, 128),
        "relu",
    )
    assert (chosen.collection.num_workers, chosen.collection.instances_per_worker) == (2, 4)
    other = RunSettings.from_mapping(layer_settings({"preset": "slow-page", "algorithm": "ppo"}))
    assert (other.algorithm, other.ppo.n_epochs, other.collection.instances_per_worker) == ("ppo", 8, 4)


@pytest.mark.parametrize(
    ("given", "action", "expected"),
    [
        ({}, "discrete", "dqn"),
        ({}, "multi_discrete", "dqn"),
        ({}, "multi_binary", "dqn"),
        ({}, "box", "sac"),
        ({"preset": "reflex", "collection": {"seats": ["a", "b"]}}, "discrete", "dqn"),
        # What none of them does.
        ({"policy": {"recurrent": "gru"}}, "discrete", None),
        ({"exploration": "rnd"}, "box", None),
        ({"cloning": {"demonstrations": "x.json"}}, "discrete", None),
        # It was chosen already.
        ({"preset": "slow-page", "algorithm": "ppo"}, "discrete", None),
    ],
)
def test_what_slow_page_can_train_is_asked_of_the_settings(given, action, expected):
    settings = RunSettings.from_mapping(layer_settings(given))
    assert algorithm_for_few_steps(settings, action) == expected
