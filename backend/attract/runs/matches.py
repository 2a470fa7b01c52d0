"""The newest match of a run: its answer in the run's folder, and an episode for each who won against whom."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from attract.errors import EpisodeWriteError
from attract.files import parse_json, parse_model, read_optional_file, write_atomically
from attract.runs.directory import RunDirectory
from attract.runs.episode_choice import EpisodeLimits
from attract.runs.episodes import EpisodeStore, NewEpisode
from attract.schema.match import MatchReport
from attract.schema.recorded_episode import RecordedEpisode

MATCH: Final = "match.json"
MAX_MATCH_BYTES: Final = 4 << 20


def keep_match(
    directory: RunDirectory,
    report: MatchReport,
    episodes: Mapping[tuple[str, str], RecordedEpisode],
    agent_steps: int,
) -> MatchReport:
    """Keep a match in a run's folder, in place of the one before; the report with the ids of its episodes.

    Args:
        directory: of the run, which may be active in another process.
        report: of the match.
        episodes: by winner and loser; those of the match before go, unless they have a star.
        agent_steps: of the run.

    Raises: EpisodeWriteError: the disk does not take it.
    """
    recording = directory.read_settings().recording
    store = EpisodeStore(directory.path, EpisodeLimits(recording.max_bytes, recording.max_episodes))
    for entry in store.entries():
        if entry.source == "match" and not entry.starred:
            store.delete(entry.id)
    ids = {
        pair: entry.id
        for pair, episode in episodes.items()
        for entry in store.add([NewEpisode(episode, "match", agent_steps=agent_steps)])
    }
    pairs = [
        pair.model_copy(
            update={
                "episode_id": ids.get((pair.player, pair.opponent), ids.get((pair.opponent, pair.player)))
            }
        )
        for pair in report.pairs
    ]
    now = datetime.now(UTC).isoformat(timespec="seconds")
    report = report.model_copy(update={"pairs": pairs, "played_at": now})
    path = directory.path / MATCH
    try:
        write_atomically(path, report.model_dump_json().encode())
    except OSError as error:
        raise EpisodeWriteError(f"{path} cannot be written: {error.strerror}") from error
    return report


def read_match(directory: RunDirectory) -> MatchReport | None:
    """The match that a run's folder has; perhaps a stranger's.

    Raises: FileError: the file cannot be read, or is none of a match.
    """
    path = directory.path / MATCH
    data = read_optional_file(path, MAX_MATCH_BYTES, directory.path)
    return None if data is None else parse_model(parse_json(data, path), MatchReport, path)
