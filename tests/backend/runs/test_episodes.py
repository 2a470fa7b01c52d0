"""Episodes that a run keeps: bounded, found again without an index, read as a stranger's folder."""

import json
import os
import threading
from pathlib import Path

import pytest

from attract.errors import ConfigurationError, EpisodeWriteError, FileError, UnknownRunError
from attract.runs import episodes as module
from attract.runs.episode_choice import EpisodeLimits
from attract.runs.episodes import FOLDER, INDEX, MAX_FILE_BYTES, EpisodeStore, NewEpisode, read_episode
from attract.schema.recorded_episode import EpisodeEntry, EpisodeRole, RecordedEpisode
from recorded_episodes import recorded

LIMITS = EpisodeLimits(64 << 20, 1000)


def store_of(tmp_path: Path, limits: EpisodeLimits = LIMITS) -> EpisodeStore:
    (tmp_path / "run-1").mkdir(exist_ok=True)
    return EpisodeStore(tmp_path / "run-1", limits)


def evaluated(value: float, role: EpisodeRole = "best", steps: int = 0) -> NewEpisode:
    return NewEpisode(recorded(value, version=4), "evaluation", role, steps)


def without_index(tmp_path: Path) -> list[EpisodeEntry]:
    (tmp_path / "run-1" / FOLDER / INDEX).unlink()
    return store_of(tmp_path).entries()


def test_an_episode_is_kept_whole_and_listed_newest_first(tmp_path: Path):
    store = store_of(tmp_path)
    (first,) = store.add([evaluated(1.5, steps=640)])
    (second,) = store.add([NewEpisode(recorded(9.0), "training", "worst", 700)])
    assert store.entries() == [second, first]
    assert (first.source, first.role, first.policy_version, first.agent_steps) == (
        "evaluation",
        "best",
        4,
        640,
    )
    assert (first.episode_return, first.num_steps, first.seconds) == (1.5, 7, pytest.approx(1.4))
    kept = store.get(first.id)
    path = tmp_path / "run-1" / FOLDER / f"{first.id}.json"
    assert (kept.id, kept.run_id, first.num_bytes) == (first.id, "run-1", path.stat().st_size)
    assert kept.created_at == first.created_at != ""
    said = {"id": "", "run_id": None, "created_at": ""}
    assert kept.model_copy(update=said) == recorded(1.5, version=4)
    assert RecordedEpisode.model_validate_json(path.read_bytes()) == kept


def test_ten_kilobytes_hold_a_minute_at_fifteen_decisions_a_second(tmp_path: Path):
    (entry,) = store_of(tmp_path).add([NewEpisode(recorded(steps=900), "training")])
    assert entry.num_bytes < 10_000


def test_a_run_from_before_has_none_and_nothing_is_made_in_it(tmp_path: Path):
    store = store_of(tmp_path)
    assert store.entries() == []
    for ask in (store.get, store.delete, lambda episode_id: store.star(episode_id, True)):
        with pytest.raises(UnknownRunError, match="run-1 has no episode 20261126"):
            ask("20261126")
    assert list((tmp_path / "run-1").iterdir()) == []


@pytest.mark.parametrize("wrong", ["../config", "", ".lock", "a/b", "index", "x" * 65, "\n"])
def test_an_id_never_leads_out_of_the_folder(tmp_path: Path, wrong: str):
    store = store_of(tmp_path)
    store.add([evaluated(1.0)])
    (tmp_path / "run-1" / "config.json").write_text(recorded().model_dump_json())
    for ask in (store.get, store.delete, lambda episode_id: store.star(episode_id, True)):
        with pytest.raises(UnknownRunError):
            ask(wrong)


def test_number_and_bytes_stay_within_the_limits(tmp_path: Path):
    store = store_of(tmp_path, EpisodeLimits(64 << 20, 5))
    for place in range(12):
        store.add([evaluated(float(place), steps=100 * place)])
    returns = sorted(entry.episode_return for entry in store.entries())
    assert len(returns) == 5 and (returns[0], returns[-1]) == (0.0, 11.0)
    size = store.entries()[0].num_bytes
    small = store_of(tmp_path, EpisodeLimits(3 * size + 20, 1000))
    small.add([evaluated(12.0, steps=1200)])
    assert sum(entry.num_bytes for entry in small.entries()) <= 3 * size + 20
    files = {path.name for path in (tmp_path / "run-1" / FOLDER).glob("*.json")}
    assert files == {INDEX, *(f"{entry.id}.json" for entry in small.entries())}


