import json
import shutil
from pathlib import Path

import pytest
import torch

from attract.errors import CheckpointError
from attract.learner.checkpoints.checkpoint import (
    Snapshot,
    find_newest,
    load_checkpoint,
    set_aside_newer,
    versions_in,
    weights_sha256,
    write_checkpoint,
)

WEIGHTS = {"trunk.0.weight": torch.arange(6.0).view(2, 3), "policy_head.bias": torch.tensor([-1.5, 0.0])}
OPTIMIZER = {"policy_head.bias/step": torch.tensor(3.0)}


def snapshot(version: int) -> Snapshot:
    return Snapshot.take(version, WEIGHTS, OPTIMIZER, {"counters": {"updates": version}, "share": 0.1})


def test_D1_a_checkpoint_reads_back_bit_for_bit(tmp_path: Path):
    folder = write_checkpoint(tmp_path, snapshot(12))
    assert folder == tmp_path / "12"
    assert sorted(entry.name for entry in folder.iterdir()) == [
        "checkpoint.json",
        "optimizer.safetensors",
        "policy.safetensors",
    ]
    read = load_checkpoint(folder)
    assert read.policy_version == 12
    assert read.policy.keys() == WEIGHTS.keys()
    for name, tensor in WEIGHTS.items():
        assert torch.equal(read.policy[name], tensor) and read.policy[name].dtype == tensor.dtype
    assert read.optimizer["policy_head.bias/step"].item() == 3.0
    assert read.document["counters"] == {"updates": 12}
    assert read.document["share"] == 0.1


def test_D1_a_snapshot_does_not_change_with_the_weights_it_was_taken_of(tmp_path: Path):
    weights = {"weight": torch.zeros(3)}
    taken = Snapshot.take(0, weights, {}, {})
    weights["weight"].fill_(7.0)
    read = load_checkpoint(write_checkpoint(tmp_path, taken))
    assert read.policy["weight"].tolist() == [0.0, 0.0, 0.0]


def flip(path: Path, position: int) -> None:
    data = bytearray(path.read_bytes())
    data[position] ^= 1
    path.write_bytes(data)


def drop_last_byte(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


SPOILERS = {
    "weights bit": lambda folder: flip(folder / "policy.safetensors", -1),
    "optimizer bit": lambda folder: flip(folder / "optimizer.safetensors", -1),
    "counter digit": lambda folder: (folder / "checkpoint.json").write_text(
        (folder / "checkpoint.json").read_text().replace('"updates": 2', '"updates": 3')
    ),
    "short weights": lambda folder: drop_last_byte(folder / "policy.safetensors"),
    "short document": lambda folder: drop_last_byte(folder / "checkpoint.json"),
    "no optimizer": lambda folder: (folder / "optimizer.safetensors").unlink(),
    "no document": lambda folder: (folder / "checkpoint.json").unlink(),
    "foreign document": lambda folder: (folder / "checkpoint.json").write_text("[]"),
}


@pytest.mark.parametrize("name", SPOILERS)
def test_D1_a_spoilt_checkpoint_is_refused_and_the_one_before_it_found(tmp_path: Path, name: str):
    write_checkpoint(tmp_path, snapshot(1))
    spoilt = write_checkpoint(tmp_path, snapshot(2))
    SPOILERS[name](spoilt)
    with pytest.raises(CheckpointError, match=str(spoilt)):
        load_checkpoint(spoilt)
    newest, notes = find_newest(tmp_path)
    assert newest is not None and newest.policy_version == 1
    assert len(notes) == 1 and str(spoilt) in notes[0]


def test_D1_a_format_of_the_future_is_refused_by_number(tmp_path: Path):
    folder = write_checkpoint(tmp_path, snapshot(1))
    document = json.loads((folder / "checkpoint.json").read_text())
    (folder / "checkpoint.json").write_text(json.dumps({**document, "format_version": 2}))
    with pytest.raises(CheckpointError, match="format 2"):
        load_checkpoint(folder)


def test_D1_half_written_folders_are_no_versions(tmp_path: Path):
    write_checkpoint(tmp_path, snapshot(3))
    shutil.copytree(tmp_path / "3", tmp_path / ".writing-4")
    assert versions_in(tmp_path) == [3]
    newest, notes = find_newest(tmp_path)
    assert newest is not None and newest.policy_version == 3
    assert notes == []
    assert find_newest(tmp_path / "nowhere") == (None, [])


def test_D1_a_version_is_never_written_over(tmp_path: Path):
    write_checkpoint(tmp_path, snapshot(5))
    other = Snapshot.take(5, {"weight": torch.ones(1)}, {}, {})
    with pytest.raises(OSError, match="not empty"):
        write_checkpoint(tmp_path, other)
    assert load_checkpoint(tmp_path / "5").policy.keys() == WEIGHTS.keys()
    assert [entry.name for entry in tmp_path.iterdir()] == ["5"]


def test_D2_newer_versions_than_the_one_resumed_are_set_aside_not_deleted(tmp_path: Path):
    for version in (1, 2, 3):
        write_checkpoint(tmp_path, snapshot(version))
    (tmp_path / ".writing-4").mkdir()
    set_aside_newer(tmp_path, 2)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["1", "2", "3.broken-0"]
    write_checkpoint(tmp_path, snapshot(3))
    set_aside_newer(tmp_path, 2)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["1", "2", "3.broken-0", "3.broken-1"]


def test_C8_the_hash_of_weights_sees_names_shapes_types_and_bits_but_not_order():
    base = weights_sha256(WEIGHTS)
    assert weights_sha256(dict(reversed(WEIGHTS.items()))) == base
    bit = {**WEIGHTS, "policy_head.bias": torch.tensor([-1.5, -0.0])}
    shape = {**WEIGHTS, "trunk.0.weight": torch.arange(6.0).view(3, 2)}
    name = {"trunk.0.other": WEIGHTS["trunk.0.weight"], "policy_head.bias": WEIGHTS["policy_head.bias"]}
    assert len({base, weights_sha256(bit), weights_sha256(shape), weights_sha256(name)}) == 4
