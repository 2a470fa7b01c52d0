"""Settings of algorithms with a replay buffer: what they refuse, and what they say of an update."""

from typing import Literal

import pytest

from attract.errors import ConfigurationError
from attract.settings.algorithm import RunContext
from attract.settings.cell_checks import check_for_cells
from attract.settings.dqn import DqnSettings
from attract.settings.presets import layer_settings
from attract.settings.run import RunSettings

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


@pytest.mark.parametrize("algorithm", ["dqn", "sac"])
def test_it_trains_in_one_cell(algorithm: Literal["dqn", "sac"]):
    with pytest.raises(ConfigurationError, match=f"algorithm: {algorithm} trains in one cell"):
        check_for_cells(RunSettings(algorithm=algorithm))


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("replay_ratio", 0.0),
        ("batch_size", 0),
        ("tau", 1.5),
        ("n_steps", 0),
        ("gamma", 1.01),
        ("buffer_mebibytes", 0),
    ],
)
def test_a_number_out_of_its_limits_is_refused_by_its_path(name: str, wrong: float):
    with pytest.raises(ConfigurationError, match=f"dqn.{name}"):
        DqnSettings.from_mapping({name: wrong})


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
