"""The episodes of any run by its id: the run's own limits, its builds, and runs of other versions."""

from pathlib import Path

import pytest

from attract.errors import ConfigurationError, DamagedRunError, FileError, UnknownRunError
from attract.games.kept_builds import keep_build, write_start
from attract.games.library import GameLibrary
from attract.run.episodes import RunEpisodes
from attract.runs.archive import RunArchive
from attract.runs.config_file import CONFIG
from attract.runs.directory import RunDirectory
from attract.runs.episode_choice import EpisodeLimits
from attract.runs.episodes import FOLDER, EpisodeStore, NewEpisode
from attract.settings.run import RecordingSettings, RunSettings
from fake_worker import counting_description
from recorded_episodes import recorded


def library(tmp_path: Path) -> GameLibrary:
    return GameLibrary(tmp_path, tmp_path / "web")


def past_run(tmp_path: Path, recording: RecordingSettings | None = None, code: bytes = b"1;\n") -> str:
    """A run of the counting game; its module's hash."""
    directory = RunDirectory.create(tmp_path / "runs", "run-1")
    module = library(tmp_path).keep("counting", code, None)
    write_start(directory, "counting", RunSettings(recording=recording or RecordingSettings()), module)
    directory.write_game(module.reference, counting_description())
    directory.close()
    return module.reference.sha256


def episodes_of(tmp_path: Path, games: GameLibrary | None = None) -> RunEpisodes:
    return RunEpisodes(RunArchive(tmp_path / "runs"), games or library(tmp_path))


def test_a_run_keeps_as_much_as_its_own_settings_say(tmp_path: Path):
    past_run(tmp_path, RecordingSettings(max_episodes=1))
    episodes = episodes_of(tmp_path)
    mine = recorded(version=None)
    kept = episodes.add("run-1", mine)
    assert kept.starred and episodes.entries("run-1") == [kept]
    with pytest.raises(ConfigurationError, match="no room for one more"):
        episodes.add("run-1", mine)
    assert episodes.delete("run-1", kept.id) == []


def test_a_run_that_keeps_nothing_says_so(tmp_path: Path):
    past_run(tmp_path, RecordingSettings(max_bytes=0))
    with pytest.raises(ConfigurationError, match="keeps no episode of this size"):
        episodes_of(tmp_path).add("run-1", recorded(version=None))


def test_a_run_whose_settings_are_of_another_version_can_be_read(tmp_path: Path):
    past_run(tmp_path)
    (tmp_path / "runs" / "run-1" / CONFIG).write_text(
        "game: counting\ncreated: then\nsettings: {unheard_of: 1}\n"
    )
    episodes = episodes_of(tmp_path)
    kept = episodes.add("run-1", recorded(version=None))
    assert not episodes.star("run-1", kept.id, False).starred
    assert episodes.get("run-1", kept.id).returns == [1.0]


def test_the_build_of_an_episode_is_served_with_it(tmp_path: Path):
    older = past_run(tmp_path)
    directory = RunDirectory.open_locked(tmp_path / "runs", "run-1")
    store = EpisodeStore(directory.path, EpisodeLimits(1 << 20, 10))
    (entry,) = store.add([NewEpisode(recorded(game_sha256=older), "evaluation", "best")])
    newer = library(tmp_path).keep("counting", b"2;\n", None)
    keep_build(directory, newer.reference)
    write_start(directory, "counting", RunSettings(), newer)
    directory.close()
    games = library(tmp_path)
    assert games.by_hash(older) is None
    episodes_of(tmp_path, games).get("run-1", entry.id)
    module = games.by_hash(older)
    assert module is not None and module.code == b"1;\n"
    # Without its build an episode can be read all the same.
    for path in (directory.path / "builds").iterdir():
        path.write_bytes(b"damaged")
    games = library(tmp_path)
    assert episodes_of(tmp_path, games).get("run-1", entry.id).game_sha256 == older
    assert games.by_hash(older) is None


def test_runs_and_games_that_do_not_fit_are_refused(tmp_path: Path):
    past_run(tmp_path)
    episodes = episodes_of(tmp_path)
    with pytest.raises(UnknownRunError, match="there is no run run-2"):
        episodes.entries("run-2")
    with pytest.raises(ConfigurationError, match="the episode is of Other-v1; the run's game is Counting-v1"):
        episodes.add("run-1", recorded(game_id="Other-v1"))
    with pytest.raises(ConfigurationError, match="2 agents, the game 1"):
        episodes.add("run-1", recorded([1.0, 1.0]))
    (tmp_path / "runs" / "run-1" / "game.json").unlink()
    with pytest.raises(ConfigurationError, match=r"another build of Counting-v1 .* not described yet"):
        episodes.add("run-1", recorded())


def test_what_is_played_before_a_worker_describes_the_game_is_kept(tmp_path: Path):
    directory = RunDirectory.create(tmp_path / "runs", "run-1")
    module = library(tmp_path).keep("counting", b"1;\n", None)
    write_start(directory, "counting", RunSettings(), module)
    directory.close()
    episodes = episodes_of(tmp_path)
    played = recorded(version=None, game_sha256=module.reference.sha256)
    kept = episodes.add("run-1", played)
    assert kept.starred and episodes.entries("run-1") == [kept]
    with pytest.raises(ConfigurationError, match="another build"):
        episodes.add("run-1", recorded(version=None, game_sha256="0" * 64))


def test_a_folder_that_leads_out_of_the_run_is_damage(tmp_path: Path):
    past_run(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "runs" / "run-1" / FOLDER).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DamagedRunError, match="is a link that leads out"):
        episodes_of(tmp_path).entries("run-1")
    with pytest.raises(FileError, match="is a link that leads out"):
        episodes_of(tmp_path).add("run-1", recorded(version=None))
