"""A setting, its default, its limits and its help are written once: in its class."""

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
from pydantic import BaseModel

import attract
from attract import cli
from attract.collection.config import CollectionConfig
from attract.commands.flags import flag_help, server_help
from attract.schema.learner import Begin
from attract.settings.fields import section_of
from attract.settings.given import ALIASES, flag
from attract.settings.presets import PRESET_HELP, PRESETS
from attract.settings.run import SERVER_VARIABLES, RunSettings, ServerSettings
from attract.settings.variables import SETTING_VARIABLES

PACKAGE = Path(attract.__file__).parent
SOURCES = [path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE / "settings"]
COMMANDS = [name for name in cli.app if not name.startswith("-")]


def settings_of(kind: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Path of each setting of a run, and its help."""
    for name, field in kind.model_fields.items():
        section = section_of(field.annotation)
        if section is None:
            yield prefix + name, flag_help(field)
        else:
            yield from settings_of(section, f"{prefix}{name}.")


SETTINGS = dict(settings_of(RunSettings))


@pytest.mark.parametrize("command", COMMANDS)
def test_a_flag_of_a_setting_has_no_text_and_no_default_of_its_own(command: str) -> None:
    own = {f"--{name.replace('_', '-')}": server_help(name) for name in SERVER_VARIABLES.values()}
    if command == "train":
        own |= {f"--{path.replace('_', '-')}": text for path, text in SETTINGS.items() if path != "preset"}
        for alias, path in ALIASES.items():
            own[f"--{alias}".replace("_", "-")] = f"The same as {flag(path)}."
    for argument in cli.app[command].assemble_argument_collection(parse_docstring=True):
        expected = own.get(argument.name)
        if expected is not None and argument.show and argument.name != "--token":
            assert argument.parameter.help == expected, f"attract {command} {argument.name}"


def test_evaluate_leaves_to_the_run_what_was_not_given() -> None:
    flags = {argument.name: argument for argument in cli.app["eval"].assemble_argument_collection()}
    for name in ("episodes", "seed", "deterministic"):
        assert flags[f"--{name}"].field_info.default is None


def test_only_the_settings_spell_their_variables() -> None:
    spelled = re.compile("|".join(rf"[\"']{name}[\"']" for name in (*SERVER_VARIABLES, *SETTING_VARIABLES)))
    assert not [f"{path}: {found[0]}" for path in SOURCES for found in spelled.finditer(path.read_text())]


def test_what_collects_and_what_learns_hold_settings_and_have_no_fields_named_so() -> None:
    named = {path.rpartition(".")[2] for path in SETTINGS} | {path.partition(".")[0] for path in SETTINGS}
    assert not named & set(Begin.model_fields)
    assert not named & {field.name for field in dataclasses.fields(CollectionConfig)}


def test_the_presets_that_may_be_named_are_those_that_there_are() -> None:
    choices = get_args(get_args(RunSettings.model_fields["preset"].annotation)[0])
    assert tuple(PRESETS) == tuple(PRESET_HELP) == choices


def test_no_help_is_written_a_second_time() -> None:
    own = (" ".join((field.description or "").split()) for field in ServerSettings.model_fields.values())
    long = [text for text in (*SETTINGS.values(), *own) if len(text) > 60]
    sources = [*SOURCES, *(PACKAGE.parents[1] / "web" / "dashboard" / "src").rglob("*.ts*")]
    for path in sources:
        source = " ".join(path.read_text().split())
        assert not [text for text in long if text[:60] in source], path
