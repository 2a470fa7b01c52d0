"""The game of a run as the run's folder keeps it: its module, and what the run was started with."""

from pathlib import Path

from attract.games.library import PAGE_SUFFIXES, GameLibrary, GameModule
from attract.runs.directory import RunDirectory
from attract.settings.run import RunSettings

CODE = "game.js"
CODE_MAP = "game.js.map"


def write_start(directory: RunDirectory, game: str, settings: RunSettings, module: GameModule) -> None:
    """Keep what a run is started with."""
    directory.write_config(game, settings.model_dump(mode="json"))
    _, description = directory.read_game()
    # Of the module of before, which may be another.
    described = directory.described_sha256()
    directory.write_game(module.reference, description, described_sha256=described)
    (directory.path / CODE).write_bytes(module.code)
    if module.source_map is not None:
        (directory.path / CODE_MAP).write_bytes(module.source_map)


def serve_kept_game(games: GameLibrary, directory: RunDirectory) -> GameModule | None:
    """The module that a run was trained on, served from now on; None when its folder has none."""
    reference, _ = directory.read_game()
    code = directory.inside(directory.path / CODE)
    if reference is None or not code.is_file():
        return None
    known = games.by_hash(reference.sha256)
    if known is not None:
        return known
    source_map = directory.inside(directory.path / CODE_MAP)
    return games.keep(
        reference.name, code.read_bytes(), source_map.read_bytes() if source_map.is_file() else None
    )


def project_of(directory: RunDirectory) -> Path | None:
    """The folder of the adapter that the run was trained with, where that is still there: its page is in it.

    None: the game is bundled, lives in no page, or its path is relative to what was served. A run's folder
    may be a stranger's: a folder without an adapter is none that it can name.
    """
    module = Path(str(directory.read_config()["game"]))
    is_adapter = module.name.endswith(PAGE_SUFFIXES)
    return module.parent if is_adapter and module.is_absolute() and module.is_file() else None
