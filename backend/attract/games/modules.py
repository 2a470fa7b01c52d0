"""Modules that define a game: by the path that a user gives, and all in a project."""

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from attract.errors import ConfigurationError, FileError, nearest_name
from attract.files import read_start
from attract.games.project import REPOSITORY_DIR, wider

SUFFIXES = (".ts", ".js", ".mts", ".mjs")
PAGE = re.compile(r"\.html?$|^https?://")
"""What a user may give who has a page and no adapter."""
NOT_LISTED = frozenset({REPOSITORY_DIR / "web", REPOSITORY_DIR / "benchmarks"})
"""Folders of a clone whose games are not the user's."""
SKIPPED_FOLDERS = frozenset(
    {"node_modules", "vendor", "dist", "build", "out", "runs", "test", "tests", "__pycache__"}
)
EXPORTED = "policy.json"
"""A folder with it is an export: the game in it is a copy."""
MAX_DEPTH = 3
MAX_FILES = 2_000
MAX_MODULES = 50
MAX_NAMED = 5
"""Games of a folder that a refusal names."""
EXPORTS = re.compile(rb"(?:^|[;}/])\s*export default\b", re.MULTILINE)
"""The statement, and not words in a message of the SDK, which bundles have."""
DEFINES = re.compile(rb"(?<!function )\b(?:defineGame|definePageGame)[<(]")
"""Call that marks a module as a game; the SDK's own module declares it."""


def module_path(game: str, project_dir: Path, names: Sequence[str]) -> Path:
    """The module of a path, relative to the project directory, or absolute.

    Args:
        names: of bundled games, for the refusal of what is none.

    Raises: ConfigurationError: there is none, or outside the project directory.
    """
    refuse_project(project_dir / game, game)
    if PAGE.search(game) is not None or (project_dir / game / "index.html").is_file():
        raise ConfigurationError(
            f"{game} is a page without an adapter, which defines what an agent sees and presses",
            setting="game",
            fix=f"attract probe {game} writes an adapter, game.page.ts: name that",
        )
    if not game.endswith(SUFFIXES):
        near = nearest_name(game, names)
        hint = f"did you mean {near!r}? " if near else ""
        raise ConfigurationError(
            f"there is no game {game!r}",
            setting="game",
            fix=f"{hint}bundled: {', '.join(names) or 'none (run npm run build)'}; "
            f"or give a path to a module ending in {', '.join(SUFFIXES)}",
        )
    path = (project_dir / game).resolve()
    if not path.is_relative_to(project_dir):
        raise ConfigurationError(
            f"{game} is outside the project directory {project_dir}",
            setting="game",
            fix=wider(path),
        )
    if not path.is_file():
        raise ConfigurationError(
            f"there is no file {path}", setting="game", fix=_other_file(game, project_dir)
        )
    return path


def _other_file(game: str, project_dir: Path) -> str | None:
    """A hint at the files that exist instead of a missing module."""
    # As Windows writes it, where it lies below WSL.
    with_slashes = game.replace("\\", "/")
    if (project_dir / with_slashes).is_file():
        return f"write {with_slashes}"
    found = list(islice(project_modules(project_dir), MAX_NAMED))
    return f"games there: {', '.join(found)}" if found else None


def project_modules(project_dir: Path) -> Iterator[str]:
    """Modules under the project directory that define a game, found by contents, not by name."""
    found = 0
    for seen, path in enumerate(_walk(project_dir, MAX_DEPTH)):
        if seen >= MAX_FILES or found >= MAX_MODULES:
            return
        if _is_game(path):
            found += 1
            yield path.relative_to(project_dir).as_posix()


def refuse_project(folder: Path, given: str) -> None:
    """Raises: ConfigurationError: `folder` or its sources hold games; the message names them.

    Args:
        folder: may be none at all.
        given: what the user typed to name it.
    """
    if not folder.is_dir():
        return
    found = [path for path in _walk(folder, 1) if _is_game(path)]
    if found:
        names = ", ".join(str(Path(given) / path.relative_to(folder)) for path in found[:MAX_NAMED])
        raise ConfigurationError(
            f"{given} is a folder, not a game", setting="game", fix=f"name the game in it: {names}"
        )


def _is_game(path: Path) -> bool:
    try:
        text = read_start(path, 200_000)
    except FileError:
        return False
    return EXPORTS.search(text) is not None and DEFINES.search(text) is not None


def _walk(folder: Path, depth: int) -> Iterator[Path]:
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return
    for path in entries:
        if path.name.startswith(".") or path.is_symlink() or path in NOT_LISTED:
            continue
        if path.is_file() and path.name.endswith(SUFFIXES) and not path.name.endswith(".d.ts"):
            yield path
        elif (
            path.is_dir()
            and depth > 0
            and path.name not in SKIPPED_FOLDERS
            and not (path / EXPORTED).exists()
        ):
            yield from _walk(path, depth - 1)
