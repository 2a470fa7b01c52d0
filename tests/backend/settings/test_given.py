"""Layers of settings: what wins, and that a refusal names each setting where and as it was written."""

from pathlib import Path

import pytest

from attract.errors import ConfigurationError
from attract.settings.given import (
    Layer,
    from_aliases,
    from_file,
    from_flags,
    from_values,
    from_variables,
    join_layers,
)
from attract.settings.run import RunSettings

NOTHING = from_values({}, "nothing")


def refused(*layers: Layer, beneath: Layer = NOTHING) -> str:
    with pytest.raises(ConfigurationError) as caught:
        join_layers(beneath, *layers)
    assert caught.value.exit_code == 2
    return str(caught.value)


def test_later_layers_win_and_what_lies_beneath_is_left_to_the_run() -> None:
    beneath = from_values({"ppo": {"gamma": 0.5, "horizon": 8}}, "game.train.yaml")
    file = from_values({"seed": 1, "ppo": {"gamma": 0.6, "n_epochs": 2}}, "a.yaml")
    variables = from_variables({"ATTRACT_PPO_GAMMA": "0.7", "ATTRACT_SEED": "3"})
    flags = from_flags({"ppo": {"gamma": "0.8"}})
    aliases = from_aliases(workers="4", instances=None, max_workers=None)
    assert join_layers(beneath, file, variables, flags, aliases).given == {
        "seed": 3,
        "ppo": {"gamma": 0.8, "n_epochs": 2},
        "collection": {"num_workers": 4},
    }


def test_they_are_checked_once_on_top_of_what_lies_beneath() -> None:
    beneath = from_values({"ppo": {"gamma": 0.5, "horizon": 8}}, "game.train.yaml")
    chosen = join_layers(
        beneath, from_variables({"ATTRACT_SEED": "3"}), from_flags({"ppo": {"gamma": "0.8"}})
    )
    assert chosen.run == RunSettings.from_mapping({"seed": 3, "ppo": {"gamma": 0.8, "horizon": 8}})
    assert chosen.beneath == {"ppo": {"gamma": 0.5, "horizon": 8}}


def test_a_checked_setting_is_spelled_as_it_was_written() -> None:
    beneath = from_values({"seed": 1, "ppo": {"gamma": 0.5}}, "game.train.yaml")
    chosen = join_layers(beneath, from_variables({"ATTRACT_SEED": "3"}), from_aliases(demonstrations="d"))
    assert chosen.spell("seed") == "ATTRACT_SEED"
    assert chosen.spell("ppo", "gamma") == "ppo.gamma in game.train.yaml"
    assert chosen.spell("cloning", "demonstrations") == "--demonstrations"
    assert chosen.spell("device") == "device"


def test_the_same_mistake_is_named_as_it_was_written() -> None:
    rest = "must be a number from 0 to 1 (got 1.5)"
    given = {"ppo": {"gamma": 1.5}}
    assert refused(from_flags({"ppo": {"gamma": "1.5"}})) == f"--ppo.gamma: {rest}"
    assert refused(from_variables({"ATTRACT_PPO_GAMMA": "1.5"})) == f"ATTRACT_PPO_GAMMA: {rest}"
    assert refused(from_values(given, "a.yaml")) == f"ppo.gamma in a.yaml: {rest}"
    assert refused(beneath=from_values(given, "x.train.yaml")) == f"ppo.gamma in x.train.yaml: {rest}"
    fine = from_values({"ppo": {"gamma": 0.5}}, "a.yaml")
    assert refused(fine, from_flags({"ppo": {"gamma": "1.5"}})) == f"--ppo.gamma: {rest}"
    assert refused(from_aliases(workers="0", instances=None, max_workers=None)).startswith("--workers: ")
    assert refused(from_aliases(workers=None, instances="0", max_workers=None)).startswith("--instances: ")


def test_settings_from_two_places_that_do_not_fit_are_each_named_where_they_stand() -> None:
    file, flags = from_values({"ppo": {"burn_in_steps": 8}}, "a.yaml"), from_flags({"ppo": {"horizon": "4"}})
    text = refused(from_values({"policy": {"recurrent": "gru"}}, "b.yaml"), file, flags)
    assert text.startswith("ppo.burn_in_steps in a.yaml and --ppo.horizon: ")


def test_what_only_fits_together_is_judged_together() -> None:
    # Alone, each of these would be refused.
    file = from_values({"policy": {"recurrent": "lstm"}, "federated": {"rank": 0, "world_size": 2}}, "a.yaml")
    flags = from_flags({"ppo": {"burn_in_steps": "4"}, "federated": {"rendezvous": "10.0.0.1:9000"}})
    given = join_layers(NOTHING, file, flags).given
    assert given["ppo"] == {"burn_in_steps": 4}
    assert given["federated"] == {"rank": 0, "world_size": 2, "rendezvous": "10.0.0.1:9000"}


