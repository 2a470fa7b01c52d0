"""Commands of the guide's pages are run as a reader would, in a folder with the files that the page shows."""

import shlex
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest

from documented_commands import Page, run_documented, run_script, shortened, typed

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
IN_ONE_SHELL = "tutorial.md"
"""The page that `test_tutorial.py` types as a person does."""
PAGES = {
    path.name: path
    for path in (ROOT / "README.md", *sorted(DOCS.glob("*.md")), *sorted(DOCS.glob("contributing/*.md")))
    if path.name != IN_ONE_SHELL
}
AT_ONCE = ("look.md",)
"""Pages whose commands `make test` runs, here quick ones; those of all others run in `make long`."""
BEFORE: dict[tuple[str, str], str] = {
    ("README.md", "train cartpole --resume --run-id latest"): "train cartpole --headless",
    ("commands.md", "eval latest"): "train snake --headless",
    ("page-games.md", "eval latest"): "train meteors --headless",
    ("shipping.md", "export latest --out policy --format js"): "train foragers --headless",
}
"""What has to be there before a page's command can be typed."""
FILES = {"curriculum.md": ["web/games/snake/curriculum.yaml"]}
"""Files of the clone that a page's commands name."""
NOT_RUN: list[dict[str, Any]] = tomllib.loads(
    Path(__file__).with_name("documented_commands.toml").read_text()
)["not_run"]


def skipped_on(name: str) -> set[str]:
    """The commands of a page that are not run here."""
    return {command for row in NOT_RUN if row["page"] == name for command in row["commands"]}


def texts_of(page: Page) -> list[str]:
    """Every command of a page as `documented_commands.toml` has it."""
    return [*(f"attract {shlex.join(words)}" for words in page.commands), *page.others]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if name in AT_ONCE else [pytest.mark.long, pytest.mark.timeout(1800)])
        for name in PAGES
        if Page.read(PAGES[name]).commands
    ],
)
def test_every_command_of_the_page_does_what_it_says(name: str, tmp_path: Path) -> None:
    page, skipped = Page.read(PAGES[name]), skipped_on(name)
    page.write_files(tmp_path)
    for file in FILES.get(name, []):
        (tmp_path / file).parent.mkdir(parents=True)
        shutil.copyfile(ROOT / file, tmp_path / file)
    for words in page.commands:
        if f"attract {shlex.join(words)}" in skipped:
            continue
        needed = BEFORE.get((name, shlex.join(words)))
        for command in [words] if needed is None else [needed.split(), words]:
            outcome = run_documented(command, tmp_path)
            assert outcome.code == 0, f"attract {' '.join(command)}\n{outcome.stdout}\n{outcome.stderr}"
    for line in page.others:
        if line not in skipped:
            assert run_script(line, tmp_path)


@pytest.mark.parametrize("name", PAGES)
def test_what_is_not_run_has_a_reason_and_stands_on_its_page(name: str) -> None:
    page, skipped = Page.read(PAGES[name]), skipped_on(name)
    assert skipped - set(texts_of(page)) == set(), "no longer on the page"
    scripts = {f"python3 {file}" for file in page.files if file.endswith(".py")}
    assert set(page.others) - skipped - scripts == set(), "neither run nor given a reason"
    for row in NOT_RUN:
        assert row["reason"] and (ROOT / row.get("tried_by", "tests")).exists(), row
    needed = {command for other, command in BEFORE if other == name}
    assert needed <= {shlex.join(words) for words in page.commands}


def test_files_and_commands_are_found_and_trainings_cut_short(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "Text.\n\n```text\n$ attract new a\nattract train a.ts\n```\n\n"
        "```ts\n// deep/catch.ts\nexport default 1;\n```\n\n"
        "```\nattract train deep/catch.ts --total-steps 300000 \\\n  --ppo.gamma 0.9   # why\n"
        "attract serve\n```\n\n"
        "    .venv/bin/attract eval latest --episodes 5\n    npm ci   # once\n    FOO=1 attract train a\n"
    )
    found = Page.read(page)
    assert found.others == ["attract serve", "npm ci", "FOO=1 attract train a"]
    assert typed("make gpu-check  # here") == "make gpu-check"
    assert found.commands == [
        ["train", "deep/catch.ts", "--total-steps", "300000", "--ppo.gamma", "0.9"],
        ["eval", "latest", "--episodes", "5"],
    ]
    assert shortened(found.commands[0], 7) == [
        "train",
        "deep/catch.ts",
        "--ppo.gamma",
        "0.9",
        "--total-steps",
        "7",
    ]
    assert shortened(["train", "a", "--until-return=5"], 7) == ["train", "a", "--total-steps", "7"]
    assert shortened(found.commands[1], 7) == found.commands[1]
    found.write_files(tmp_path)
    assert (tmp_path / "deep" / "catch.ts").read_text() == "// deep/catch.ts\nexport default 1;\n"
