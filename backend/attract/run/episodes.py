"""The recorded episodes of any run, active or past, for who asks for them by the run's id."""

import logging
from pathlib import Path

from attract.errors import AttractError, ConfigurationError
from attract.games.kept_builds import serve_kept_build
from attract.games.library import GameLibrary
from attract.run.episode_keeper import limits_of
from attract.runs.archive import RunArchive, known_run
from attract.runs.directory import RunDirectory, find_run
from attract.runs.episodes import EpisodeStore, NewEpisode
from attract.schema.episode_actions import check_recorded
from attract.schema.game import GameDescription
from attract.schema.recorded_episode import EpisodeEntry, RecordedEpisode
from attract.settings.run import RecordingSettings

log = logging.getLogger(__name__)


class RunEpisodes:
    """Owned by the run service. Waits for the disk: used from threads of the server, several at once."""

    def __init__(self, archive: RunArchive, games: GameLibrary) -> None:
        self._archive = archive
        self._games = games

    def entries(self, run_id: str) -> list[EpisodeEntry]:
        """All that a run keeps, newest first. Raises: UnknownRunError."""
        with known_run(run_id):
            return self._store(run_id).entries()

    def get(self, run_id: str, episode_id: str) -> RecordedEpisode:
        """One episode, whose build is served from now on where the run has it.

        Raises: UnknownRunError: no such run or episode. FileError: the episode's file is damaged.
        """
        store = self._known(run_id)
        episode = store.get(episode_id)
        if episode.game_sha256 is not None:
            try:
                serve_kept_build(self._games, self._directory(run_id), episode.game_sha256)
            except AttractError as error:
                # The episode can be read, and played on another build.
                log.warning("the build of episode %s cannot be served: %s", episode_id, error)
        return episode

    def star(self, run_id: str, episode_id: str, starred: bool) -> EpisodeEntry:
        """Keep an episode for good, or no longer.

        Raises: UnknownRunError. ConfigurationError: too many are starred. EpisodeWriteError: the disk.
        """
        return self._known(run_id).star(episode_id, starred)

    def delete(self, run_id: str, episode_id: str) -> list[EpisodeEntry]:
        """Remove an episode; those that are left. Raises: UnknownRunError. EpisodeWriteError: the disk."""
        store = self._known(run_id)
        store.delete(episode_id)
        return store.entries()

    def add(self, run_id: str, episode: RecordedEpisode) -> EpisodeEntry:
        """Keep what a person played, starred.

        Raises:
            UnknownRunError: no such run.
            ConfigurationError: the episode is damaged, or is of another game; or there is no room.
            EpisodeWriteError: the disk.
        """
        store = self._known(run_id)
        check_recorded(episode)
        with known_run(run_id):
            reference, description = self._directory(run_id).read_game()
        # Nothing describes the game before its first worker does. A person in the page may be faster.
        is_its_build = reference is not None and episode.game_sha256 == reference.sha256
        if description is not None:
            _check_game(episode, description)
        elif not is_its_build:
            raise ConfigurationError(
                f"another build of {episode.game_id} than the run's, which is not described yet",
                setting="game_sha256",
            )
        for entry in store.add([NewEpisode(episode, "person")]):
            return entry
        raise ConfigurationError(
            f"run {run_id} keeps no episode of this size",
            setting="recording.max_bytes",
            fix="raise it, and resume the run",
        )

    def _known(self, run_id: str) -> EpisodeStore:
        with known_run(run_id):
            return self._store(run_id)

    def _directory(self, run_id: str) -> RunDirectory:
        runs_dir: Path = self._archive.runs_dir
        return self._archive.directory(find_run(runs_dir, run_id))

    def _store(self, run_id: str) -> EpisodeStore:
        directory = self._directory(run_id)
        try:
            recording = directory.read_settings().recording
        except AttractError:
            # Another version wrote it: its episodes can be read all the same.
            recording = RecordingSettings()
        return EpisodeStore(directory.path, limits_of(recording))


def _check_game(episode: RecordedEpisode, description: GameDescription) -> None:
    """Raises: ConfigurationError: the episode is of another game."""
    if description.id != episode.game_id:
        raise ConfigurationError(
            f"the episode is of {episode.game_id}; the run's game is {description.id}", setting="game_id"
        )
    if len(episode.seats) != description.num_agents:
        raise ConfigurationError(
            f"the episode has {len(episode.seats)} agents, the game {description.num_agents}", setting="seats"
        )
