"""The skill is short, has its front matter, and names what there is."""

import re
import shlex
from pathlib import Path

import pytest
import yaml

from attract.cli import COMMANDS, app
from attract.commands.skill import lay_skill, skill_text
from attract.errors import ConfigurationError
from attract.schema.answers import CheckAnswer, CheckedFinding, ErrorAnswer, TrainAnswer
from attract.schema.api import CheckedPlay
from attract.schema.look import LookEpisode, LookGlobal, LookReport, LookStep

MAX_LINES = 80
MAX_DESCRIPTION = 1_024
"""Characters of a description that agents accept."""
COMMAND = re.compile(r"attract [a-z]+[^`\n]*")


def test_the_skill_has_the_form_that_agents_read() -> None:
    text = skill_text()
    assert len(text.splitlines()) <= MAX_LINES
    _, front, body = text.split("---\n", 2)
    found = yaml.safe_load(front)
    assert found.keys() == {"name", "description"}
    assert re.fullmatch(r"[a-z0-9-]{1,64}", found["name"])
    assert 0 < len(found["description"]) <= MAX_DESCRIPTION
    assert body.strip()


def test_every_command_and_flag_of_the_skill_exists() -> None:
    commands = COMMAND.findall(skill_text())
    assert len(commands) >= 10
    for command in commands:
        name, *words = shlex.split(command)[1:]
        assert name in COMMANDS, command
        known = {option for argument in app[name].assemble_argument_collection() for option in argument.names}
        assert {word.partition("=")[0] for word in words if word.startswith("--")} <= known, command
    text = skill_text()
    flags = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text))
    known = {
        option
        for name in ("look", "train", "check", "eval", "export", "metrics", "runs", "probe")
        for argument in app[name].assemble_argument_collection()
        for option in argument.names
    }
    assert flags <= known


@pytest.mark.parametrize(
    ("model", "names"),
    [
        (ErrorAnswer, "error code setting fix exit_code"),
        (LookReport, "globals texts buttons things missing errors notes episode console"),
        (LookGlobal, "path value low high moved_by"),
        (LookEpisode, "steps"),
        (LookStep, "observation score over mask"),
        (CheckAnswer, "ok findings play"),
        (CheckedFinding, "id text fix file line"),
        (CheckedPlay, "return_mean length_mean"),
        (TrainAnswer, "learned learned_reason return_episodes random_return standard_error findings"),
    ],
)
def test_every_field_that_the_skill_names_is_in_the_schema(model: type, names: str) -> None:
    text = skill_text()
    for name in names.split():
        assert name in model.model_fields, name  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
        assert re.search(rf"[`\".]{name}[`\".]", text), name


def test_it_shows_each_option_that_agents_asked_for() -> None:
    text = skill_text()
    for word in ("prepare: (w) =>", "turns: true", "allowed: (w) =>", "--preset slow-page --algorithm dqn"):
        assert word in text, word


def test_a_skill_that_is_there_stays(tmp_path: Path) -> None:
    assert "wrote" in lay_skill(tmp_path)
    assert (tmp_path / "SKILL.md").read_text() == skill_text()
    (tmp_path / "SKILL.md").write_text("mine")
    assert "is there already" in lay_skill(tmp_path)
    assert (tmp_path / "SKILL.md").read_text() == "mine"
    with pytest.raises(ConfigurationError, match="cannot be written"):
        lay_skill(tmp_path / "SKILL.md")
