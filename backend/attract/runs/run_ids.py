"""Ids of runs: plain folder names."""

import re
import secrets
from datetime import UTC, datetime
from pathlib import Path

from attract.errors import ConfigurationError

RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,119}")
# In a project with one game the file's name says nothing; the folder's does.
COMMON_STEMS = frozenset({"game", "index", "main"})
SOURCE_FOLDERS = frozenset({"src", "source", "lib", "app"})


def check_run_id(run_id: str) -> str:
    """`run_id` itself, when it is a plain folder name.

    Raises: ConfigurationError: for anything that could name another folder.
    """
    if not RUN_ID.fullmatch(run_id):
        raise ConfigurationError(
            f"{run_id!r} is no run id",
            setting="run_id",
            fix="use letters, digits, '.', '_' and '-', beginning with a letter or digit, at most 120",
        )
    return run_id


def game_stem(path: Path) -> str:
    """What tells a game from others: its file's name, or of a `game.ts` the name of the project's folder.

    Args:
        path: of the module, absolute.
    """
    stem = path.name.split(".")[0]
    if stem not in COMMON_STEMS:
        return stem
    return next((folder.name for folder in path.parents if folder.name not in SOURCE_FOLDERS), "") or stem


def create_run_id(game: str, now: datetime | None = None, *, project_dir: Path = Path()) -> str:
    """`<game>-<UTC yyyymmdd-hhmmss>-<4 hex>`, a plain folder name whatever `game` holds.

    Args:
        game: a bundled name, or a module's path, relative to `project_dir` or absolute.
        now: None: the current time.
    """
    stem = game_stem((project_dir / game).absolute())
    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", stem).strip("-._") or "game"
    stamp = (now or datetime.now(UTC)).strftime("%Y%m%d-%H%M%S")
    return f"{stem[:60]}-{stamp}-{secrets.token_hex(2)}"
