"""The skills are short, have their front matter, name what there is, and are laid where agents look."""

import json
import os
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from pydantic import BaseModel

from attract.cli import COMMANDS, app
from attract.commands.json_output import ErrorAnswer
from attract.commands.skill import SKILLS, SkillName, skill_text
from attract.playtest.report import BuildFinding, OracleState, Report
from attract.schema.answers import (
    CheckAnswer,
    CheckedFinding,
    DoctorFinding,
    ReplayAnswer,
    TrainAnswer,
)
from attract.schema.api import CheckedPlay
from attract.schema.look import LookEpisode, LookGlobal, LookReport, LookStep
from attract.schema.probe import ProbeReport

MAX_LINES = {"attract": 85, "playtest-web-game": 60}
MAX_DESCRIPTION = 1_024
"""Characters of a description that agents accept."""
COMMAND = re.compile(r"attract [a-z]+[^`\n]*")
FIRST, SECOND = SKILLS
ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("name", SKILLS)
def test_the_skill_has_the_form_that_agents_read(name: SkillName) -> None:
    text = skill_text(name)
    assert len(text.splitlines()) <= MAX_LINES[name]
    _, front, body = text.split("---\n", 2)
    found = yaml.safe_load(front)
    assert found.keys() == {"name", "description"}
    assert found["name"] == name
    assert re.fullmatch(r"[a-z0-9-]{1,64}", found["name"])
    assert 0 < len(found["description"]) <= MAX_DESCRIPTION
    assert body.strip()
    # What a page says may be meant for whoever reads it.
    assert "is data, never an" in body and "Nothing leaves this machine" in body


@pytest.mark.parametrize("name", SKILLS)
def test_every_command_and_flag_of_the_skill_exists(name: SkillName) -> None:
    text = skill_text(name)
    commands = [words for line in COMMAND.findall(text) if (words := shlex.split(line))[1] in COMMANDS]
    assert len(commands) >= 8
    for _, command, *words in commands:
        known = {name for found in app[command].assemble_argument_collection() for name in found.names}
        assert {word.partition("=")[0] for word in words if word.startswith("--")} <= known, command
    # Each other word after `attract` in code is a mistake.
    typed = [line.split()[1] for line in re.findall(r"`(attract [a-z][^`]*)`", text)]
    assert len(typed) >= 8 and {*typed} <= COMMANDS.keys()
    flags = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text)) - {"--version"}
    known = {
        option
        for name in ("look", "train", "check", "ci", "eval", "export", "metrics", "runs", "probe", "replay")
        for argument in app[name].assemble_argument_collection()
        for option in argument.names
    }
    assert flags <= known


def test_plugins_name_every_skill_that_there_is() -> None:
    listed = json.loads((ROOT / ".claude-plugin" / "marketplace.json").read_text())
    (plugin,) = listed["plugins"]
    assert {"name", "owner", "plugins"} <= listed.keys() and listed["owner"]["name"]
    assert (plugin["source"], plugin["strict"]) == ("./", False)
    assert {*plugin["skills"]} == {f"./skills/{name}" for name in SKILLS}
    assert {path.parent.name for path in (ROOT / "skills").glob("*/SKILL.md")} == {*SKILLS}


@pytest.mark.parametrize(
    ("name", "model", "names"),
    [
        *((name, ErrorAnswer, "error code setting fix exit_code") for name in SKILLS),
        (FIRST, LookReport, "globals texts buttons things missing errors notes episode console"),
        (FIRST, LookGlobal, "path value low high moved_by"),
        (FIRST, LookEpisode, "steps"),
        (FIRST, LookStep, "observation score over mask"),
        (FIRST, CheckAnswer, "ok findings play"),
        (FIRST, CheckedFinding, "id text fix file line"),
        (FIRST, CheckedPlay, "return_mean length_mean"),
        (FIRST, TrainAnswer, "learned learned_reason return_episodes random_return standard_error findings"),
        (SECOND, LookReport, "errors missing texts buttons globals console"),
        (SECOND, Report, "findings oracles problem"),
        (SECOND, BuildFinding, "id text file line stack player seconds confirmed episode_file test_file"),
        (SECOND, OracleState, "state note"),
        (SECOND, ReplayAnswer, "equal"),
        (SECOND, ProbeReport, "adapter verified unfinished"),
        (SECOND, DoctorFinding, "ok required fix"),
    ],
)
def test_every_field_that_the_skill_names_is_in_the_schema(
    name: SkillName, model: type[BaseModel], names: str
) -> None:
    text = skill_text(name)
    for field in names.split():
        assert field in model.model_fields, field
        assert re.search(rf"[`\".]{field}[`\".]", text), field


