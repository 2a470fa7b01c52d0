"""Experience beside the checkpoints: when it is saved, what is loaded, and what a spoilt file does."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch
from torch import Tensor

from attract.learner.algorithms.algorithm import Algorithm
from attract.learner.process.experience_files import ExperienceFiles


class Keeper:
    """Has two rows of experience, and takes over any."""

    def __init__(self, save_minutes: float | None = 1.0) -> None:
        self.save_minutes = save_minutes
        self.rows = torch.tensor([3.0, 5.0])
        self.loaded: dict[str, Any] | None = None

    def experience(self) -> tuple[Mapping[str, Tensor], dict[str, Any]]:
        return {"observation.a/b": self.rows}, {"written": len(self.rows)}

    def restore_experience(self, tensors: Mapping[str, Tensor], document: Mapping[str, Any]) -> int:
        if document["written"] == 13:
            raise ValueError("thirteen")
        self.rows, self.loaded = tensors["observation.a/b"], dict(document)
        return len(self.rows)


class Forgets:
    """An algorithm without experience."""


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def files(folder: Path, sha: str = "a", **kept: object) -> tuple[ExperienceFiles, Clock]:
    clock = Clock()
    return ExperienceFiles(folder, cast("dict[str, Algorithm]", kept), sha, clock), clock


def test_D2_each_policy_gets_its_own_back(tmp_path: Path):
    one, other = Keeper(), Keeper()
    other.rows = torch.tensor([7.0])
    assert files(tmp_path, scout=one, guard=other, plain=Forgets())[0].save() is None
    again, also = Keeper(), Keeper()
    notes, is_loaded = files(tmp_path, scout=again, guard=also, plain=Forgets())[0].load()
    assert is_loaded and len(notes) == 2 and "2 saved steps" in notes[0] and "1 saved steps" in notes[1]
    assert (again.rows.tolist(), also.rows.tolist()) == ([3.0, 5.0], [7.0])
    assert again.loaded == {"written": 2, "game_sha256": "a"}


def test_it_is_saved_only_on_request_and_once_in_so_many_minutes(tmp_path: Path):
    silent, _ = files(tmp_path, main=Keeper(None), plain=Forgets())
    assert silent.save() is None and silent.save_if_due() is None and silent.load() == ([], False)
    assert list(tmp_path.iterdir()) == []
    keeper = Keeper(2.0)
    asked, clock = files(tmp_path, main=keeper)
    path = tmp_path / "replay" / "main.npz"
    clock.now += 119.0
    assert asked.save_if_due() is None and not path.exists()
    clock.now += 1.0
    assert asked.save_if_due() is None and path.exists()
    path.unlink()
    clock.now += 119.0
    assert asked.save_if_due() is None and not path.exists()
    keeper.rows = torch.empty(0)
    assert asked.save() is None and not path.exists(), "nothing is there to save"


@pytest.mark.parametrize("damage", ["missing", "cut short", "a bit", "no archive", "another game", "unfit"])
def test_D1_what_is_not_whole_or_does_not_fit_is_not_loaded_and_said(tmp_path: Path, damage: str):
    keeper = Keeper()
    keeper.rows = torch.arange(13.0 if damage == "unfit" else 100.0)
    assert files(tmp_path, "b" if damage == "another game" else "a", main=keeper)[0].save() is None
    path = tmp_path / "replay" / "main.npz"
    data = bytearray(path.read_bytes())
    if damage == "missing":
        path.unlink()
    elif damage == "cut short":
        path.write_bytes(data[:-40])
    elif damage == "a bit":
        data[data.index(np.arange(100, dtype=np.float32)[50:60].tobytes())] ^= 1
        path.write_bytes(data)
    elif damage == "no archive":
        path.write_bytes(b"not an archive")
    fresh = Keeper()
    (note,), is_loaded = files(tmp_path, main=fresh)[0].load()
    assert not is_loaded and fresh.loaded is None
    assert note.startswith("main.npz was not loaded: ")


def test_D1_a_save_that_fails_leaves_the_one_before_and_is_no_error(tmp_path: Path):
    keeper = Keeper()
    kept, _ = files(tmp_path, main=keeper)
    kept.save()
    keeper.rows = torch.tensor([9.0])
    # The disk refuses: in the place of the file that would be written is a folder.
    (tmp_path / "replay" / "main.writing").mkdir()
    problem = kept.save()
    assert problem is not None and problem.startswith("the replay buffer was not saved: ")
    fresh = Keeper()
    assert files(tmp_path, main=fresh)[0].load()[1] and fresh.rows.tolist() == [3.0, 5.0]