def test_a_limit_of_nothing_keeps_nothing(tmp_path: Path):
    for limits in (EpisodeLimits(0, 1000), EpisodeLimits(64 << 20, 0)):
        assert store_of(tmp_path, limits).add([evaluated(1.0)]) == []
    assert list((tmp_path / "run-1").iterdir()) == []


def test_an_episode_that_has_no_room_is_not_told_of(tmp_path: Path):
    assert store_of(tmp_path, EpisodeLimits(100, 1000)).add([evaluated(1.0)]) == []
    assert store_of(tmp_path).entries() == []


def test_starred_ones_and_failures_stay(tmp_path: Path):
    store = store_of(tmp_path, EpisodeLimits(64 << 20, 5))
    store.add([evaluated(0.5)])
    (starred,) = store.add([evaluated(1.0, steps=1)])
    assert store.star(starred.id, True).starred
    (failed,) = store.add([NewEpisode(recorded(error="boom"), "failure")])
    (mine,) = store.add([NewEpisode(recorded(version=None), "person")])
    assert mine.starred and mine.policy_version is None
    assert store.entries()[0] == mine
    for place in range(2, 9):
        store.add([evaluated(float(place), steps=place)])
    left = [entry.id for entry in store.entries()]
    assert len(left) == 5 and {starred.id, failed.id, mine.id} < set(left)
    assert not store.star(starred.id, False).starred
    store.add([evaluated(10.0, steps=10), evaluated(11.0, steps=11)])
    assert starred.id not in [entry.id for entry in store.entries()]


def test_no_more_are_starred_than_have_room(tmp_path: Path):
    store = store_of(tmp_path, EpisodeLimits(64 << 20, 2))
    first, second = store.add([evaluated(1.0), evaluated(2.0)])
    store.star(first.id, True)
    store.star(second.id, True)
    assert store.star(second.id, True).starred
    with pytest.raises(ConfigurationError, match="2 starred episodes, and no room for one more"):
        store.add([NewEpisode(recorded(version=None), "person")])
    assert len(store.entries()) == 2


def test_the_first_failure_of_a_kind_is_kept_once(tmp_path: Path):
    store = store_of(tmp_path)
    (first,) = store.add([NewEpisode(recorded(error="x is 17"), "failure")])
    assert first.error == "TypeError: x is 17"
    assert store.add([NewEpisode(recorded(error="x is 18", steps=9), "failure")]) == [first]
    (other,) = store.add([NewEpisode(recorded(error="y is 17"), "failure")])
    assert [entry.id for entry in store.entries()] == [other.id, first.id]


def test_only_so_many_kinds_of_failure_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "MAX_FAILURES", 2)
    store = store_of(tmp_path)
    for text in ("a", "b", "c"):
        store.add([NewEpisode(recorded(error=text), "failure")])
    assert [entry.error for entry in store.entries()] == ["TypeError: b", "TypeError: a"]


def test_the_index_is_made_again_of_the_files(tmp_path: Path):
    store = store_of(tmp_path)
    kept = store.add([evaluated(1.0), evaluated(2.0, "worst")])
    kept += store.add([NewEpisode(recorded(error="boom"), "failure")])
    store.star(kept[0].id, True)
    index = tmp_path / "run-1" / FOLDER / INDEX
    whole = store.entries()
    # What no file says is lost with the index.
    known = [entry.model_copy(update={"agent_steps": None}) for entry in whole]
    for damage in (b"", b"{", b"[]", b'{"entries": [{"id": 1}]}', b"\xff" * 100):
        index.write_bytes(damage)
        assert store.entries() == known
    assert without_index(tmp_path) == known
    store.delete(kept[1].id)
    assert [entry.id for entry in json.loads(index.read_bytes()) and store.entries()] == [
        entry.id for entry in whole if entry.id != kept[1].id
    ]