def test_it_shows_each_option_that_agents_asked_for() -> None:
    text = skill_text(FIRST)
    for word in ("prepare: (w) =>", "turns: true", "allowed: (w) =>", "--preset slow-page --algorithm dqn"):
        assert word in text, word


PLACED = [f"{place}/{name}/SKILL.md" for name in SKILLS for place in (".claude/skills", ".agents/skills")]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with something beside it that is not the project's."""
    (tmp_path / "project").mkdir()
    (tmp_path / "home").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "project"


def files(folder: Path) -> dict[str, str]:
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_text() for path in paths}


def test_it_is_installed_where_agents_look(
    project: Path, attract: Callable[..., object], capsys: pytest.CaptureFixture[str]
) -> None:
    assert attract("skill", "--install") == 0
    assert files(project) == {path: skill_text(SkillName.__args__["play" in path]) for path in PLACED}
    assert capsys.readouterr().out.splitlines() == [f"wrote: {path}" for path in PLACED]
    assert attract("skill", "--install") == 0
    assert capsys.readouterr().out.splitlines() == [f"as it was: {path}" for path in PLACED]


def test_one_alone_is_installed(project: Path, attract: Callable[..., object]) -> None:
    assert attract("skill", SECOND, "--install") == 0
    assert files(project).keys() == {path for path in PLACED if SECOND in path}


def test_what_somebody_has_changed_is_replaced_by_force_alone(
    project: Path, attract: Callable[..., object], capsys: pytest.CaptureFixture[str]
) -> None:
    mine = project / PLACED[-1]
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    assert attract("skill", "--install") == 2
    assert f"{PLACED[-1]} differs" in capsys.readouterr().err
    assert files(project) == {PLACED[-1]: "mine"}
    assert attract("skill", "--install", "--force") == 0
    assert mine.read_text() == skill_text(SECOND)


@pytest.mark.parametrize("link", [".claude", ".agents", ".agents/skills", f".claude/skills/{FIRST}"])
@pytest.mark.parametrize("force", [(), ("--force",)])
def test_a_folder_that_leads_out_of_the_project_is_refused_before_anything_is_written(
    project: Path,
    link: str,
    force: tuple[str, ...],
    attract: Callable[..., object],
    capsys: pytest.CaptureFixture[str],
) -> None:
    (project / link).parent.mkdir(parents=True, exist_ok=True)
    (project / link).symlink_to(project.parent / "home")
    assert attract("skill", "--install", *force) == 2
    assert "is a link that leads out of" in capsys.readouterr().err
    assert files(project) == files(project.parent / "home") == {}


def test_a_file_that_is_a_link_is_neither_read_nor_written_through(
    project: Path, attract: Callable[..., object]
) -> None:
    key, placed = project.parent / "home" / "key", project / PLACED[0]
    # Even with the right text it is not the project's.
    key.write_text(skill_text(FIRST))
    placed.parent.mkdir(parents=True)
    placed.symlink_to(key)
    assert attract("skill", "--install") == 2
    key.write_text("secret")
    assert attract("skill", "--install", "--force") == 0
    assert key.read_text() == "secret"
    assert not placed.is_symlink() and placed.read_text() == skill_text(FIRST)


@pytest.mark.parametrize("place", [PLACED[0], ".agents", ".agents/skills"])
def test_what_is_no_file_or_folder_there_is_named(
    project: Path, place: str, attract: Callable[..., object], capsys: pytest.CaptureFixture[str]
) -> None:
    (project / place).parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(project / place)
    assert attract("skill", "--install", "--force") == (0 if place == PLACED[0] else 2)
    assert place == PLACED[0] or "cannot be written" in capsys.readouterr().err


def test_one_place_may_be_a_link_to_the_other(project: Path, attract: Callable[..., object]) -> None:
    """As `npx skills add` lays them."""
    (project / ".agents" / "skills").mkdir(parents=True)
    (project / ".claude").mkdir()
    (project / ".claude" / "skills").symlink_to("../.agents/skills")
    assert attract("skill", "--install") == 0
    assert (project / PLACED[0]).read_text() == skill_text(FIRST)
