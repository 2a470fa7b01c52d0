"""Demonstrations: recorded episodes of people, kept beside the runs, one small file each."""

import secrets
from datetime import UTC, datetime
from pathlib import Path
from typing import Final
from urllib.parse import quote

from attract.errors import ConfigurationError, DemonstrationError
from attract.files import write_atomically
from attract.runs.episodes import MAX_FILE_BYTES, read_episode, written
from attract.schema.episode_actions import check_recorded
from attract.schema.recorded_episode import DemonstrationEntry, RecordedEpisode

FOLDER: Final = "demonstrations"
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

    def add(self, episode: RecordedEpisode) -> DemonstrationEntry:
        """Keep one episode.

        Raises:
            ConfigurationError: its fields disagree, or it is too large to be read again.
            DemonstrationError: the disk does not take it.
        """
        check_recorded(episode)
        now = datetime.now(UTC)
        kept = episode.model_copy(
            update={
                "id": f"{now:%Y%m%d-%H%M%S}-{secrets.token_hex(3)}",
                "created_at": now.isoformat(timespec="seconds"),
            }
        )
        content = written(kept)
        if len(content) > MAX_FILE_BYTES:
            raise ConfigurationError(
                f"the episode has {len(content):,} bytes; a demonstration may have {MAX_FILE_BYTES:,}"
            )
        path = self._path(kept.game_id, kept.id)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, content)
        except OSError as error:
            raise DemonstrationError(
                f"the demonstration cannot be kept in {path.parent}: {error.strerror}"
            ) from error
        return _entry(kept, kept.id)

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


def _read(game_id: str, path: Path) -> DemonstrationEntry:
    try:
        episode = read_episode(path, path.parent)
    except ConfigurationError as error:
        return DemonstrationEntry(id=path.stem, game_id=game_id, problem=error.problem)
    if episode.game_id != game_id:
        problem = f"is of another game, {episode.game_id}"
        return DemonstrationEntry(id=path.stem, game_id=game_id, problem=problem)
    return _entry(episode, path.stem)


def _entry(episode: RecordedEpisode, name: str) -> DemonstrationEntry:
    return DemonstrationEntry(
        id=name,
        game_id=episode.game_id,
        returns=list(episode.returns),
        num_steps=episode.num_steps,
        ended=episode.end_reason != "stopped",
        created_at=episode.created_at,
        player=episode.seats[episode.shown_agent].player,
        agent=episode.shown_agent,
    )