def test_a_flag_takes_the_place_of_what_excludes_it_in_a_lower_layer() -> None:
    file, flags = from_values({"ppo": {"minibatch_steps": 64}}, "a.yaml"), {"ppo": {"num_minibatches": "4"}}
    assert join_layers(NOTHING, file, from_flags(flags)).given["ppo"] == {"num_minibatches": 4}
    both = from_flags({"ppo": {"minibatch_steps": "64", "num_minibatches": "4"}})
    assert refused(both).startswith("--ppo.minibatch-steps and --ppo.num-minibatches: ")


@pytest.mark.parametrize("text", ["none", "null", "None"])
@pytest.mark.parametrize(
    ("section", "name"),
    [("ppo", "target_kl"), ("ppo", "advantage_scale_decay"), ("collection", "max_workers")],
)
def test_none_unsets_what_may_be_unset_wherever_it_is_written(section: str, name: str, text: str) -> None:
    beneath = from_values({section: {name: 0.5 if section == "ppo" else 9}}, "x.train.yaml")
    unset = {section: {name: None}}
    variable = f"ATTRACT_{section}_{name}".upper()
    assert join_layers(beneath, from_flags({section: {name: text}})).given == unset
    assert join_layers(beneath, from_variables({variable: text})).given == unset
    assert join_layers(beneath, from_values({section: {name: text}}, "a.yaml")).given == unset


def test_a_short_flag_unsets_too() -> None:
    beneath = from_values({"collection": {"max_workers": 8, "instances_per_worker": 4}}, "x.train.yaml")
    given = join_layers(beneath, from_aliases(workers=None, max_workers="none", instances="null")).given
    assert given == {"collection": {"max_workers": None, "instances_per_worker": None}}


def test_none_is_a_choice_where_it_is_one_and_null_unsets_it() -> None:
    for text, expected in (("none", "none"), ("null", None)):
        given = from_flags({"policy": {"recurrent": "none"}, "ppo": {"lag_correction": text}})
        assert join_layers(NOTHING, given).given["ppo"] == {"lag_correction": expected}
        given = from_variables({"ATTRACT_PPO_LAG_CORRECTION": text})
        assert join_layers(NOTHING, given).given["ppo"] == {"lag_correction": expected}


def test_a_section_that_may_be_missing_is_unset_whole() -> None:
    beneath = from_values({"callbacks": {"evaluation": {"every_steps": 5}}}, "x.train.yaml")
    given = join_layers(beneath, from_flags({"callbacks": {"evaluation": "none"}, "federated": "none"})).given
    assert given == {"callbacks": {"evaluation": None}, "federated": None}


def test_only_what_may_be_unset_says_so() -> None:
    assert refused(from_flags({"ppo": {"target_kl": "x"}})) == (
        "--ppo.target-kl: must be a number, above 0, or none (got 'x')"
    )
    assert refused(from_flags({"ppo": {"minibatch_unit": "x"}})).startswith(
        "--ppo.minibatch-unit: must be step, segment or none (got 'x')"
    )
    assert refused(from_flags({"ppo": {"lag_correction": "x"}})).startswith(
        "--ppo.lag-correction: must be none, vtrace or null (got 'x')"
    )
    assert refused(from_flags({"ppo": {"gamma": "none"}})) == (
        "--ppo.gamma: must be a number from 0 to 1 (got 'none')"
    )


def test_parameters_are_one_text_of_json() -> None:
    given = join_layers(NOTHING, from_flags({"parameters": '{"my_size": {"uniform": [1, 2]}}'})).given
    assert given == {"parameters": {"my_size": {"uniform": [1, 2]}}}
    with pytest.raises(ConfigurationError, match=r"^--parameters: is not valid JSON: .*\n  e\.g\. "):
        from_flags({"parameters": '{"x'})
    with pytest.raises(ConfigurationError, match=r"^ATTRACT_PARAMETERS: is not valid JSON"):
        from_variables({"ATTRACT_PARAMETERS": "x"})
    text = refused(from_flags({"parameters": '{"my_size": {"uniform": [3, 1]}}'}))
    assert text.startswith("--parameters.my_size.uniform: ")


def test_lists_are_texts_with_commas() -> None:
    flags = from_flags({"policy": {"hidden_sizes": ["64, 32"]}, "collection": {"seats": ["scout,keeper"]}})
    join_layers(NOTHING, flags)
    for layer in (
        from_flags({"policy": {"hidden_sizes": "64"}, "collection": {"seats": "7"}}),
        from_variables({"ATTRACT_POLICY_HIDDEN_SIZES": "64", "ATTRACT_COLLECTION_SEATS": "7"}),
    ):
        alone = join_layers(Layer({}), layer).run
        assert (alone.policy.hidden_sizes, alone.collection.seats) == ((64,), ("7",))
    assert refused(from_flags({"policy": {"hidden_sizes": ["64,x"]}})).startswith("--policy.hidden-sizes: ")


@pytest.mark.parametrize(
    ("text", "expected"),
    [("- 1\n", "must be a mapping"), ("a: [", "is not valid YAML"), (None, "there is no such file")],
)
def test_a_file_that_is_none_is_named(tmp_path: Path, text: str | None, expected: str) -> None:
    path = tmp_path / "own.yaml"
    if text is not None:
        path.write_text(text)
    with pytest.raises(ConfigurationError, match=expected) as caught:
        from_file(path)
    assert str(path) in str(caught.value)
