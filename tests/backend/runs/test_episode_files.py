"""Files of recorded episodes: small, read again as they were, and refused by name where they are damaged."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attract.errors import FileError
from attract.runs import episodes as module
from attract.runs.episodes import read_episode, written
from attract.schema.episode_actions import pack_actions
from attract.schema.recorded_episode import EpisodeMarks, RecordedEpisode
from recorded_episodes import recorded, recorded_document


def minute(dtype: type, shape: tuple[int, ...]) -> RecordedEpisode:
    """A minute of game time at 15 decisions a second, as random as play can be."""
    random = np.random.default_rng(0)
    actions = random.normal(size=shape) if dtype is np.float32 else random.integers(0, 6, shape)
    marks = EpisodeMarks(interval=15, hashes="".join(f"{n:08x}" for n in random.integers(0, 2**32, 60)))
    return recorded(steps=900, actions=pack_actions(actions.astype(dtype)), marks=marks)


@pytest.mark.parametrize(
    ("dtype", "shape", "most"),
    [(np.int32, (900, 1), 2_500), (np.float32, (900, 1, 1), 7_500)],
    ids=["one of six keys", "a continuous action"],
)
def test_a_minute_of_play_has_less_than_10_kB(dtype: type, shape: tuple[int, ...], most: int):
    assert len(written(minute(dtype, shape))) < most


def test_what_is_written_is_read_again(tmp_path: Path):
    episode = recorded()
    path = tmp_path / "one.json"
    path.write_bytes(written(episode))
    assert read_episode(path) == episode
    document = json.loads(path.read_bytes())
    assert (document["format"], document["version"]) == ("attract-episode", 2)


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"num_steps": 4}, r"actions\.shape: 3 steps of actions, `num_steps` says 4"),
        ({"version": 9}, "version: "),
        ({"end_reason": "gone"}, "end_reason: "),
    ],
)
def test_a_damaged_file_is_refused_in_one_sentence_with_its_name(
    tmp_path: Path, changed: dict[str, Any], problem: str
):
    path = tmp_path / "one.json"
    path.write_text(json.dumps({**recorded_document(steps=3), **changed}))
    with pytest.raises(FileError, match=rf"one\.json: is no recorded episode: {problem}") as caught:
        read_episode(path)
    assert "\n" not in str(caught.value)


def test_a_file_too_large_a_link_and_a_pipe_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "runs" / "one.json"
    path.parent.mkdir()
    path.write_bytes(written(recorded()))
    outside = tmp_path / "outside.json"
    outside.write_bytes(path.read_bytes())
    (path.parent / "link.json").symlink_to(outside)
    os.mkfifo(path.parent / "pipe.json")
    with pytest.raises(FileError, match="is a link that leads out"):
        read_episode(path.parent / "link.json", path.parent)
    with pytest.raises(FileError, match=r"pipe\.json"):
        read_episode(path.parent / "pipe.json")
    monkeypatch.setattr(module, "MAX_FILE_BYTES", 100)
    with pytest.raises(FileError, match="at most 100 are read"):
        read_episode(path)
