"""The game of a run as the run's folder keeps it: its module, and the folder of its page."""

from pathlib import Path, PurePosixPath

from attract.errors import ConfigurationError, DamagedRunError
from attract.games.library import PAGE_SUFFIXES, GameLibrary, GameModule
from attract.runs.directory import RunDirectory

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
