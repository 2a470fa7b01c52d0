"""What people played is kept as small files beside the runs, listed newest first, and deleted by its id."""

import json
from pathlib import Path

import pytest

from attract.errors import ConfigurationError, DemonstrationError
from attract.runs.demonstrations import DemonstrationStore, demonstrations_folder
from attract.runs.episodes import read_episode
from attract.schema.recorded_episode import RecordedEpisode
from recorded_episodes import recorded

GAME = "Catch-v1"


def episode(returns: float = 1.5, game_id: str = GAME) -> RecordedEpisode:
    changes = {"game_id": game_id, "parameters": {"gravity": 0.5}, "end_reason": "terminated"}
    return recorded(returns, steps=3, version=None, **changes)


def test_an_episode_is_kept_whole_and_listed(tmp_path: Path):
    store = DemonstrationStore(tmp_path / "runs")
    kept = store.add(episode())
    assert (kept.game_id, kept.returns, kept.num_steps, kept.ended) == (GAME, [1.5], 3, True)
    assert store.entries(GAME) == [kept]
    (path,) = (tmp_path / "demonstrations" / GAME).iterdir()
    read = read_episode(path)
    assert read.model_copy(update={"id": "", "created_at": ""}) == episode()
    assert kept.player == "person" and read.id == path.stem == kept.id
    assert store.entries("Other-v1") == []


def test_where_a_person_plays_against_others_that_agent_is_shown(tmp_path: Path):
    seats = [{"player": "policy", "policy_version": 3}, {"player": "person"}]
    kept = DemonstrationStore(tmp_path / "runs").add(recorded([-2.0, 2.0], game_id=GAME, seats=seats))
    assert (kept.agent, kept.player, kept.returns) == (1, "person", [-2.0, 2.0])
    kept = DemonstrationStore(tmp_path / "runs").add(recorded([-2.0, 2.0], game_id=GAME, version=3))
    assert (kept.agent, kept.player) == (0, "policy")


def test_they_are_deleted_by_their_id_and_nothing_else_is(tmp_path: Path):
    store = DemonstrationStore(tmp_path / "runs")
    first, second = store.add(episode()), store.add(episode(9.0))
    outside = tmp_path / "demonstrations" / "secret.json"
    outside.write_text("{}")
    for wrong in ("../secret", "*", "", f"{first.id}.json"):
        assert not store.remove(GAME, wrong)
    assert not store.remove("..", "secret")
    assert store.remove(GAME, first.id) and not store.remove(GAME, first.id)
    assert store.entries(GAME) == [second] and outside.exists()


@pytest.mark.parametrize("game_id", ["..", ".", "../up", "a/b", "a\\b", "über:alles", "two words", ".hidden"])
def test_whatever_a_game_is_called_its_folder_is_one_beside_the_runs(tmp_path: Path, game_id: str):
    folder = demonstrations_folder(tmp_path / "runs", game_id)
    assert folder.parent == tmp_path / "demonstrations" and folder.name not in (".", "..")
    store = DemonstrationStore(tmp_path / "runs")
    kept = store.add(episode(game_id=game_id))
    assert store.entries(game_id) == [kept] and folder.is_dir()
    assert store.remove(game_id, kept.id)


def test_names_that_differ_have_folders_that_differ(tmp_path: Path):
    names = [".x", "%2Ex", "a/b", "a%2Fb", "a b"]
    assert len({demonstrations_folder(tmp_path, name) for name in names}) == len(names)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("no json", "is not valid JSON"),
        ("{}", "is no recorded episode: game_id: Field required"),
        (json.dumps({"version": 3}), "is no recorded episode"),
    ],
)
def test_a_damaged_file_is_listed_with_what_is_wrong_and_hides_no_other(
    tmp_path: Path, content: str, problem: str
):
    store = DemonstrationStore(tmp_path / "runs")
    kept = store.add(episode())
    (demonstrations_folder(tmp_path / "runs", GAME) / "0.json").write_text(content)
    entries = store.entries(GAME)
    assert entries[0] == kept
    assert entries[1].id == "0" and (entries[1].problem or "").startswith(problem)
    assert store.remove(GAME, "0") and store.entries(GAME) == [kept]


def test_a_file_of_another_game_is_listed_as_such_and_can_be_deleted(tmp_path: Path):
    store = DemonstrationStore(tmp_path / "runs")
    kept = store.add(episode(game_id="Other-v1"))
    source = demonstrations_folder(tmp_path / "runs", "Other-v1")
    source.rename(demonstrations_folder(tmp_path / "runs", GAME))
    (entry,) = store.entries(GAME)
    assert (entry.id, entry.problem) == (kept.id, "is of another game, Other-v1")
    assert store.remove(GAME, kept.id) and store.entries(GAME) == []


def test_an_episode_that_could_not_be_read_again_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    store = DemonstrationStore(tmp_path / "runs")
    kept = store.add(episode())
    monkeypatch.setattr("attract.runs.demonstrations.MAX_FILE_BYTES", 100)
    monkeypatch.setattr("attract.runs.episodes.MAX_FILE_BYTES", 100)
    with pytest.raises(ConfigurationError, match="a demonstration may have 100"):
        store.add(episode())
    (entry,) = store.entries(GAME)
    (path,) = (tmp_path / "demonstrations").glob("*/*.json")
    assert (entry.id, entry.problem) == (kept.id, f"has {path.stat().st_size} bytes, at most 100 are read")


def test_a_disk_that_takes_nothing_is_said(tmp_path: Path):
    (tmp_path / "demonstrations").write_text("a file where the folder would be")
    with pytest.raises(DemonstrationError, match=r"cannot be kept in .*Catch-v1: Not a directory"):
        DemonstrationStore(tmp_path / "runs").add(episode())
