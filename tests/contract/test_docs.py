"""What the user's guide shows in Python really runs, and its commands are understood."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from attract import cli

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = (*sorted(DOCS.glob("*.md")), *sorted(DOCS.glob("contributing/*.md")))
EXAMPLES = [
    pytest.param(block, id=f"{path.stem}-{place}")
    for path in PAGES
    for place, block in enumerate(re.findall(r"```python\n(.*?)```", path.read_text(), re.DOTALL))
    # A file, which a command of the page runs: `tests/end_to_end/test_documented_commands.py`.
    if not re.match(r"# [\w./-]+\.py\n", block)
]
COMMANDS = [
    pytest.param(command.replace("\\\n", " "), id=f"{path.stem}-{place}")
    for path in (*PAGES, *sorted(DOCS.glob("notebook/*.md")), DOCS.parent / "README.md")
    for place, command in enumerate(
        re.findall(r"^ *(?:\.venv/bin/)?attract ((?:.*\\\n)*.*)$", path.read_text(), re.MULTILINE)
    )
]


def run_example(code: str, folder: Path) -> str:
    (folder / "example.py").write_text(code)
    # PettingZoo warns of its own games.
    strict = ("-W", "error", "-W", "ignore:The old environment creation API:DeprecationWarning")
    result = subprocess.run(
        [sys.executable, *strict, "example.py"], cwd=folder, capture_output=True, text=True, timeout=240
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_is_understood(command: str) -> None:
    words = shlex.split(command, comments=True)
    cli.app.parse_args(words, exit_on_error=False, print_error=False)


# `make test` runs the longest, which uses a vector environment, below.
@pytest.mark.long
@pytest.mark.parametrize("code", EXAMPLES)
def test_an_example_runs(code: str, tmp_path: Path) -> None:
    assert run_example(code, tmp_path)


def test_the_vector_environments_example_balances_the_pole(tmp_path: Path) -> None:
    (code,) = [block.values[0] for block in EXAMPLES if "VectorEnvironment" in str(block.values[0])]
    found = re.search(r"mean return of \d+ episodes: ([\d.]+)", run_example(str(code), tmp_path))
    assert found is not None
    assert float(found[1]) > 300


LINKING = [
    *(DOCS.parent / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *PAGES,
    *sorted(DOCS.glob("decisions/*.md")),
    *sorted(DOCS.glob("notebook/*.md")),
    DOCS.parent / "shared_schema" / "PROTOCOL.md",
]


def anchors(page: str) -> set[str]:
    """What the headings of a page are called in an address, as GitHub and the site call them."""
    headings = re.findall(r"^#+ (.*)$", page, re.MULTILINE)
    return {re.sub(r"[^\w]+", "-", heading.lower()).strip("-") for heading in headings}


def broken_links(path: Path, text: str) -> list[str]:
    """The links of a page, but those to other hosts, that lead to no file or to no heading."""
    broken: list[str] = []
    for link in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"```.*?```", "", text, flags=re.DOTALL)):
        name, _, anchor = link.partition("#")
        # Pages of the reference are made when the site is built, which fails where one of them is missing.
        if re.match(r"https?:|mailto:", link) or name.startswith("reference/"):
            continue
        target = path.parent / name if name else path
        names = anchors(target.read_text()) if target.suffix == ".md" and target.is_file() else {anchor}
        if not target.exists() or (anchor and anchor not in names):
            broken.append(link)
    return broken


@pytest.mark.parametrize(
    "path", [pytest.param(path, id=f"{path.parent.name}-{path.stem}") for path in LINKING]
)
def test_every_link_leads_somewhere(path: Path) -> None:
    assert broken_links(path, path.read_text()) == []


def test_a_link_that_leads_nowhere_is_found() -> None:
    links = (
        "[a](shipping.md) [b](shipping.md#how-strong-it-plays) [c](gone.md) [d](shipping.md#gone) [e](#gone)"
    )
    assert broken_links(DOCS / "games.md", links) == ["gone.md", "shipping.md#gone", "#gone"]
