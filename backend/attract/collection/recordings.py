"""The episodes that workers of the admin's own send to be kept: which leases ask, and what may come."""

from typing import Final

from attract.collection.effects import EpisodesRecorded
from attract.collection.fleet import Host, Worker
from attract.collection.leases import Lease
from attract.collection.state import CollectionState
from attract.errors import ConfigurationError
from attract.schema.episode_actions import check_recorded
from attract.schema.frames import malformed
from attract.schema.game import GameDescription
from attract.schema.messages import EpisodeRecorded, GameFailed
from attract.schema.recorded_episode import RecordedEpisode

MAX_EXTREMES: Final = 3
"""The best, the worst and the median."""


def take(state: CollectionState, worker: Worker, message: EpisodeRecorded) -> None:
    """An episode of a lease; it counts once that lease is played to its end.

    Raises: ProtocolError: the lease asked for none, or for no more; or the episode is none of this game's.
    """
    lease = state.lease_of(worker, message.lease_id)
    if lease is None:
        # It lapsed meanwhile.
        return
    allowed = {"none": 0, "extremes": MAX_EXTREMES, "all": len(lease.episodes)}[lease.record]
    if len(lease.recorded) >= allowed:
        raise malformed(
            f"episode_recorded: lease {lease.lease_id} asked for {allowed} episodes",
            fix="send only the episodes that its `record` asks for",
        )
    _check(state.require_described().description, message.episode, "episode_recorded.episode")
    version = max((seat.policy_version or 0 for seat in message.episode.seats), default=0)
    newest = max([lease.version, *(version for _, version in lease.opponents)])
    if version > newest:
        raise malformed(
            f"episode_recorded.episode.seats: version {version}, the lease is of {newest}",
            fix="name the versions that played",
        )
    lease.recorded.append(message.episode)


def of_failure(state: CollectionState, sender: Host | Worker, message: GameFailed) -> RecordedEpisode | None:
    """The episode that failed; None if none was sent, or not by a browser of the admin's own.

    Raises: ProtocolError: the episode is none of this game's, or did not fail.
    """
    episode = message.recorded
    if episode is None or sender.tier != "local" or state.described is None:
        return None
    _check(state.described.description, episode, "game_failed.recorded")
    if episode.error is None:
        raise malformed("game_failed.recorded: it did not fail", fix="send the episode that failed")
    return episode


def rollout_closed(state: CollectionState, lease: Lease) -> None:
    """A lease for training is played: with the last one of its version its episodes are handed on."""
    if lease.record == "none":
        return
    recordings = state.recordings
    if lease.version != recordings.version:
        _hand_on(state)
        recordings.version = lease.version
    recordings.episodes += lease.recorded
    if not any(other is not lease and _records(other, lease.version) for other in state.book):
        _hand_on(state)


def _hand_on(state: CollectionState) -> None:
    recordings = state.recordings
    if recordings.episodes:
        state.emit(EpisodesRecorded(recordings.version, tuple(recordings.episodes)))
        recordings.done, recordings.episodes = recordings.version, []


def _records(lease: Lease, version: int) -> bool:
    return lease.purpose == "train" and lease.record != "none" and lease.version == version


def _check(description: GameDescription, episode: RecordedEpisode, where: str) -> None:
    if episode.game_id != description.id:
        raise malformed(f"{where}: of the game {episode.game_id}", fix=f"the game is {description.id}")
    if len(episode.seats) != description.num_agents:
        raise malformed(
            f"{where}.seats: {len(episode.seats)}", fix=f"the game has {description.num_agents} agents"
        )
    try:
        check_recorded(episode)
    except ConfigurationError as error:
        raise malformed(f"{where}.{error.setting}: {error.problem}", fix="send it as it was played") from None
