"""Demonstrations that people played, kept beside the runs as seed and actions: one small file an episode."""

import secrets
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final
from urllib.parse import quote

from pydantic import ValidationError

from attract.errors import ConfigurationError, DemonstrationError, FileError
from attract.files import first_problem, read_file
from attract.runs.directory import write_atomically
from attract.schema.api import DemonstratedEpisode, DemonstrationEntry
from attract.schema.demonstrations import Demonstration

FOLDER: Final = "demonstrations"
LARGEST_FILE_BYTES: Final = 8 << 20
MAX_LISTED: Final = 1000
"""Newest demonstrations listed per game."""


def demonstrations_folder(runs_dir: Path, game_id: str) -> Path:
    """Where a game's demonstrations are: `demonstrations/<game id>` beside the runs folder.

    Characters that a folder's name cannot have everywhere are written as in a URL.
    """
    name = quote(game_id, safe=" ")
    return runs_dir.absolute().parent / FOLDER / (f"%2E{name[1:]}" if name.startswith(".") else name)


class DemonstrationStore:
    """Adds, lists and removes demonstrations; keeps nothing in memory.

    Args:
        runs_dir: the runs folder, beside which they are kept.
    """

    def __init__(self, runs_dir: Path) -> None:
        self._runs_dir = runs_dir

    def add(self, episode: DemonstratedEpisode, player: str = "human") -> DemonstrationEntry:
        """Keep one episode.

        Raises:
            ConfigurationError: it is too large to be read again.
            DemonstrationError: the disk does not take it.
        """
        now = datetime.now(UTC)
        # Validated as it came in: once more would cost most of the second that the longest takes.
        demonstration = Demonstration.model_construct(
            **{name: getattr(episode, name) for name in DemonstratedEpisode.model_fields},
            id=f"{now:%Y%m%d-%H%M%S}-{secrets.token_hex(3)}",
            num_steps=len(episode.actions),
            created_at=now.isoformat(timespec="seconds"),
            player=player,
        )
        path = self._path(demonstration.game_id, demonstration.id)
        content = demonstration.model_dump_json().encode()
        if len(content) > LARGEST_FILE_BYTES:
            raise ConfigurationError(
                f"the episode has {len(content):,} bytes; a demonstration may have {LARGEST_FILE_BYTES:,}"
            )
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, content)
        except OSError as error:
            raise DemonstrationError(
                f"the demonstration cannot be kept in {path.parent}: {error.strerror}"
            ) from error
        return _entry(demonstration)

    def entries(self, game_id: str) -> list[DemonstrationEntry]:
        """Those of a game, newest first; a file that is none is listed with what is wrong with it."""
        paths = sorted((file for file in self._files(game_id) if not file.is_dir()), reverse=True)
        return [_read(game_id, path) for path in paths[:MAX_LISTED]]

    def remove(self, game_id: str, demonstration_id: str) -> bool:
        """Delete one; False when there is none of that id."""
        # Looked for among what is there: an id cannot lead out of the folder.
        found = [file for file in self._files(game_id) if file.stem == demonstration_id]
        for path in found:
            path.unlink(missing_ok=True)
        return bool(found)

    def _files(self, game_id: str) -> list[Path]:
        try:
            return list(demonstrations_folder(self._runs_dir, game_id).glob("*.json"))
        except OSError:
            # No folder can have such a name here, so nothing was kept in it.
            return []

    def _path(self, game_id: str, demonstration_id: str) -> Path:
        return demonstrations_folder(self._runs_dir, game_id) / f"{demonstration_id}.json"


def read_demonstration(path: Path, folder: Path | None = None) -> Demonstration:
    """One file.

    Args:
        path: the file.
        folder: that it was found in, which no link may lead out of; None: it was named itself.

    Raises: FileError: it cannot be read, or is no demonstration.
    """
    data = read_file(path, LARGEST_FILE_BYTES, folder)
    try:
        return Demonstration.model_validate_json(data)
    except ValidationError as error:
        raise FileError(path, f"is no demonstration: {first_problem(error)}") from None


def _read(game_id: str, path: Path) -> DemonstrationEntry:
    try:
        demonstration = read_demonstration(path, path.parent)
    except ConfigurationError as error:
        return DemonstrationEntry(id=path.stem, game_id=game_id, problem=error.problem)
    if demonstration.game_id != game_id:
        problem = f"is of another game, {demonstration.game_id}"
        return DemonstrationEntry(id=path.stem, game_id=game_id, problem=problem)
    return _entry(demonstration, path.stem)


def _entry(demonstration: Demonstration, name: str | None = None) -> DemonstrationEntry:
    returns: Sequence[float] = demonstration.returns
    return DemonstrationEntry(
        id=name or demonstration.id,
        game_id=demonstration.game_id,
        returns=list(returns),
        num_steps=demonstration.num_steps,
        ended=demonstration.ended,
        created_at=demonstration.created_at,
        player=demonstration.player,
    )
