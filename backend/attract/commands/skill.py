"""`attract skill`: what a coding agent reads before it plays, tests or trains on a game in a page."""

from pathlib import Path
from typing import Final, Literal

from attract.commands import flags
from attract.commands.destination import check_writable, shown_path, write_output
from attract.errors import ConfigurationError
from attract.files import check_inside
from attract.games.project import PACKAGE_DIR, REPOSITORY_DIR
from attract.processes.exit_codes import DONE

SkillName = Literal["attract", "playtest-web-game"]
SKILLS: Final[tuple[SkillName, ...]] = SkillName.__args__  # pyright: ignore[reportAttributeAccessIssue]
FILE: Final = "SKILL.md"
PLACES: Final = (".claude/skills", ".agents/skills")
"""Where coding agents look in a project: Claude Code; Codex, Cursor, Copilot, Gemini CLI and most others."""


@flags.options
class SkillOptions:
    install: bool = False
    """Write the skills into .claude/skills and .agents/skills of the current folder."""
    force: bool = False
    """With --install: replace files that differ."""


def skill(name: SkillName | None = None, /, options: SkillOptions = SkillOptions()) -> int:
    """Print a SKILL.md for coding agents, or write both where agents look for them.

    Parameters
    ----------
    name
        attract: from a page to a trained agent. playtest-web-game: find what a change broke. By default the
        first is printed, or both are written.

    Examples
    --------
    attract skill  # to read
    attract skill playtest-web-game  # the other one
    attract skill --install  # for the coding agents of this project
    """
    if not options.install:
        print(skill_text(name or SKILLS[0]), end="")
        return DONE
    for line in install_skills(Path.cwd(), (name,) if name else SKILLS, force=options.force):
        print(line)
    return DONE


def skill_text(name: SkillName) -> str:
    """The text of a skill, with the front matter of a SKILL.md."""
    # A wheel brings them; in a clone they lie at its top.
    folders = (PACKAGE_DIR / "skills", REPOSITORY_DIR / "skills")
    return next(folder for folder in folders if folder.is_dir()).joinpath(name, FILE).read_text("utf-8")


def install_skills(project: Path, names: tuple[SkillName, ...], *, force: bool) -> list[str]:
    """Write skills into a project; a line for each file. All of it is checked before any is written.

    Raises: ConfigurationError: a file differs from what would be written, and is not to be replaced, or it
        cannot be written. FileError: a link leads out of the project.
    """
    texts = {project / place / name / FILE: skill_text(name) for name in names for place in PLACES}
    for path in texts:
        check_inside(path.parent, project)
        check_writable(path)
    there = {path: _is_there(path, text) for path, text in texts.items()}
    if not force and None in there.values():
        differ = ", ".join(shown_path(path) for path, is_same in there.items() if is_same is None)
        fix = "attract skill --install --force replaces it"
        raise ConfigurationError(f"{differ} differs from this version's", setting="attract skill", fix=fix)
    for path, text in texts.items():
        if not there[path]:
            write_output(path, text.encode(), project)
    return [f"{'as it was' if there[path] else 'wrote'}: {shown_path(path)}" for path in texts]


def _is_there(path: Path, text: str) -> bool | None:
    """Whether that text is there already; None: something else is."""
    if path.is_symlink() or (path.exists() and not path.is_file()):
        return None
    if not path.exists():
        return False
    return True if path.stat().st_size == len(text.encode()) and path.read_text("utf-8") == text else None
