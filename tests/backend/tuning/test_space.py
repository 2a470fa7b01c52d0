"""What is searched follows from the settings and the game, and from what the user says."""

from pathlib import Path

import pytest

from attract.errors import ConfigurationError
from attract.schema.game import GameDescription
from attract.settings.presets import layer_settings
from attract.settings.run import RunSettings
from attract.tuning.space import (
    Choice,
    Range,
    base_values,
    default_space,
    nested,
    promising_values,
    read_search,
    search_space,
    value_at,
)


def description(action: dict) -> GameDescription:
    return GameDescription.model_validate(
        {
            "id": "g",
            "tick_seconds": 0.1,
            "seconds_per_step": 0.1,
            "ticks_per_step": 1,
            "max_seconds": None,
            "max_steps": None,
            "observation": {"kind": "box", "shape": [1], "low": [0.0], "high": [1.0], "dtype": "float32"},
            "action": action,
        }
    )


BOX = {"kind": "box", "shape": [1], "low": [-1.0], "high": [1.0], "dtype": "float32"}


def searched(tmp_path: Path, text: str):
    path = tmp_path / "search.yaml"
    path.write_text(text)
    return read_search(path)


@pytest.mark.parametrize(
    "given",
    [
        *(
            {},
            {"preset": "memory"},
            {"preset": "pixels"},
            {"ppo": {"entropy_coef": 0.0}},
            {"preset": "explore"},
        ),
        *({"algorithm": "dqn"}, {"preset": "slow-page"}, {"algorithm": "sac"}),
        # Rates beyond what is usually tried.
        *({"ppo": {"learning_rate": 0.5}}, {"algorithm": "dqn", "dqn": {"learning_rate": 0.5, "tau": 1.0}}),
    ],
)
def test_the_defaults_lie_in_the_space_and_every_value_is_one_a_run_can_have(given: dict):
    base = RunSettings.from_mapping(layer_settings(given))
    space = default_space(base, None)
    values = base_values(base, tuple(space))
    for name, domain in space.items():
        assert domain.holds(values[name]), name
        for value in domain.samples:
            RunSettings.model_validate(layer_settings(given, nested({name: value})))


def test_what_was_given_is_not_searched_even_where_it_was_unset():
    given = {"ppo": {"gamma": 0.9, "gae_lambda": None}}
    space = search_space(RunSettings.from_mapping(given), given, None, {})
    assert "ppo.gamma" not in space
    assert "ppo.gae_lambda" not in space
    assert "ppo.learning_rate" in space


@pytest.mark.parametrize("algorithm", ["dqn", "sac"])
def test_of_an_algorithm_with_a_buffer_its_own_settings_are_searched_and_few_copies(algorithm: str):
    base = RunSettings.from_mapping({"algorithm": algorithm})
    space = search_space(base, {"algorithm": algorithm, algorithm: {"gamma": 0.9}}, None, {})
    own = {name.partition(".")[2] for name in space if name.startswith(f"{algorithm}.")}
    assert own >= {"learning_rate", "tau", "replay_ratio", "n_steps", "batch_size"}
    assert "gamma" not in own and not any(name.startswith("ppo.") for name in space)
    assert ("policy.shared_trunk" in space) == (algorithm != "dqn")
    # Copies beyond 16 leave few updates of a short run.
    assert space["collection.instances_per_worker"] == Choice((None, 4, 8, 16))


def test_continuous_actions_have_a_deviation_to_search():
    space = search_space(RunSettings(), {}, description(BOX), {})
    # Empty is 0.5 here.
    assert space["policy.log_std_init"] == Choice((None, -0.5, 0.0))
    discrete = {"kind": "discrete", "n": 3, "labels": None}
    assert "policy.log_std_init" not in default_space(RunSettings(), description(discrete))


def test_a_file_narrows_widens_and_drops(tmp_path: Path):
    said = searched(
        tmp_path,
        "ppo.gamma: null\nppo:\n  n_epochs: [1, 3]\n  clip_range: {low: 0.1, high: 0.3}\n"
        "policy.hidden_sizes: [[32], [256, 256]]\nppo.burn_in_steps: {low: 0, high: 0x1f}\n",
    )
    said.pop("ppo.burn_in_steps")
    space = search_space(RunSettings(), {}, None, said)
    assert "ppo.gamma" not in space
    assert space["ppo.n_epochs"] == Choice((1, 3))
    assert space["ppo.clip_range"] == Range(0.1, 0.3, log=False, whole=False)
    assert space["policy.hidden_sizes"] == Choice(([32], [256, 256]))
    assert "ppo.learning_rate" in space


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("ppo.gama: [1]", "did you mean ppo.gamma?"),
        ("seed: [1, 2]", "is not searched"),
        ("ppo.gamma: 0.9", "must be a range, a list of values, or null"),
        ("ppo.gamma: []", "must be a range"),
        ("ppo.gamma: [{a: 1}]", "must be a range"),
        ("ppo.gamma: {low: 0.9}", "needs the numbers low and high"),
        ("ppo.gamma: {low: 0.9, high: .inf}", "needs the numbers low and high"),
        ("ppo.gamma: {low: 0.9, high: 0.8}", "is not below high"),
        ("ppo.gamma: {low: 0, high: 0.8, log: true}", "has no logarithm"),
        ("ppo.gamma: {low: 0, high: 0.8, step: 2}", "not step"),
    ],
)
def test_a_file_that_cannot_be_searched_is_refused_by_name(tmp_path: Path, text: str, named: str):
    with pytest.raises(ConfigurationError) as refused:
        searched(tmp_path, text)
    assert named in str(refused.value)
    assert text.split(":")[0] in str(refused.value)


def test_a_value_that_no_run_could_have_is_refused_before_anything_is_trained(tmp_path: Path):
    with pytest.raises(ConfigurationError, match=r"ppo\.gamma"):
        search_space(RunSettings(), {}, None, searched(tmp_path, "ppo.gamma: {low: 0.5, high: 1.5}"))


def test_a_space_of_nothing_is_refused():
    names = default_space(RunSettings(), None)
    with pytest.raises(ConfigurationError, match="every setting that is searched is fixed"):
        search_space(RunSettings(), {}, None, dict.fromkeys(names))


def test_a_name_is_found_in_nested_settings():
    assert value_at({"ppo": {"gamma": 1}}, "ppo.gamma") == 1
    assert value_at({"ppo": 3}, "ppo.gamma", "absent") == "absent"


def test_what_solved_other_games_sooner_is_tried_first_where_it_is_in_the_space():
    settings = RunSettings.from_mapping({"total_steps": 1000})
    space = default_space(settings, None)
    usual = base_values(settings, tuple(space))
    assert promising_values(space, usual) == [
        {"ppo.learning_rate": 0.005, "ppo.n_epochs": 2},
        {"ppo.learning_rate": 0.005, "ppo.minibatch_steps": 512},
    ]
    few = space | {"ppo.n_epochs": Choice((1, 4))}
    assert promising_values(few, usual) == [{"ppo.learning_rate": 0.005, "ppo.minibatch_steps": 512}]
    assert promising_values({name: space[name] for name in space if name != "ppo.n_epochs"}, usual) == []
