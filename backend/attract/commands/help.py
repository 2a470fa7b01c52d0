"""What a user reads of flags: the layout of `--help`, and the sentence about a mistake."""

import inspect
import re
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, get_args, get_origin

from cyclopts import CoercionError, CycloptsError, Group, MissingArgumentError
from cyclopts.exceptions import UnusedCliTokensError
from cyclopts.help import DefaultFormatter
from rich.text import Text
from typing_extensions import override

if TYPE_CHECKING:
    from cyclopts.help import HelpPanel
    from rich.console import Console, ConsoleOptions

HELP_ALL: Final = "--help-all"
EVERY_SETTING: Final = f"{HELP_ALL} also shows every setting."
"""Last line of the help of commands that take settings."""

BEGIN: Final = Group("Begin", sort_key=1)
TRAIN: Final = Group("Train", sort_key=2)
LOOK: Final = Group("Look", sort_key=3)
SHIP: Final = Group("Ship", sort_key=4)
OPERATE: Final = Group("Operate", sort_key=5)
MEASURE: Final = Group("Measure", sort_key=6)
OPTIONS: Final = Group("Options", sort_key=7)
KINDS: Final = {int: "a whole number", float: "a number"}


def docstring_of(path: str) -> str:
    """Docstring of the function at an import path such as `attract.commands.train:train`.

    It is read from the source, since the modules of all commands take seconds to import.
    """
    module, _, function = path.partition(":")
    spec = find_spec(module)
    source = "" if spec is None or spec.origin is None else Path(spec.origin).read_text(encoding="utf-8")
    found = re.search(rf'^def {function}\(.*?"""(.*?)"""', source, re.MULTILINE | re.DOTALL)
    if found is None:
        raise RuntimeError(f"{path} has no docstring")
    return inspect.cleandoc(found[1])


def examples_of(docstring: str) -> list[tuple[str, str]]:
    """Commands with a remark each, from the last section of a docstring, `Examples`."""
    lines = docstring.partition("Examples\n--------\n")[2].splitlines()
    return [(command.rstrip(), remark) for command, _, remark in (line.partition("  # ") for line in lines)]


class Layout(DefaultFormatter):
    """A command's description, three examples, then its parameters."""

    def __init__(self, docstring: str) -> None:
        super().__init__()
        self._examples = examples_of(docstring)

    @override
    def render_description(self, console: "Console", options: "ConsoleOptions", description: Any) -> None:
        super().render_description(console, options, description)
        width = max(len(command) for command, _remark in self._examples)
        console.print(Text("Examples:", style="bold"))
        for command, remark in self._examples:
            line = Text(f"  {command:<{width}}")
            line.append(f"  # {remark}", style="dim")
            console.print(line, soft_wrap=True)
        console.print()


class SettingsLayout(DefaultFormatter):
    """A group of settings, which only `--help-all` shows."""

    @override
    def __call__(self, console: "Console", options: "ConsoleOptions", panel: "HelpPanel") -> None:
        if HELP_ALL in sys.argv:
            super().__call__(console, options, panel)


def mistake(error: CycloptsError) -> Text:
    """One line: what is wrong in a command line, and what would be valid."""
    return Text.assemble(("error:", "red"), f" {mistake_text(error)}")


def mistake_text(error: CycloptsError) -> str:
    """The same without its first word."""
    name = "" if error.argument is None else error.argument.name
    if isinstance(error, CoercionError) and error.token is not None and error.target_type is not None:
        wanted = _wanted(error.target_type)
        if wanted is not None:
            return f"{error.token.keyword or name}: must be {wanted} (got {error.token.value!r})"
    if isinstance(error, MissingArgumentError):
        command = " ".join(("attract", *(error.command_chain or ())))
        return f"{name.lstrip('-') if name.isupper() else name} is missing; {command} --help shows all"
    if isinstance(error, UnusedCliTokensError) and error.unused_tokens:
        return (
            f"unexpected {error.unused_tokens[0]!r}: an option takes one value, "
            "and a list is one word with commas, for example --policy.hidden-sizes 64,64"
        )
    return str(error)


def _wanted(kind: Any) -> str | None:
    """Description of valid values of this type; None for types whose own message is clear."""
    kinds = [arg for arg in (get_args(kind) or (kind,)) if arg is not type(None)]
    if get_origin(kind) is Literal:
        *others, last = (str(kind) for kind in kinds)
        return f"{', '.join(others)} or {last}"
    return KINDS.get(kinds[0]) if len(kinds) == 1 else None
