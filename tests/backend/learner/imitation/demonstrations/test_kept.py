"""Demonstrations of a run in training come from the files of its settings, in the game that it keeps."""

from pathlib import Path

import pytest

from attract.collection.seating import Seating
from attract.errors import ConfigurationError
from attract.games.kept_builds import write_start
from attract.games.library import GameLibrary, GameModule
from attract.learner.imitation.demonstrations import demonstrations_of
from attract.runs.directory import RunDirectory
from attract.settings.run import RunSettings
from attract.vector.environments.replaying import EpisodeReplayer
from demonstration_recorder import keydoor_player, record, write_demonstrations


def run_folder(tmp_path: Path, module: GameModule | None) -> Path:
    """The directory of a new run that keeps this game."""
    directory = RunDirectory.create(tmp_path / "runs", "run", force=False)
    if module is None:
        directory.write_config("keydoor", {})
    else:
        write_start(directory, "keydoor", RunSettings(), module)
        with EpisodeReplayer(module) as replayer:
            directory.write_game(module.reference, replayer.description)
    directory.close()
    return directory.path


async def test_they_are_played_in_the_kept_game_and_cut_as_the_run_cuts(tmp_path: Path):
    found = record("keydoor", keydoor_player, episodes=2)
    source = write_demonstrations(tmp_path / "played", found)
    module = await GameLibrary(Path.cwd()).resolve("keydoor")
    path = run_folder(tmp_path, module)
    batches = demonstrations_of(path, source, Seating(("main",)), horizon=8)
    assert list(batches) == [None]
    assert batches[None].valid.shape[0] == 8
    assert int(batches[None].valid.sum()) == sum(demonstration.num_steps for demonstration in found)
    with pytest.raises(ConfigurationError, match="no demonstration is in this folder"):
        demonstrations_of(path, tmp_path, Seating(("main",)), horizon=8)


def test_a_run_that_keeps_no_game_is_refused_by_name(tmp_path: Path):
    with pytest.raises(ConfigurationError, match="run run keeps no game"):
        demonstrations_of(run_folder(tmp_path, None), tmp_path, Seating(("main",)), horizon=8)
