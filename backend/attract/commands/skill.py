"""`attract skill`: what a coding agent reads before it trains an agent on a game in a page."""

from pathlib import Path
from typing import Final

from attract.commands.destination import shown_path, writing
from attract.processes.exit_codes import DONE

SKILL: Final = Path(__file__).with_name("SKILL.md")


def skill() -> int:
    """Print a SKILL.md: how a coding agent brings a game in a page to a trained agent.

    Examples
    --------
    attract skill  # to read
    attract skill > SKILL.md  # beside a game
    attract skill > .claude/skills/attract/SKILL.md  # where a coding agent looks for skills
    """
    print(skill_text(), end="")
    return DONE


def skill_text() -> str:
    """The text of the skill, with the front matter of a SKILL.md."""
    return SKILL.read_text(encoding="utf-8")


def lay_skill(folder: Path) -> str:
    """Write the skill into a folder that exists, unless a SKILL.md is there; a line that says which.

    Raises: ConfigurationError: the folder cannot be written.
    """
    path = folder / SKILL.name
    with writing(path):
        try:
            with path.open("x", encoding="utf-8") as file:
                file.write(skill_text())
        except FileExistsError:
            return f"{shown_path(path)} is there already, and stays"
    return f"wrote {shown_path(path)}, which a coding agent reads"
