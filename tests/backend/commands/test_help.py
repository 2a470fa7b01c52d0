"""What `--help` shows: groups, a beginning, examples that can be typed, and settings only when asked for."""

import re
import shlex
from collections.abc import Callable

import pytest

from attract import cli
from attract.cli import COMMANDS, GROUPS, WITH_SETTINGS, app
from attract.commands.help import HELP_ALL, docstring_of, examples_of

EXAMPLES = {"": examples_of(cli.EXAMPLES)} | {
    name: examples_of(docstring_of(path)) for name, path in COMMANDS.items()
}


@pytest.fixture
def page(attract: Callable[..., object], capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """What these words print."""

    def read(*words: str) -> str:
        assert attract(*words) == 0
        return capsys.readouterr().out

    return read


def test_commands_stand_in_groups_below_where_to_begin(page: Callable[..., str]) -> None:
    text = page("--help")
    titles = re.findall(r"^╭─ (\w+) ", text, re.MULTILINE)
    assert titles == ["Begin", "Train", "Look", "Ship", "Operate", "Measure", "Options"]
    assert [group.name for group in GROUPS] == titles[:-1]
    assert text.index("start here") < text.index("╭─ Begin")
    for title, commands in zip(titles, GROUPS.values(), strict=False):
        (panel,) = re.findall(rf"╭─ {title} .*?╰", text, re.DOTALL)
        assert re.findall(r"^│ (\w+)  +[A-Z]", panel, re.MULTILINE) == list(commands)


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_each_command_shows_three_examples_before_its_options(name: str, page: Callable[..., str]) -> None:
    text = page(*filter(None, [name]), "--help")
    options = text.find("╭─") if "╭─" in text else len(text)
    assert len(EXAMPLES[name]) == 3
    for command, remark in EXAMPLES[name]:
        assert text.index(f"  {command} ") < options and remark in text


@pytest.mark.parametrize("command", [command for lines in EXAMPLES.values() for command, _remark in lines])
def test_each_example_can_be_typed(command: str) -> None:
    words = shlex.split(re.split(r" (?:\|\||<|>) ", command)[0])
    assert words[0] == "attract"
    _called, bound, _ = app.parse_args(words[1:], exit_on_error=False, print_error=False)
    assert bound.signature.parameters is not None


# Each shows the same settings: see contract/test_settings_once.py.
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[] if name == "train" else [pytest.mark.long]) for name in WITH_SETTINGS],
)
def test_settings_are_shown_only_by_help_all(name: str, page: Callable[..., str]) -> None:
    short, long = page(name, "--help"), page(name, HELP_ALL)
    for flag in ("--ppo.gamma", "--collection.num-workers", "--policy.hidden-sizes"):
        assert flag not in re.findall(r"^│ (--\S+)", short, re.MULTILINE), flag
        assert flag in re.findall(r"^│ (--\S+)", long, re.MULTILINE), flag
    assert HELP_ALL in short
    for flag in ("--seed", "--preset", "--until-return"):
        assert flag in re.findall(r"^│ (--\S+)", short, re.MULTILINE), flag
