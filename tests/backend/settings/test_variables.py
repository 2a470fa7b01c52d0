"""Environment variables: one meaning each, and a warning for those that nothing reads."""

import os
import re
from pathlib import Path

import pytest

from attract import cli
from attract.settings.run import SERVER_VARIABLES
from attract.settings.variables import (
    OTHER_VARIABLES,
    SETTING_VARIABLES,
    given_by_variables,
    unread_variables,
)

PAGE = Path(__file__).resolve().parents[3] / "docs" / "configuration.md"


def test_a_variable_per_setting_gives_it() -> None:
    environment = {
        "ATTRACT_SEED": " 7 ",
        "ATTRACT_PPO_GAMMA": "0.9",
        "ATTRACT_FEDERATED_RANK": "1",
        "ATTRACT_CALLBACKS_EVALUATION_EVERY_STEPS": "5",
        "ATTRACT_PPO_N_EPOCHS": "",
        "ATTRACT_PORT": "8000",
    }
    assert given_by_variables(environment) == {
        "seed": "7",
        "ppo": {"gamma": "0.9"},
        "callbacks": {"evaluation": {"every_steps": "5"}},
        "federated": {"rank": "1"},
    }


def test_no_variable_means_two_things() -> None:
    assert not set(SETTING_VARIABLES) & (set(SERVER_VARIABLES) | set(OTHER_VARIABLES))
    assert not set(SERVER_VARIABLES) & set(OTHER_VARIABLES)


def test_a_variable_that_nothing_reads_is_named_with_what_would_be_read() -> None:
    environment = {
        "ATTRACT_PPO_GAMA": "1",
        "ATTRACT_OUT": "x",
        "ATTRACT_ZZZZ": "1",
        "ATTRACT_SEED": "1",
        "ATTRACT_CHROMIUM": "/x",
        "HOME": "/",
    }
    assert unread_variables(environment, lambda: {"ATTRACT_OUT": "--out"}) == [
        "ATTRACT_OUT is not read: give --out instead",
        "ATTRACT_PPO_GAMA is not read: did you mean ATTRACT_PPO_GAMMA?",
        "ATTRACT_ZZZZ is not read: "
        "a setting such as `policy.hidden-sizes` has the variable ATTRACT_POLICY_HIDDEN_SIZES",
    ]


@pytest.mark.parametrize("name", ["ATTRACT_OUT", "ATTRACT_ONLY", "ATTRACT_WORKERS", "ATTRACT_EPISODES"])
def test_what_is_only_a_flag_is_no_variable(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for own in [name for name in os.environ if name.startswith("ATTRACT_")]:
        monkeypatch.delenv(own)
    monkeypatch.setenv(name, "1")
    monkeypatch.setattr("sys.argv", ["attract", "frobnicate"])
    with pytest.raises(SystemExit):
        cli.main()
    flag = "--" + name.removeprefix("ATTRACT_").lower()
    assert f"warning: {name} is not read: give {flag} instead" in capsys.readouterr().err


def test_the_page_lists_every_variable_of_the_server() -> None:
    named = set(re.findall(r"ATTRACT_[A-Z_]+", PAGE.read_text()))
    assert {*SERVER_VARIABLES, *OTHER_VARIABLES} <= named
    assert named <= {*SERVER_VARIABLES, *OTHER_VARIABLES, *SETTING_VARIABLES}
