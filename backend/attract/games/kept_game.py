"""The game of a run as the run's folder keeps it: its module, and the folder of its page."""

import hashlib
import os
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath
from typing import Annotated, Final, Literal

from pydantic import Field

from attract.errors import ConfigurationError, DamagedRunError, FileError
from attract.files import open_file
from attract.games.library import PAGE_SUFFIXES, GameLibrary, GameModule
from attract.games.page_files import NOT_SHIPPED, is_shown_file
from attract.runs.directory import RunDirectory
from attract.schema.base import Count, WireModel
from attract.schema.game import GameDescription, description_sha256
from attract.schema.recorded_episode import Sha256

MAX_FILES: Final = 5_000
MAX_BYTES: Final = 256 << 20
PIECE_BYTES: Final = 1 << 20


class ListedFile(WireModel):
    """One file."""

    sha256: Sha256
    num_bytes: Count


class PageListing(WireModel):
    """The files of a page's folder that a site would have."""

    format: Literal["attract-page-files"] = "attract-page-files"
    version: Literal[1] = 1
    sha256: Sha256
    """Hash over the lines `NAME SHA256`, sorted by name, each with a newline."""
    page: str
    """The page, as a path below its adapter's folder."""
    files: Annotated[dict[str, ListedFile], Field(max_length=MAX_FILES)]
    """By their paths from the page's folder."""


def list_page(page: Path, folder: Path) -> PageListing | None:
    """The files beside and below a page; None: it is not there, or is too large to be listed.

    Args:
        page: the page itself.
        folder: the adapter's, which the files must lie in after their links are followed.
    """
    folder = folder.resolve()
    files: dict[str, ListedFile] = {}
    num_bytes = 0
    for number, path in enumerate(_files(page.parent)):
        if number == MAX_FILES:
            return None
        if not is_shown_file(path.resolve(), folder):
            continue
        digest, size = hashlib.sha256(), 0
        try:
            with open_file(path, folder) as file:
                while piece := file.read(PIECE_BYTES):
                    digest.update(piece)
                    size += len(piece)
                    if num_bytes + size > MAX_BYTES:
                        return None
        except FileError:
            # A pipe, or gone meanwhile: no page is given it.
            continue
        num_bytes += size
        name = path.relative_to(page.parent).as_posix()
        files[name] = ListedFile(sha256=digest.hexdigest(), num_bytes=size)
    if page.name not in files:
        return None
    lines = "".join(f"{name} {files[name].sha256}\n" for name in sorted(files))
    place = page.relative_to(folder).as_posix() if page.is_relative_to(folder) else page.name
    return PageListing(
        sha256=hashlib.sha256(lines.encode(errors="surrogateescape")).hexdigest(), page=place, files=files
    )


def _files(folder: Path) -> Iterator[Path]:
    for top, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if _is_shipped(name))
        yield from (Path(top) / name for name in sorted(names) if _is_shipped(name))


def _is_shipped(name: str) -> bool:
    return not any(fnmatch(name, pattern) for pattern in NOT_SHIPPED)


CODE = "game.js"
CODE_MAP = "game.js.map"
MAX_CODE_BYTES = 256 << 20


def serve_kept_game(games: GameLibrary, directory: RunDirectory) -> GameModule | None:
    """The module that a run was trained on, served from now on; None when its folder has none.

    Raises: DamagedRunError: the folder has another in its place. FileError: a link leads out of the folder.
    """
    reference, _ = directory.read_game()
    code = directory.read(CODE, MAX_CODE_BYTES)
    if reference is None or code is None:
        return None
    known = games.by_hash(reference.sha256)
    if known is not None:
        return known
    module = games.keep(reference.name, code, directory.read(CODE_MAP, MAX_CODE_BYTES))
    if module.reference.sha256 != reference.sha256:
        raise DamagedRunError(
            directory.run_id, f"{CODE}: is not the game that the run was trained on (its SHA-256 differs)"
        )
    return module


def project_of(directory: RunDirectory) -> Path | None:
    """The folder of the adapter that the run was trained with, where that is still there: its page is in it.

    None: the game is bundled, lives in no page, or its path is relative to what was served. A run's folder
    may be a stranger's: a folder without an adapter is none that it can name.
    """
    module = Path(str(directory.read_config()["game"]))
    is_adapter = module.name.endswith(PAGE_SUFFIXES)
    return module.parent if is_adapter and module.is_absolute() and module.is_file() else None


def page_folder(directory: RunDirectory, project_dir: Path, game_path: Path | None) -> Path | None:
    """The folder of a run's adapter, above its page.

    Args:
        directory: of the run.
        project_dir: what a relative path of the game's is relative to.
        game_path: where its adapter, its page or the folder of either is now; None: where it was.

    Returns: None where the game lives in no page, or in one that a server gives.

    Raises: ConfigurationError: the page is not there, or `game_path` is of a game without one.
    """
    reference, description = directory.read_game()
    page = None if description is None else description.page
    if reference is None or page is None or "://" in page:
        if game_path is None:
            return None
        raise ConfigurationError(
            f"the game of {directory.path.name} has no page in a folder",
            setting="--game",
            fix="omit it: the run keeps all files of its game",
        )
    if game_path is None:
        folder = GameLibrary(project_of(directory) or project_dir).adapter_folder(reference)
        where = (project_dir / reference.name).parent if folder is None else folder
        looked_in = [] if folder is None else [folder]
    else:
        where = game_path.resolve()
        # Its adapter, or that folder; or the page itself, or the folder of that.
        above = where.parents
        depth = len(PurePosixPath(page).parts)
        looked_in = [where, *above[:depth]]
    found = next((folder for folder in looked_in if (folder / page).is_file()), None)
    if found is None:
        raise ConfigurationError(
            f"the page {page} that {directory.path.name} was trained in is not below {where}",
            setting="--game",
            fix="put it back, or give its new place: --game PATH, the adapter or its folder",
        )
    return found


def list_played_page(description: GameDescription | None, adapter_folder: Path | None) -> PageListing | None:
    """The files of the game's page; None where it has none of its own, or they are too many to be listed."""
    if description is None or adapter_folder is None or description.page is None or "://" in description.page:
        return None
    return list_page(adapter_folder / description.page, adapter_folder)


def build_hashes(
    module: GameModule, description: GameDescription | None, listing: PageListing | None
) -> dict[str, str | None]:
    """What a recorded episode says of the build that was played."""
    return {
        "game_sha256": module.reference.sha256,
        "description_sha256": None if description is None else description_sha256(description),
        "page_sha256": None if listing is None else listing.sha256,
    }
