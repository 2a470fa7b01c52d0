"""Finds the project directory of a game, and what its modules expect of a bundler that Attract's lacks."""

import os
import re
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from attract.errors import GameError

PACKAGE_DIR: Final = Path(__file__).resolve().parent.parent
REPOSITORY_DIR: Final = PACKAGE_DIR.parent.parent
MARKERS: Final = (".git", "package.json")
"""Files that mark the top folder of a project."""
GLOB: Final = re.compile(rb"^(?![ \t]*(?://|/?\*))(.*?)\bimport\.meta\.glob(?:Eager)?\s*[(<]", re.MULTILINE)
"""A call of Vite's that lists files, after the rest of its line; no comment."""


def find_project_dir(module: Path, current: Path | None = None) -> Path:
    """The folder whose files a game module may import, where none was named.

    The outermost of these that hold the module: the current folder, the nearest folder above it with a
    `.git`, the nearest with a `package.json`, its own folder. The first three are never the home directory, a
    folder above that, or the root of the file system.

    Args:
        module: absolute and resolved; it need not exist.
        current: the current folder; None: that of the process.
    """
    above = module.parents
    found = [_nearest_with(marker, above) for marker in MARKERS]
    current = (current or Path.cwd()).resolve()
    if current in above and not _is_too_wide(current):
        found.append(current)
    return min(filter(None, found), key=lambda folder: len(folder.parts), default=module.parent)


def shared_folder(one: Path, other: Path) -> Path | None:
    """The innermost folder that holds both, where it may be a project directory; None: it is too wide."""
    folder = Path(os.path.commonpath((one, other)))
    return None if _is_too_wide(folder) else folder


def wider(module: Path, imported: Path | None = None) -> str:
    """The fix for a module, or a file that it imports, outside the project directory."""
    folder = shared_folder(module.parent.resolve(), (imported or module).parent)
    other = "" if folder is None else f", or choose a wider one: --project-dir {shlex.quote(str(folder))}"
    return f"move it there{other}"


def _nearest_with(marker: str, folders: Sequence[Path]) -> Path | None:
    near = (folder for folder in folders if not _is_too_wide(folder) and (folder / marker).exists())
    return next(near, None)


def _is_too_wide(folder: Path) -> bool:
    """Whether it is the root of the file system, the home directory, or a folder above that."""
    if folder.parent == folder:
        return True
    try:
        return Path.home().resolve().is_relative_to(folder)
    except RuntimeError:  # an account without a home directory
        return False


def check_globs(game: str, code: bytes, project_dir: Path, inputs: Iterable[str]) -> None:
    """Refuses a game that lists files by `import.meta.glob`.

    Args:
        game: its name.
        code: its bundle, without comments and what is not used.
        project_dir: what the names of `inputs` are relative to.
        inputs: of the bundle; packages are left out.

    Raises: GameError: with the file, line and column (from 0) of the call, as the bundler's own errors have.
    """
    if not GLOB.search(code):
        return
    for name in inputs:
        path = project_dir / name
        # Beside files there are the bundler's own definitions.
        if "node_modules" in path.parts or not path.is_file():
            continue
        text = path.read_bytes()
        if found := GLOB.search(text):
            line, column = text.count(b"\n", 0, found.start()), len(found[1])
            shown = text.split(b"\n")[line].decode(errors="replace").strip()
            raise GameError(
                "load",
                f"{game} could not be bundled\n"
                "import.meta.glob is Vite's alone: import each file by its name, or build the game and train "
                "its page (attract train ./dist)\n\n"
                f"    {name}:{line + 1}:{column}:\n"
                f"      {shown}",
                name="BundleError",
                stack="",
            )
