"""What the user's guide shows in Python really runs, and its commands are understood."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from attract import cli

DOCS = Path(__file__).resolve().parents[2] / "docs"
EXAMPLES = [
    pytest.param(block, id=f"{path.stem}-{place}")
    for path in sorted(DOCS.glob("*.md"))
    for place, block in enumerate(re.findall(r"```python\n(.*?)```", path.read_text(), re.DOTALL))
    # A file, which a command of the page runs: `tests/end_to_end/test_documented_commands.py`.
    if not re.match(r"# [\w./-]+\.py\n", block)
]
COMMANDS = [
    pytest.param(command.replace("\\\n", " "), id=f"{path.stem}-{place}")
    for path in (*sorted(DOCS.glob("*.md")), *sorted(DOCS.glob("notebook/*.md")), DOCS.parent / "README.md")
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


@pytest.mark.parametrize("code", EXAMPLES)
def test_an_example_runs(code: str, tmp_path: Path) -> None:
    assert run_example(code, tmp_path)


def test_the_vector_environments_example_balances_the_pole(tmp_path: Path) -> None:
    (code,) = [block.values[0] for block in EXAMPLES if "VectorEnvironment" in str(block.values[0])]
    found = re.search(r"mean return of \d+ episodes: ([\d.]+)", run_example(str(code), tmp_path))
    assert found is not None
    assert float(found[1]) > 300


ROWS = [
    pytest.param(row, id=row.strip("| ").split(" |")[0])
    for row in (DOCS.parent / "CONTRIBUTING.md").read_text().partition("## To add")[2].splitlines()[4:]
]
CAN_BE_ADDED = {
    "a game", "an action space", "how a rate changes over a run", "an algorithm", "a wire message",
    "a metric, a chart",
}  # fmt: skip


def test_a_newcomer_is_told_how_to_add_each_of_these() -> None:
    assert {row.id for row in ROWS} >= CAN_BE_ADDED


@pytest.mark.parametrize("row", ROWS)
def test_a_newcomer_finds_the_files_that_are_to_be_touched(row: str) -> None:
    root = DOCS.parent
    *_, seen = row.strip("| ").split(" | ")
    places = [place for place in re.findall(r"`([\w./-]+)`", row) if "/" in place and "NAME" not in place]
    assert re.search(r"`(tests|docs)/|`make ", seen), f"nothing to see: {seen}"
    for place in places:
        assert (root / place).exists() or (root / "backend" / "attract" / place).exists(), place


LINKING = [
    *(DOCS.parent / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted(DOCS.glob("*.md")),
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


CONDEMNED = re.compile(
    r"\b(?:whoever|nobody|somebody|anybody|everybody|anew|heeds?|heeded|hardly|whither|good-bye)\b"
    r"|of which|as it lies|in its midst|is held to|what is nobody's|to its end\b"
    # A fragment whose noun is elsewhere; `Of the` may begin a sentence.
    r"|(?m:^|(?<=[.!?:] )|(?<=\| )|(?<=- ))of (?:each|all|a|what|its|these)\b",
    re.IGNORECASE,
)
"""Phrases that a reader has to read twice: write subject, verb, object in the field's words."""
PLAIN = [
    *(DOCS.parent / name for name in ("CONTRIBUTING.md", "CHANGELOG.md")),
    *(path for path in sorted(DOCS.glob("*.md")) if path.name not in ("index.md", "rules.md")),
]
EASY = ("tutorial.md", "games.md", "page-games.md", "dashboard.md")
MAX_GRADE = 9.0


def prose(page: str) -> str:
    """A page without its code, addresses of links, and generated parts."""
    page = re.sub(r"<!-- (?:planted|Written by).*?<!-- (?:/planted|End\.) -->", "", page, flags=re.DOTALL)
    page = re.sub(r"```.*?```", "", page, flags=re.DOTALL)
    page = re.sub(r"^    .*$", "", page, flags=re.MULTILINE)
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"`[^`\n]*`", "code", page))


def syllables(word: str) -> int:
    """Groups of vowels, without a silent e at the end."""
    spoken = re.sub(r"(?<=[^aeiouyl])e(?:s|d)?$", "", word.lower())
    return max(1, len(re.findall(r"[aeiouy]+", spoken)))


def grade(page: str) -> float:
    """Flesch-Kincaid grade of the sentences outside tables and headings (Kincaid et al. 1975)."""
    text = re.sub(r"^[|#].*$", "", prose(page), flags=re.MULTILINE)
    parts = re.split(r"[.!?](?=\s)|\n\s*\n|\n\s*(?:[-*]|\d+\.)\s", text)
    sentences = [words for part in parts if (words := re.findall(r"[A-Za-z']+", part))]
    count = sum(map(len, sentences))
    spoken = sum(syllables(word) for words in sentences for word in words)
    return 0.39 * count / len(sentences) + 11.8 * spoken / count - 15.59


@pytest.mark.parametrize("path", [pytest.param(path, id=path.stem) for path in PLAIN])
def test_no_page_has_a_phrase_that_is_read_twice(path: Path) -> None:
    assert [match[0] for match in CONDEMNED.finditer(prose(path.read_text()))] == []


@pytest.mark.parametrize("name", EASY)
def test_a_guide_is_easy_to_read(name: str) -> None:
    assert grade((DOCS / name).read_text()) <= MAX_GRADE


def test_a_condemned_phrase_is_found_and_a_hard_text_is_graded() -> None:
    assert CONDEMNED.findall("Whoever heeds it. Of each the least. One of each is kept.") == [
        "Whoever", "heeds", "Of each",
    ]  # fmt: skip
    # 6 words in 2 sentences, 6 syllables: 0.39 * 3 + 11.8 * 1 - 15.59.
    assert grade("The cat sat.\n\nThe dog ran.\n") == pytest.approx(-2.62)
    assert grade("Institutional considerations necessitate elaborate administrative reorganisation.") > 20
