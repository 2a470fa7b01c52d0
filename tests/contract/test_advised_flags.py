"""No message advises a flag that no command has, or a file that is not installed."""

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

from attract.cli import COMMANDS, WRITTEN_SO, app

PACKAGE = Path(__file__).resolve().parents[2] / "backend" / "attract"
FLAG = re.compile(r"(?<![\w-])--[a-z][\w.-]*[a-z](?:=auto)?")
NAMED = re.compile(r"\battract ([a-z]+)")
NO_MESSAGES = {
    "asgi.py",
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
    return {name for argument in arguments for name in argument.names} | {"--help", *WRITTEN_SO}


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


MODULES = [
    module
    for path in sorted(PACKAGE.rglob("*.py"))
    if (module := path.relative_to(PACKAGE).as_posix()) not in NO_MESSAGES
    and not module.startswith(("web/", "cli.py"))
    and "/__main__" not in module
]


def test_each_flag_that_a_message_advises_is_one_of_the_command() -> None:
    messages = [(module, *message) for module in MODULES for message in messages_of(PACKAGE / module)]
    assert len(messages) > 50
    for module, line, text in messages:
        # Flags of Ray's, Python's and pip's own commands.
        own = re.sub(r"`ray [^`]*`|http\.server .*|--extra-index-url .*", "", text)
        named = [name for name in NAMED.findall(own) if name in COMMANDS] or list(COMMANDS)
        for flag in FLAG.findall(own):
            known = any(flag in flags_of(name) for name in named)
            assert known, f"{module}:{line}: {flag} is of none of {named}"


def test_no_message_names_a_file_of_the_guide_which_an_installed_package_lacks() -> None:
    of_guide = re.compile(r"\bdocs/[\w/-]+\.md")
    modules = [path for path in PACKAGE.rglob("*.py") if "web" not in path.relative_to(PACKAGE).parts]
    named = [(path.name, text) for path in modules for _, text in messages_of(path, of_guide)]
    assert named == []
