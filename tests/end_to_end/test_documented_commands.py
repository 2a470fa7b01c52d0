"""Commands of the guide's pages are run as a reader would, in a folder with the files that the page shows."""

from pathlib import Path

import pytest

from documented_commands import Page, run_documented, shortened

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = ["games.md", "not-learning.md", "tutorial.md"]
"""Pages every command of which is run."""


@pytest.mark.parametrize("name", PAGES)
def test_every_command_of_the_page_does_what_it_says(name: str, tmp_path: Path) -> None:
    page = Page.read(DOCS / name)
    assert page.commands, f"{name} shows no command"
    page.write_files(tmp_path)
    for words in page.commands:
        outcome = run_documented(words, tmp_path)
        assert outcome.code == 0, f"attract {' '.join(words)}\n{outcome.stdout}\n{outcome.stderr}"


def test_files_and_commands_are_found_and_trainings_cut_short(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "Text.\n\n```ts\n// deep/catch.ts\nexport default 1;\n```\n\n"
        "```\nattract train deep/catch.ts --total-steps 300000 \\\n  --ppo.gamma 0.9   # why\n"
        "attract serve\n```\n\n"
        "    .venv/bin/attract eval latest --episodes 5\n"
    )
    found = Page.read(page)
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
