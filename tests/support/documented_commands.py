"""Runs the commands that a page of the documentation shows, with its files, each training cut short."""

import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from attract_command import AttractCommand, Outcome

FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PRINTED = re.compile(r"^```text\n.*?^```$", re.MULTILINE | re.DOTALL)
"""Output of a command, which is not typed."""
FILE_NAME = re.compile(r"(?://|#) ([\w./-]+\.\w+)\n")
"""A block that is a file says so in its first line: `// catch.ts`, `# catch.train.yaml`."""
COMMAND = re.compile(r"^ *(?:\.venv/bin/)?attract ((?:.*\\\n)*.*)$", re.MULTILINE)
INDENTED = re.compile(r"^ {4}(\S.*)$", re.MULTILINE)
ATTRACT = re.compile(r"(?:[A-Z_]+=\S+ )*(?:\.venv/bin/)?attract ")
PROGRAM = re.compile(r"(?:\.venv/bin/)?(?:cd|npm|npx|python3?|docker|make|pipx?|curl|kubectl|git) ")
ENDLESS = ("serve", "join")
"""Commands that end only when they are told to."""


@dataclass(frozen=True)
class Page:
    """What a page of `docs/` shows that can be tried."""

    commands: list[list[str]]
    """Words after `attract`, in the order of the page; those that never end are left out."""
    others: list[str]
    """Lines that are typed into a shell besides: other programs, and what never ends."""
    files: dict[str, str]
    """Text by name."""

    @classmethod
    def read(cls, path: Path) -> "Page":
        """The page's code blocks and indented commands."""
        text = PRINTED.sub("", path.read_text())
        files: dict[str, str] = {}
        for _language, block in FENCED.findall(text):
            named = FILE_NAME.match(block)
            if named is not None:
                files[named[1]] = block
        commands = [
            shlex.split(command.replace("\\\n", " "), comments=True) for command in COMMAND.findall(text)
        ]
        fenced = "".join(block for language, block in FENCED.findall(text) if not language)
        lines = [*fenced.splitlines(), *INDENTED.findall(FENCED.sub("", text))]
        return cls(
            [words for words in commands if words and words[0] not in ENDLESS],
            [typed(line) for line in lines if _is_other(line)],
            files,
        )

    def write_files(self, folder: Path) -> None:
        """Write every file that the page shows into `folder`."""
        for name, text in self.files.items():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)


@dataclass(frozen=True)
class Block:
    """Lines that a page has typed one after another."""

    lines: list[str]
    before: str
    """The paragraph above them."""

    @property
    def is_for_second_terminal(self) -> bool:
        """Whether the paragraph above says so."""
        return "Open a second terminal" in self.before


def typed_blocks(path: Path) -> list[Block]:
    """The indented blocks of a page in its order."""
    blocks: list[Block] = []
    before = ""
    for paragraph in re.split(r"\n\n+", FENCED.sub("", path.read_text())):
        lines = paragraph.splitlines()
        if all(line.startswith("    ") for line in lines):
            blocks.append(Block([typed(line) for line in lines], before))
        before = paragraph
    return blocks


def typed(line: str) -> str:
    """What is typed of it, without the remark."""
    return line.split("  #")[0].split(" # ")[0].strip()


def _is_other(line: str) -> bool:
    found = ATTRACT.match(line)
    if found is None:
        return PROGRAM.match(line) is not None
    # With a variable before it, it is none of `commands`.
    return "=" in found[0] or line[found.end() :].split()[0] in ENDLESS


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


def run_script(line: str, folder: Path) -> str:
    """What `python3 FILE` prints there, a file that the page shows. Raises: AssertionError: it fails."""
    (name,) = shlex.split(line)[1:]
    done = subprocess.run([sys.executable, name], cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def run_documented(words: list[str], folder: Path, *, total_steps: int = 2_000) -> Outcome:
    """Run one command in `folder`, its runs in `folder/runs`, a training for `total_steps` at the most.

    One that goes on with a run does twice as many.

    Give commands in the page's order: `attract eval latest` is about the run of the command before it.
    """
    arguments = shortened(words, total_steps * (2 if "--resume" in words else 1))
    return AttractCommand(*arguments, runs_dir=folder / "runs", folder=folder).wait()
