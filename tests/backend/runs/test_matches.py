"""The newest match of a run: kept beside it with an episode for each result, read as a stranger's file."""

from pathlib import Path

import pytest

from attract.errors import DamagedRunError, EpisodeWriteError
from attract.playtest.match import Match
from attract.runs.archive import RunArchive
from attract.runs.directory import RunDirectory
from attract.runs.episode_choice import EpisodeLimits
from attract.runs.episodes import EpisodeStore
from attract.runs.matches import MATCH, MAX_MATCH_BYTES, keep_match
from attract.schema.match import MatchReport
from recorded_episodes import recorded


def directory_of(tmp_path: Path, **recording: int) -> RunDirectory:
    directory = RunDirectory.create(tmp_path, "r")
    directory.write_config("g", {"recording": recording})
    return directory


def played(directory: RunDirectory, *episodes: int) -> MatchReport:
    """A match of two, each of whose episodes the first won; `episodes` are kept of it."""
    match = Match(["r", "random"], 2)
    match.count((0, 1), [1.0, 0.0])
    for episode in episodes:
        match.keep((0, 1), recorded([1.0, 0.0], episode=episode))
    return keep_match(directory, match.report("Counting-v1"), match.kept, 640)


def episodes_of(directory: RunDirectory) -> EpisodeStore:
    return EpisodeStore(directory.path, EpisodeLimits(64 << 20, 1000))


def test_a_match_is_read_as_it_was_kept_with_an_episode_for_both_views_of_a_pair(tmp_path: Path) -> None:
    directory = directory_of(tmp_path)
    assert RunArchive(tmp_path).match("r") is None
    kept = played(directory, 5)
    assert RunArchive(tmp_path).match("r") == kept
    one, other = kept.pairs
    assert (one.episode_id, kept.played_at != "") == (other.episode_id, True)
    (entry,) = episodes_of(directory).entries()
    assert (entry.id, entry.source, entry.agent_steps) == (one.episode_id, "match", 640)
    assert episodes_of(directory).get(entry.id).episode == 5
    # The index is not needed to know what it is.
    (directory.path / "episodes" / "index.json").unlink()
    assert episodes_of(directory).entries()[0].source == "match"


def test_the_next_match_takes_its_place_and_a_star_keeps_an_episode(tmp_path: Path) -> None:
    directory = directory_of(tmp_path)
    store = episodes_of(directory)
    ids = [played(directory, episode).pairs[0].episode_id for episode in (1, 2)]
    assert [entry.id for entry in store.entries()] == ids[1:]
    store.star(str(ids[1]), True)
    ids.append(played(directory, 3).pairs[0].episode_id)
    assert [entry.id for entry in store.entries()] == ids[:0:-1]


def test_without_recording_the_match_is_kept_without_episodes(tmp_path: Path) -> None:
    directory = directory_of(tmp_path, max_episodes=0)
    assert [pair.episode_id for pair in played(directory, 5).pairs] == [None, None]
    assert RunArchive(tmp_path).match("r") is not None
    assert episodes_of(directory).entries() == []


def test_a_folder_that_takes_nothing_is_one_error(tmp_path: Path) -> None:
    directory = directory_of(tmp_path)
    (directory.path / MATCH).mkdir()
    with pytest.raises(EpisodeWriteError, match=r"match.json cannot be written"):
        played(directory, 5)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"{", "not valid JSON"),
        (b"[]", "is not valid"),
        (b'{"game": "g", "episodes": NaN}', "is not valid"),
        (b"[" * 100_000, "nested too deep"),
        (b" " * (MAX_MATCH_BYTES + 1), "at most 4,194,304 are read"),
    ],
)
def test_a_file_that_is_none_names_the_run(tmp_path: Path, data: bytes, problem: str) -> None:
    directory = directory_of(tmp_path)
    (directory.path / MATCH).write_bytes(data)
    with pytest.raises(DamagedRunError, match=problem):
        RunArchive(tmp_path).match("r")


def test_a_link_out_of_the_run_is_neither_read_nor_written(tmp_path: Path) -> None:
    directory = directory_of(tmp_path)
    secret = tmp_path / "secret.json"
    secret.write_text(played(directory, 5).model_dump_json())
    before = secret.read_bytes()
    (directory.path / MATCH).unlink()
    (directory.path / MATCH).symlink_to(secret)
    with pytest.raises(DamagedRunError, match=r"match.json"):
        RunArchive(tmp_path).match("r")
    played(directory, 6)
    assert secret.read_bytes() == before and not (directory.path / MATCH).is_symlink()
