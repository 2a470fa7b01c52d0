"""Demonstrations: read from the files of the settings, refused by name, and cut into segments."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch

from attract.collection.seating import Seating
from attract.collection.trust.replays import Play
from attract.errors import ConfigurationError
from attract.games.kept_builds import write_start
from attract.games.library import GameLibrary, GameModule
from attract.learner.imitation.demonstrations import (
    Demonstrated,
    demonstration_batch,
    demonstration_files,
    demonstrations_of,
    keep_slots,
    on_device,
    play_again,
)
from attract.runs.directory import RunDirectory
from attract.runs.episodes import read_episode
from attract.schema.recorded_episode import EpisodeSeat, PlayerKind
from attract.settings.run import RunSettings
from attract.vector.environments.replaying import EpisodeReplayer
from demonstration_recorder import demonstrated, keydoor_player, record, write_demonstrations


def played(
    num_steps: int, *, ended: bool, first: float = 0.0, players: Sequence[PlayerKind] = ("person", "person")
) -> Demonstrated:
    """Two agents that see agent * 100 + step; the second is away after the first step."""
    seen = first + np.arange(num_steps)[:, None, None] + np.array([0, 100])[None, :, None]
    valid = np.ones((num_steps, 2), np.uint8)
    valid[1:, 1] = 0
    flags = np.zeros((num_steps, 2), np.uint8)
    terminated = flags.copy()
    terminated[0, 1] = 1
    terminated[-1, 0] = ended
    steps = {
        "valid": valid,
        "terminated": terminated,
        "truncated": flags,
        "reward": np.ones((num_steps, 2), np.float32),
        "action_mask": np.zeros((num_steps, 2, 3), np.uint8),
        "obs.obs": seen.astype(np.float32),
    }
    steps["action_mask"][..., 1] = valid
    after = {"obs": np.full((2, 1), first + num_steps, np.float32)}
    play = Play(steps, after, {}, np.ones((num_steps, 2), np.int32), ())
    episode = demonstrated([[0, 0]] * num_steps, [0, 0], ended=ended)
    seats = [EpisodeSeat(player=player) for player in players]
    return Demonstrated(Path("one.json"), episode.model_copy(update={"seats": seats}), play)


def test_S2_segments_chain_and_the_last_is_filled_up_with_invalid_steps():
    batch = demonstration_batch([played(5, ended=True), played(2, ended=True, first=50)], [0], 4)
    assert batch.slot_id.tolist() == [0, 0, 1] and batch.first_step.tolist() == [0, 4, 0]
    assert batch.valid.sum(0).tolist() == [4, 1, 2]
    assert batch.observation["obs"][0, :, 0].tolist() == [0, 4, 50]
    assert batch.bootstrap_observation["obs"][0].tolist() == [4]
    assert batch.terminated.sum(0).tolist() == [0, 1, 1] and batch.finals is None
    assert batch.action_mask is not None and batch.action_mask[1:, 1].all()


def test_E1_where_the_player_stopped_the_episode_is_truncated_with_what_was_seen_then():
    batch = demonstration_batch([played(5, ended=False)], [0], 4)
    assert batch.truncated.nonzero().tolist() == [[0, 1]]
    assert batch.finals is not None and batch.finals.observation["obs"].tolist() == [[5]]
    assert batch.finals.step.tolist() == [0] and batch.finals.column.tolist() == [1]
    whole = demonstration_batch([played(4, ended=False)], [0], 4)
    assert not whole.truncated.any() and whole.bootstrap_observation["obs"].tolist() == [[4]]


def test_E9_each_agent_has_a_slot_and_steps_in_which_it_was_away_are_invalid():
    batch = demonstration_batch([played(3, ended=True), played(3, ended=True)], [0, 1], 4)
    assert batch.slot_id.tolist() == [0, 1, 2, 3] and batch.valid.sum(0).tolist() == [3, 1, 3, 1]
    alone = keep_slots(on_device(batch, torch.device("cpu")), [1, 3])
    assert alone.slot_id.tolist() == [1, 3] and alone.observation["obs"][0, :, 0].tolist() == [100, 100]
    away = played(3, ended=True)
    away.play.steps["valid"][:] = 0
    with pytest.raises(ConfigurationError, match="no agent took part"):
        demonstration_batch([away], [1], 4)


def test_of_an_episode_that_a_person_played_against_others_the_persons_play_is_learned():
    won = played(3, ended=True, players=("random", "person"))
    whole = played(3, ended=True, players=("policy", "policy"))
    batch = demonstration_batch([won, whole], [0, 1], 4)
    # Two slots for each, of which the first one's first is left out.
    assert batch.slot_id.tolist() == [1, 2, 3]
    assert batch.observation["obs"][0, :, 0].tolist() == [100, 0, 100]
    assert demonstration_batch([won], [0], 4).slot_id.tolist() == [0], "a policy that the person did not play"


def test_a_file_that_is_none_is_refused_by_name(tmp_path: Path):
    with pytest.raises(ConfigurationError, match="no demonstration is in this folder"):
        demonstration_files(tmp_path)
    with pytest.raises(ConfigurationError, match=r"none\.json: there is no such file or folder"):
        demonstration_files(tmp_path / "none.json")
    for text, problem in (
        ("{", "is not valid JSON"),
        ('{"version": 7}', "is no recorded episode: version"),
    ):
        (tmp_path / "bad.json").write_text(text)
        with pytest.raises(ConfigurationError, match=rf"bad\.json: {problem}"):
            read_episode(demonstration_files(tmp_path)[0])


def test_the_index_of_a_run_s_own_episodes_is_no_demonstration(tmp_path: Path):
    for name in ("index.json", "b.json", "a.json"):
        (tmp_path / name).write_text("{}")
    assert [path.name for path in demonstration_files(tmp_path)] == ["a.json", "b.json"]


async def test_an_episode_that_the_game_no_longer_plays_so_is_refused_by_its_file(tmp_path: Path):
    found = record("keydoor", keydoor_player, episodes=2)
    write_demonstrations(tmp_path, [found[0], found[1].model_copy(update={"returns": [0.5]})])
    module = await GameLibrary(Path.cwd()).resolve("keydoor")
    with pytest.raises(
        ConfigurationError, match=r"0001\.json: the game has changed .* was 0\.5, and now is 1"
    ):
        play_again(module, tmp_path)
    game, played_again = play_again(module, tmp_path / "0000.json")
    assert game.id == "Keydoor-v1" and len(played_again[0].play.action) == found[0].num_steps


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
