"""Runs the commands that a page of the documentation shows, with its files, each training cut short."""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from attract_command import AttractCommand, Outcome

FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE_NAME = re.compile(r"(?://|#) ([\w./-]+\.\w+)\n")
"""A block that is a file says so in its first line: `// catch.ts`, `# catch.train.yaml`."""
COMMAND = re.compile(r"^ *(?:\.venv/bin/)?attract ((?:.*\\\n)*.*)$", re.MULTILINE)
ENDLESS = ("serve", "join")
"""Commands that end only when they are told to."""


@dataclass(frozen=True)
class Page:
    """What a page of `docs/` shows that can be tried."""

    commands: list[list[str]]
    """Words after `attract`, in the order of the page; those that never end are left out."""
    files: dict[str, str]
    """Text by name."""

    @classmethod
    def read(cls, path: Path) -> "Page":
        """The page's code blocks and indented commands."""
        text = path.read_text()
        files: dict[str, str] = {}
        for _language, block in FENCED.findall(text):
            named = FILE_NAME.match(block)
            if named is not None:
                files[named[1]] = block
        commands = [
            shlex.split(command.replace("\\\n", " "), comments=True) for command in COMMAND.findall(text)
        ]
        return cls([words for words in commands if words and words[0] not in ENDLESS], files)

    def write_files(self, folder: Path) -> None:
        """Write every file that the page shows into `folder`."""
        for name, text in self.files.items():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)


def shortened(words: list[str], total_steps: int) -> list[str]:
    """The command as it is, but a training ends after `total_steps`, whatever it was to reach."""
    if words[0] != "train":
        return words
    kept: list[str] = []
    rest = iter(words)
    for word in rest:
        if word in ("--total-steps", "--until-return"):
            next(rest)
        elif not word.startswith(("--total-steps=", "--until-return=")):
            kept.append(word)
    return [*kept, "--total-steps", str(total_steps)]


def run_documented(words: list[str], folder: Path, *, total_steps: int = 2_000) -> Outcome:
    """Run one command in `folder`, its runs in `folder/runs`, a training for `total_steps` at the most.

    Give commands in the page's order: `attract eval latest` is about the run of the command before it.
    """
    arguments = shortened(words, total_steps)
    return AttractCommand(*arguments, runs_dir=folder / "runs", folder=folder).wait()
