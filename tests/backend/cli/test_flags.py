"""Flags: every option of `attract train` has a text and a group, and mistakes are one line."""

import re
from collections.abc import Mapping
from typing import Any

import pytest
from rich.console import Console

from attract import cli
from attract.cli.flags import GROUPS, OTHER
from attract.settings.run import RunSettings
from attract.settings.schema import run_settings_schema, setting_paths

RULE_ID = re.compile(r"\b[TESPCID]\d{1,2}\b")


def test_every_option_has_a_text_for_a_user_and_a_group() -> None:
    arguments = cli.app["train"].assemble_argument_collection(parse_docstring=True)
    shown = [argument for argument in arguments if argument.show]
    assert len(shown) > 60
    for argument in shown:
        assert argument.parameter.help, f"{argument.name} has no text"
        assert not RULE_ID.search(argument.parameter.help), f"{argument.name} names a rule by its id"
        assert "rule" not in argument.parameter.help.lower(), argument.name
        groups = [group.name for group in argument.parameter.group]
        assert groups and OTHER.name not in groups and "Parameters" not in groups, (
            f"{argument.name}: {groups}"
        )


def test_a_flag_of_an_optional_setting_says_what_none_gives() -> None:
    arguments = cli.app["train"].assemble_argument_collection(parse_docstring=True)
    helped = {argument.name: argument.parameter.help or "" for argument in arguments if argument.show}
    optional = [f"--{path}" for path, part in setting_paths(run_settings_schema()) if _is_nullable(part)]
    assert len(optional) > 15
    for name in (name.replace("_", "-") for name in optional):
        assert re.search(r"`(none|null)`:", helped[name]), f"{name}: {helped[name]}"
    assert not [name for name, text in helped.items() if "None" in text]
    assert "`none`" not in helped["--ppo.gamma"]


def _is_nullable(schema: Mapping[str, Any]) -> bool:
    is_section = any("properties" in part for part in schema.get("anyOf", ()))
    return not is_section and {"type": "null"} in schema.get("anyOf", ())


def test_a_flag_takes_none() -> None:
    words = "train cartpole --ppo.target-kl none --max-workers none --workers 3"
    _, bound, _ = cli.app.parse_args(words, exit_on_error=False, print_error=False)
    given = bound.arguments
    assert given["settings"] == {"ppo": {"target_kl": "none"}}
    assert (given["max_workers"], given["workers"]) == ("none", "3")


def test_every_setting_has_its_group() -> None:
    assert set(GROUPS) == set(RunSettings.model_fields)


MISTAKES = [
    ("serve --port x", "--port: must be a whole number (got 'x')"),
    ("results --scale x", "--scale: must be a number (got 'x')"),
    ("bench --device gpu", "--device: must be cpu or cuda (got 'gpu')"),
    ("export x", "--out is missing; attract export --help shows all"),
    ("train cartpole --ppo.gama 1", "Did you mean --ppo.gamma?"),
    (
        "train cartpole --policy.hidden-sizes 64 32",
        "one word with commas, for example --policy.hidden-sizes 64,64",
    ),
    ("evall x", 'Did you mean "eval"?'),
    ("eval x --episodes 0", "--episodes"),
]


@pytest.mark.parametrize(("words", "expected"), MISTAKES)
def test_a_mistake_is_one_line_and_exits_2(words: str, expected: str) -> None:
    console = Console(width=60, soft_wrap=True, highlight=False)
    with console.capture() as captured, pytest.raises(SystemExit) as ended:
        cli.app(words.split(), error_console=console)
    assert ended.value.code == 2
    assert captured.get().startswith("error: ")
    assert expected in captured.get()
    assert len(captured.get().splitlines()) == 1
