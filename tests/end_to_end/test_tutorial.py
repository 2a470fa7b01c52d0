"""The tutorial, typed in one shell in the order of reading, with a second shell where it says so."""

import re
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from documented_commands import typed_blocks
from terminal import Terminal, open_terminal

TUTORIAL = Path(__file__).resolve().parents[2] / "docs" / "tutorial.md"
SERVED = re.compile(r"Local: +(http://localhost:\d+/)")


@pytest.mark.long
@pytest.mark.timeout(1200)
async def test_every_line_of_the_tutorial_works_where_it_is_read(tmp_path: Path, browser: Browser) -> None:
    with open_terminal(tmp_path) as first, open_terminal(tmp_path) as second:
        address = ""
        for block in typed_blocks(TUTORIAL):
            terminal = second if block.is_for_second_terminal else first
            for line in block.lines:
                if line == "npm run dev":
                    terminal.start(line)
                    address = terminal.wait_for(SERVED)[1]
                else:
                    _type(terminal, line)
        assert address, "the second terminal serves no page"
        _check_folders(tmp_path)
        page = await browser.new_page()
        await page.goto(address)
        await page.get_by_role("button", name="Let the agent play").click()
        # There are five balls; random play misses most.
        await expect(page.get_by_role("status")).to_contain_text(
            re.compile(r"The agent scored [45]\.0"), timeout=90_000
        )


def _check_folders(folder: Path) -> None:
    """The page is where the tutorial says, and there is one folder of runs, so that `latest` is one run."""
    assert (folder / "my-game" / "site" / "index.html").is_file()
    assert [path.parent.name for path in folder.rglob("runs") if path.is_dir()] == ["my-game"]


def _type(terminal: Terminal, line: str) -> None:
    """Type a line and wait for its end; a training is ended as the tutorial says. Raises: AssertionError."""
    terminal.start(line)
    if line.startswith("attract train"):
        terminal.wait_for("the dashboard stays open until Ctrl-C")
        terminal.press("\x03")
    code, said = terminal.ended()
    assert code == 0, f"{line}\n{said}"


def test_blocks_are_told_apart_by_the_paragraph_above_them(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "Text.\n\n    one  # why\n    two\n\n```\n    shown\n\n    too\n```\n\n"
        "Open a second terminal:\n\n    three\n\nIn the second terminal it goes on:\n\n    four\n"
    )
    blocks = typed_blocks(page)
    assert [(block.lines, block.is_for_second_terminal) for block in blocks] == [
        (["one", "two"], False),
        (["three"], True),
        (["four"], False),
    ]
