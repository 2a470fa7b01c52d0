"""Experience beside the checkpoints: when it is saved, what is loaded, and what a spoilt file does."""

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch
from torch import Tensor

from attract.experience.layout import PolicyLayout, StoreLayout
from attract.learner.algorithms.algorithm import Algorithm
from attract.learner.process.experience_files import ExperienceFiles
from attract.learner.replay.buffer import Column, ReplayBuffer, columns_of
from fake_worker import counting_description


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
    columns: dict[str, Column] = {"observation.a/b": ("float32", (), None)}
    return ExperienceFiles(folder, cast("dict[str, Algorithm]", kept), sha, columns, clock), clock


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


class Buffered:
    """Keeps a buffer of the counting game's steps."""

    save_minutes = 1.0

    def __init__(self) -> None:
        self.buffer = ReplayBuffer(1000, 64 << 20, "dqn")

    def experience(self) -> tuple[Mapping[str, Tensor], dict[str, Any]]:
        return self.buffer.rows()

    def restore_experience(self, tensors: Mapping[str, Tensor], document: Mapping[str, Any]) -> int:
        self.buffer.restore(tensors, document)
        return self.buffer.num_steps


LAYOUT = StoreLayout.for_run(counting_description(), PolicyLayout(), horizon=4, capacity=2)
COLUMNS = columns_of(LAYOUT)
ROWS = 30
GOOD: dict[str, Any] = {
    name: np.zeros((ROWS, *shape), dtype) for name, (dtype, shape, _) in COLUMNS.items()
} | {"leads": np.ones(ROWS, bool)}
ABOUT: dict[str, Any] = {"written": ROWS, "capacity": 1000, "row_bytes": 40, "game_sha256": "a"}
SEEN = next(name for name in COLUMNS if name.startswith("observation."))


def packed(arrays: Mapping[str, Any], about: Any = ABOUT, *, deflated: bool = False) -> bytes:
    file = io.BytesIO()
    text = about if isinstance(about, bytes) else json.dumps(about).encode()
    (np.savez_compressed if deflated else np.savez)(file, **arrays, about=np.frombuffer(text, np.uint8))
    return file.getvalue()


def patched(local: int, central: int, value: bytes) -> bytes:
    """Two bytes of each entry of the archive and of its directory."""
    data = bytearray(packed(GOOD))
    for mark, offset in ((b"PK\x03\x04", local), (b"PK\x01\x02", central)):
        at = -1
        while (at := data.find(mark, at + 1)) >= 0:
            data[at + offset : at + offset + 2] = value
    return bytes(data)


FOREIGN: dict[str, bytes] = {
    "deflated": packed(GOOD, deflated=True),
    "unknown compression": patched(8, 10, b"\x63\x00"),
    "encrypted": patched(6, 8, b"\x01\x00"),
    "written Infinity": packed(GOOD, {**ABOUT, "written": float("inf")}),
    "capacity Infinity": packed(GOOD, {**ABOUT, "capacity": float("inf")}),
    "a list": packed(GOOD, [1]),
    "deep": packed(GOOD, b"[" * 200_000),
    "complex": packed({**GOOD, "next": GOOD["next"].astype(complex)}),
    "floats": packed({**GOOD, "next": GOOD["next"].astype("f4")}),
    "next 2-d": packed({**GOOD, "next": GOOD["next"].reshape(-1, 1)}),
    "leads floats": packed({**GOOD, "leads": GOOD["leads"].astype("f4")}),
    "terminated 3-d": packed({**GOOD, "terminated": np.zeros((ROWS, 2, 2), bool)}),
    "rewards NaN": packed({**GOOD, "reward": np.full(ROWS, np.nan, "f4")}),
    "observations narrower": packed({**GOOD, SEEN: GOOD[SEEN][:, :0]}),
    "observations of doubles": packed({**GOOD, SEEN: GOOD[SEEN].astype("f8")}),
    "observations missing": packed({name: array for name, array in GOOD.items() if name != SEEN}),
    "actions out of range": packed({**GOOD, "action": np.full_like(GOOD["action"], 99)}),
    "a mask": packed({**GOOD, "mask": np.ones((ROWS, 3), bool)}),
    "objects": packed({**GOOD, "next": np.array([{}] * ROWS, dtype=object)}),
}


@pytest.mark.parametrize("name", ["good", *FOREIGN])
def test_hostile_a_file_that_is_not_this_game_s_is_not_loaded_and_ends_nothing(tmp_path: Path, name: str):
    (tmp_path / "replay").mkdir()
    (tmp_path / "replay" / "main.npz").write_bytes(FOREIGN.get(name, packed(GOOD)))
    kept = Buffered()
    loading = ExperienceFiles(tmp_path, cast("dict[str, Algorithm]", {"main": kept}), "a", COLUMNS)
    (note,), is_loaded = loading.load()
    assert kept.buffer.row_bytes == (sum(a[0].nbytes for a in GOOD.values()) if is_loaded else 0)
    assert is_loaded == (name == "good") and kept.buffer.num_steps == (ROWS if is_loaded else 0)
    assert is_loaded or note.startswith("main.npz was not loaded: ")
