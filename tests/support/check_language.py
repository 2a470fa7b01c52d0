"""Checks the language of comments, docstrings, messages and constants.

Three habits make a sentence hard to read at once: a comment that begins with its object ("Of each host"),
an unnamed subject ("whoever"), and a bound that is called `MOST_` instead of `MAX_`.
"""

import os
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = ("backend", "benchmarks", "shared_schema", "web")
CHECKED = (*PRODUCT, "tests")
SUFFIXES = (".py", ".ts", ".tsx", ".mjs", ".js", ".css", ".html", ".toml")
NOT_WRITTEN = {"node_modules", "dist", "build", "built", "golden", "__pycache__"}
"""Folders of installed, built or generated files."""
BUILT_PAGES = "backend/attract/web"
THIS_LINT = {"tests/support/check_language.py", "tests/contract/test_language.py"}

BEGINS_WITH_OF = re.compile(r"""(?:"{3}|'{3}|\#|//|/\*+|<!--)[ \t]*(?:\n[ \t*]*)?Of\s""")
"""A comment, docstring or attribute docstring; its text may begin on the line after the mark."""
UNNAMED = re.compile(r"\b(?:whoever|nobody|somebody|anybody)\b", re.IGNORECASE)
BOUND = re.compile(r"\b_*(?:MOST|FEWEST|LEAST)_[A-Z]\w*")

NOT_YET: tuple[str, ...] = ()
"""Files and folders that do not pass yet. One that passes must leave this list."""


def main(root: Path = ROOT, not_yet: tuple[str, ...] = NOT_YET) -> int:
    """Prints every problem; the exit code."""
    problems = language_problems(root, not_yet)
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


def language_problems(root: Path, not_yet: tuple[str, ...] = NOT_YET) -> list[str]:
    """`file:line: what` outside of `not_yet`, and each entry of `not_yet` that passes by now.

    A file counts for the longest entry that contains it.
    """
    problems: list[str] = []
    failing: set[str] = set()
    for name in _files(root):
        found = problems_in(name, (root / name).read_text(encoding="utf-8"))
        entries = [entry for entry in not_yet if f"{name}/".startswith(f"{entry}/")]
        if not entries:
            problems += found
        elif found:
            failing.add(max(entries, key=len))
    passing = [entry for entry in not_yet if entry not in failing]
    return problems + [f"{entry} passes: remove it from NOT_YET" for entry in passing]


def problems_in(name: str, text: str) -> list[str]:
    """`name:line: what` for each place in the text of the file `name`, by kind, then by line."""
    places = [(match.end() - 1, "a comment begins with 'Of'") for match in BEGINS_WITH_OF.finditer(text)]
    places += [(match.start(), f"{match[0]}: call it MAX_ or MIN_") for match in BOUND.finditer(text)]
    if name.startswith(PRODUCT):
        places += [(match.start(), f"{match[0]!r}: name the subject") for match in UNNAMED.finditer(text)]
    return [f"{name}:{text.count(chr(10), 0, place) + 1}: {what}" for place, what in places]


def _files(root: Path) -> list[str]:
    found: list[str] = []
    for top in CHECKED:
        for folder, folders, files in os.walk(root / top):
            inside = Path(folder).relative_to(root).as_posix()
            folders[:] = [
                each for each in folders if each not in NOT_WRITTEN and f"{inside}/{each}" != BUILT_PAGES
            ]
            found += [f"{inside}/{file}" for file in files if file.endswith(SUFFIXES)]
    return sorted(set(found) - THIS_LINT)


if __name__ == "__main__":
    sys.exit(main())
