"""What a run is started with, and older builds of its game, for the episodes that were played on them."""

import hashlib
import os
import re
from pathlib import Path
from typing import Final

from attract.errors import DamagedRunError
from attract.files import MAX_JSON_BYTES, check_inside, first_problem, write_atomically
from attract.games.kept_game import CODE, CODE_MAP, MAX_CODE_BYTES, PageListing, serve_kept_game
from attract.games.library import GameLibrary, GameModule
from attract.runs.directory import RunDirectory
from attract.schema.game import GameDescription, GameReference
from attract.settings.run import RunSettings

FOLDER: Final = "builds"
PAGE: Final = ".page.json"
MAX_BUILDS: Final = 16
MAX_BUILD_BYTES: Final = 128 << 20
SHA256: Final = re.compile("[0-9a-f]{64}")


def write_start(
    directory: RunDirectory,
    game: str,
    settings: RunSettings,
    module: GameModule,
    description: GameDescription | None = None,
) -> None:
    """Keep what a run is started or resumed with, and the module that this one replaces.

    `description`: what the module says of itself, once known.

    Raises: as `keep_build`.
    """
    keep_build(directory, module.reference)
    directory.write_config(game, settings.model_dump(mode="json"))
    described = None if description is None else module.reference.sha256
    directory.write_game(module.reference, description, described_sha256=described)
    (directory.path / CODE).write_bytes(module.code)
    if module.source_map is not None:
        (directory.path / CODE_MAP).write_bytes(module.source_map)


def keep_build(directory: RunDirectory, newest: GameReference) -> None:
    """Keep the module that is in the run's folder, where `newest` is another that is about to replace it.

    Raises: FileError: the folder of builds leads out of the run. OSError: it cannot be written.
    """
    reference, _ = directory.read_game()
    if reference is None or reference.sha256 == newest.sha256:
        return
    code = directory.read(CODE, MAX_CODE_BYTES)
    if code is None or hashlib.sha256(code).hexdigest() != reference.sha256:
        return
    source_map = directory.read(CODE_MAP, MAX_CODE_BYTES)
    _keep(directory, f"{reference.sha256}.js", code)
    if source_map is not None:
        _keep(directory, f"{reference.sha256}.js.map", source_map)


def keep_page(directory: RunDirectory, listing: PageListing) -> None:
    """Keep the list of a page's files. Raises: as `keep_build`."""
    _keep(directory, f"{listing.sha256}{PAGE}", listing.model_dump_json(indent=1).encode())


def kept_page(directory: RunDirectory, sha256: str) -> PageListing | None:
    """The list of a page's files with this hash; None: it is not kept.

    Raises: DamagedRunError: it is damaged. FileError: it is a link out of the run's folder.
    """
    name = f"{FOLDER}/{sha256}{PAGE}"
    data = directory.read(name, MAX_JSON_BYTES) if SHA256.fullmatch(sha256) else None
    try:
        return None if data is None else PageListing.model_validate_json(data)
    except ValueError as error:
        raise DamagedRunError(directory.run_id, f"{name}: {first_problem(error)}") from None


def serve_kept_build(games: GameLibrary, directory: RunDirectory, sha256: str) -> GameModule | None:
    """The run's module with this hash, served from now on; None: the run has it no more.

    Raises: DamagedRunError: the folder has another in its place. FileError: a link leads out of the folder.
    """
    reference, _ = directory.read_game()
    if reference is not None and reference.sha256 == sha256:
        return serve_kept_game(games, directory)
    known = games.by_hash(sha256)
    if known is not None or reference is None or SHA256.fullmatch(sha256) is None:
        return known
    name = f"{FOLDER}/{sha256}.js"
    code = directory.read(name, MAX_CODE_BYTES)
    if code is None:
        return None
    module = games.keep(reference.name, code, directory.read(f"{name}.map", MAX_CODE_BYTES))
    if module.reference.sha256 != sha256:
        raise DamagedRunError(directory.run_id, f"{name}: its SHA-256 is another")
    return module


def _keep(directory: RunDirectory, name: str, data: bytes) -> None:
    folder = check_inside(directory.path / FOLDER, directory.path)
    folder.mkdir(exist_ok=True)
    if not os.path.lexists(folder / name):
        write_atomically(folder / name, data)
    _prune(folder)


def _prune(folder: Path) -> None:
    """Remove the oldest builds until the others fit; never the newest."""
    files = [path for path in folder.iterdir() if SHA256.match(path.name) and not path.is_dir()]
    ages: dict[str, float] = {}
    for path in files:
        ages[path.name[:64]] = max(ages.get(path.name[:64], 0.0), path.lstat().st_mtime)
    left = sum(path.lstat().st_size for path in files)
    for place, sha256 in enumerate(sorted(ages, key=lambda known: ages[known])[:-1]):
        if len(ages) - place <= MAX_BUILDS and left <= MAX_BUILD_BYTES:
            return
        for path in [path for path in files if path.name.startswith(sha256)]:
            left -= path.lstat().st_size
            path.unlink()
