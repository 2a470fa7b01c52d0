"""No message advises a flag that the command which says it does not have, or a file that is not installed."""

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from attract.cli import app
from attract.cli.command_line import COMMANDS, WRITTEN_SO

PACKAGE = Path(__file__).resolve().parents[2] / "backend" / "attract"
FLAG = re.compile(r"(?<![\w-])--[a-z][\w.-]*[a-z](?:=auto)?")
NAMED = re.compile(r"\battract ([a-z]+)")
TRAINS = ("train",)
SERVES = ("train", "serve")
PLAYS = ("train", "check", "tune", "imitate", "serve", "eval", "export")
RUNS = ("train", "tune", "imitate", "serve", "eval", "export", "rollback", "report")

SAID_BY: dict[str, tuple[str, ...]] = {
    "cluster/engine.py": ("cluster",),
    "commands/episodes.py": ("replay", "export"),
    "commands/exported_episode.py": ("export",),
    "commands/exported_page.py": ("export",),
    "commands/exported_trial.py": ("export",),
    "commands/look_answer.py": ("look",),
    "commands/look_inputs.py": ("look",),
    "commands/resuming.py": TRAINS,
    "commands/trainer_watch.py": ("join",),
    "commands/tune_display.py": ("tune",),
    "diagnosis/advice.py": TRAINS,
    "playtest/findings.py": ("ci",),
    "playtest/policies.py": ("ci", "difficulty"),
    "playtest/sweep.py": ("difficulty",),
    "games/kept_game.py": ("eval", "export"),
    "games/page_files.py": ("look", "export"),
    "games/library.py": PLAYS,
    "vector/serving/decider.py": TRAINS,
    "run/collection_effects.py": TRAINS,
    "run/plan_text.py": TRAINS,
    "run/service.py": TRAINS,
    "run/start_checks.py": TRAINS,
    "runs/directory.py": RUNS,
    "runs/studies.py": ("tune",),
    "server/app_server.py": SERVES,
    "server/guard.py": SERVES,
    "server/in_process.py": SERVES,
    "server/links.py": SERVES,
    "settings/dqn.py": TRAINS,
    "settings/sac.py": TRAINS,
    "settings/ppo.py": TRAINS,
    "settings/run.py": SERVES,
    "tuning/space.py": ("tune",),
    "tuning/tuner.py": ("tune",),
}
"""Which commands say the messages of a module that is not one command's own; each of them needs the flag."""
OWN = {"evaluate": "eval"}
"""Modules of `commands` that are called otherwise than their command."""
NO_MESSAGES = {
    "asgi.py",
    "server/serving.py",
    "browser/chromium.py",
    "cluster/plan.py",
    "commands/doctor.py",
    "processes/link.py",
    "runs/scrubbing.py",
    "tuning/process_runner.py",
}
"""Modules whose texts with flags are words for other programs."""


@functools.cache
def flags_of(command: str) -> set[str]:
    # `cluster` takes the flags of `train` as well.
    commands = (command, "train") if command == "cluster" else (command,)
    arguments = (argument for name in commands for argument in app[name].assemble_argument_collection())
    return {name for argument in arguments for name in argument.names} | set(WRITTEN_SO)


def text_of(node: ast.expr) -> str | None:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join(text_of(value) or "{}" for value in values)
        case ast.BinOp(left=left, right=right):
            return (text_of(left) or "{}") + (text_of(right) or "{}")
        case _:
            return None


def messages_of(path: Path, wanted: re.Pattern[str] = FLAG) -> Iterator[tuple[int, str]]:
    """Texts with a flag that a person reads: those of several words, and those that name a setting."""
    source = path.read_text()
    if FLAG.search(source) is None:
        return
    tree = ast.parse(source)
    words = [node for node in ast.walk(tree) if isinstance(node, ast.keyword)]
    settings = {id(word.value) for word in words if word.arg == "setting"}
    helps = {id(word.value) for word in words if word.arg == "help"}
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    inner: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr | ast.BinOp):
            inner |= {id(child) for child in ast.walk(node) if child is not node}
        if not isinstance(node, ast.expr) or id(node) in inner | docstrings | helps:
            continue
        text = text_of(node)
        if text and wanted.search(text) and (" " in text.strip() or id(node) in settings):
            yield node.lineno, text


MESSAGES = [
    pytest.param(module, text, id=f"{module}:{line}")
    for path in sorted(PACKAGE.rglob("*.py"))
    if (module := path.relative_to(PACKAGE).as_posix()) not in NO_MESSAGES
    and not module.startswith(("web/", "cli/"))
    and "/__main__" not in module
    for line, text in messages_of(path)
]


def said_by(module: str) -> tuple[str, ...]:
    if module in SAID_BY:
        return SAID_BY[module]
    folder, _, name = module.removesuffix(".py").partition("/")
    command = OWN.get(name, name)
    is_own = folder == "commands" and command in COMMANDS
    assert is_own, f"say in SAID_BY which commands say what {module} says"
    return (command,)


@pytest.mark.parametrize(("module", "text"), MESSAGES)
def test_each_flag_that_a_message_advises_is_one_of_the_command(module: str, text: str) -> None:
    # Flags of Ray's own command.
    text = re.sub(r"`ray [^`]*`", "", text)
    named = [name for name in NAMED.findall(text) if name in COMMANDS]
    for flag in FLAG.findall(text):
        if named:
            assert any(flag in flags_of(name) for name in named), f"{flag} is of none of {named}"
            continue
        for command in said_by(module):
            assert flag in flags_of(command), f"attract {command} has no {flag}"


def test_the_messages_are_found() -> None:
    assert len(MESSAGES) > 50


def test_no_message_names_a_file_of_the_guide_which_an_installed_package_lacks() -> None:
    of_guide = re.compile(r"\bdocs/[\w/-]+\.md")
    modules = [path for path in PACKAGE.rglob("*.py") if "web" not in path.relative_to(PACKAGE).parts]
    named = [(path.name, text) for path in modules for _, text in messages_of(path, of_guide)]
    assert named == []