def test_files_and_index_that_disagree_are_told_by_the_files(tmp_path: Path):
    store = store_of(tmp_path)
    gone, there = store.add([evaluated(1.0), evaluated(2.0)])
    folder = tmp_path / "run-1" / FOLDER
    (folder / f"{gone.id}.json").unlink()
    (folder / "friend.json").write_text(recorded(5.0, version=None).model_dump_json())
    entries = store.entries()
    assert {entry.id for entry in entries} == {there.id, "friend"}
    friend = next(entry for entry in entries if entry.id == "friend")
    assert (friend.source, friend.episode_return, friend.problem) == ("person", 5.0, None)


def test_what_is_damaged_is_listed_with_what_is_wrong(tmp_path: Path):
    store = store_of(tmp_path)
    (good, bad) = store.add([evaluated(1.0), evaluated(2.0, "worst")])
    folder = tmp_path / "run-1" / FOLDER
    (folder / f"{bad.id}.json").write_bytes(b"{}")
    (folder / "large.json").write_bytes(b" " * (MAX_FILE_BYTES + 1))
    outside = tmp_path / "secret.json"
    outside.write_text(recorded().model_dump_json())
    (folder / "link.json").symlink_to(outside)
    (folder / "folder.json").mkdir()
    os.mkfifo(folder / "pipe.json")
    shape = {**recorded().model_dump(), "num_steps": 6}
    (folder / "shape.json").write_text(json.dumps(shape))
    problems = {entry.id: entry.problem for entry in store.entries()}
    assert problems.pop(good.id) is None
    assert "is no recorded episode: game_id: Field required" in str(problems.pop(bad.id))
    assert "4,194,305 bytes, at most 4,194,304 are read" in str(problems.pop("large"))
    assert "is a link that leads out of" in str(problems.pop("link"))
    assert "is a folder" in str(problems.pop("folder"))
    assert "is a pipe" in str(problems.pop("pipe"))
    assert "actions.shape: 7 steps of actions, `num_steps` says 6" in str(problems.pop("shape"))
    assert problems == {}
    with pytest.raises(FileError, match="is no recorded episode"):
        store.get(bad.id)
    # The next write leaves them, and what they were is still known.
    store.add([evaluated(3.0)])
    assert {"large", "link", "pipe", bad.id} < {entry.id for entry in store.entries()}
    store.delete("link")
    assert outside.exists() and "link" not in {entry.id for entry in store.entries()}


def test_a_folder_that_leads_out_of_the_run_is_not_used(tmp_path: Path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "one.json").write_text(recorded().model_dump_json())
    store = store_of(tmp_path)
    (tmp_path / "run-1" / FOLDER).symlink_to(elsewhere)
    for ask in (store.entries, lambda: store.get("one"), lambda: store.add([evaluated(1.0)])):
        with pytest.raises(FileError, match="leads out"):
            ask()
    assert [path.name for path in elsewhere.iterdir()] == ["one.json"]


def test_what_a_killed_writer_left_is_taken_away(tmp_path: Path):
    store = store_of(tmp_path)
    store.add([evaluated(1.0)])
    folder = tmp_path / "run-1" / FOLDER
    (folder / ".20261126-best.json.0a1b2c3d").write_bytes(b"half")
    assert len(store.entries()) == 1
    store.add([evaluated(2.0)])
    assert not list(folder.glob(".*.json.*")) and (folder / ".lock").exists()


def test_a_disk_that_takes_nothing_is_one_error(tmp_path: Path):
    store = store_of(tmp_path)
    (tmp_path / "run-1" / FOLDER).write_bytes(b"a file in the place of the folder")
    assert store.entries() == []
    with pytest.raises(EpisodeWriteError, match="cannot be written"):
        store.add([evaluated(1.0)])


def test_several_writers_lose_nothing(tmp_path: Path):
    def write(writer: int) -> None:
        for place in range(8):
            store_of(tmp_path).add([evaluated(float(10 * writer + place))])

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    entries = store_of(tmp_path).entries()
    index = json.loads((tmp_path / "run-1" / FOLDER / INDEX).read_bytes())["entries"]
    assert sorted(entry.episode_return for entry in entries) == sorted(
        float(10 * writer + place) for writer in range(4) for place in range(8)
    )
    assert len(index) == 32


def test_a_file_named_by_hand_is_read_wherever_it_is(tmp_path: Path):
    path = tmp_path / "mine.episode.json"
    path.write_text(recorded(2.0).model_dump_json())
    assert read_episode(path) == recorded(2.0)
    with pytest.raises(FileError, match="there is no such file"):
        read_episode(tmp_path / "other.json")
