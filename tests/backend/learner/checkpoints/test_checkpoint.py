"""Checkpoints: written, read and exported, and the names of the tensors in them."""

import errno
import json
import queue
import shutil
import threading
from pathlib import Path
from typing import Any

import onnxruntime
import pytest
import torch
from torch import nn

from attract.algorithm.normalisation import RunningMoments
from attract.errors import CheckpointError, PolicyError
from attract.learner.algorithms.adam import Adam
from attract.learner.checkpoints import checkpoint, writer
from attract.learner.checkpoints.checkpoint import (
    Snapshot,
    find_newest,
    load_checkpoint,
    set_aside_newer,
    versions_in,
    weights_sha256,
    write_checkpoint,
)
from attract.learner.checkpoints.exporting import export_policies
from attract.learner.checkpoints.state_tensors import (
    adam_tensors,
    moments_of,
    moments_tensors,
    restore_adam,
    within,
)
from attract.learner.checkpoints.tensor_namespaces import strip_prefix, with_prefixes
from attract.learner.checkpoints.writer import CheckpointWriter
from attract.policy.export import OnnxPatcher
from policies import create_policy, describe, observations_for, randomise

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


def numbered_snapshot(version: int) -> Snapshot:
    return Snapshot.take(version, {"weight": torch.tensor([float(version)])}, {}, {})


def test_D1_a_version_is_announced_after_it_is_on_disk_and_in_order(tmp_path: Path):
    announced: list[tuple[int, float]] = []

    def announce(folder: Path, seconds: float) -> None:
        # What was just announced must be whole at this instant.
        announced.append((load_checkpoint(folder).policy_version, seconds))

    writer = CheckpointWriter(tmp_path, lambda error: announced.append((-1, 0.0)), print)
    for version in range(5):
        writer.submit(numbered_snapshot(version), announce)
    assert writer.finish(30)
    assert [version for version, _ in announced] == [0, 1, 2, 3, 4]
    assert all(seconds > 0 for _, seconds in announced)


def test_D1_the_caller_need_not_wait_for_the_disk_until_three_versions_wait(tmp_path: Path):
    gate = threading.Event()
    announced: list[Path] = []

    def announce(folder: Path, seconds: float) -> None:
        assert gate.wait(30)
        announced.append(folder)

    writer = CheckpointWriter(tmp_path, print, print)
    for version in range(3):  # one being announced, two waiting
        writer.submit(numbered_snapshot(version), announce)
    assert announced == []
    gate.set()
    assert writer.finish(30)
    assert [folder.name for folder in announced] == ["0", "1", "2"]


def test_D1_after_a_failure_nothing_more_is_written_or_announced(tmp_path: Path):
    failures: list[Exception] = []
    announced: list[Path] = []
    writer = CheckpointWriter(tmp_path, failures.append, print)
    (tmp_path / "checkpoints").write_text("a file where the folder should be")
    for version in range(4):
        writer.submit(numbered_snapshot(version), lambda folder, seconds: announced.append(folder))
    assert writer.finish(30)
    assert len(failures) == 1 and isinstance(failures[0], OSError)
    assert announced == []


class Disk:
    """Stands in the way of `fsync`: while `full` is set it fails as a full disk does."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.full = threading.Event()
        self._fsync = checkpoint.os.fsync
        monkeypatch.setattr(checkpoint.os, "fsync", self.fsync)
        monkeypatch.setattr(writer, "RETRY_SECONDS", 0.01)

    def fsync(self, descriptor: int) -> None:
        if self.full.is_set():
            raise OSError(errno.ENOSPC, "No space left on device")
        self._fsync(descriptor)


def test_D1_a_version_waits_for_a_full_disk_and_is_announced_once_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    disk, heard = Disk(monkeypatch), queue.SimpleQueue[object]()
    out = CheckpointWriter(tmp_path, heard.put, heard.put)
    out.submit(snapshot(0), lambda folder, seconds: heard.put(load_checkpoint(folder).policy_version))
    assert heard.get(timeout=30) == 0
    disk.full.set()
    for version in (1, 2):
        out.submit(
            numbered_snapshot(version),
            lambda folder, seconds: heard.put(load_checkpoint(folder).policy_version),
        )
    assert heard.get(timeout=30) == "version 1 cannot be saved: No space left on device"
    # The last good version is all there is.
    assert versions_in(out.checkpoints) == [0]
    disk.full.clear()
    assert [heard.get(timeout=30) for _ in range(3)] == [None, 1, 2]
    assert out.finish(30)


def test_the_end_does_not_wait_for_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    disk, heard = Disk(monkeypatch), queue.SimpleQueue[object]()
    disk.full.set()
    out = CheckpointWriter(tmp_path, heard.put, heard.put)
    out.submit(snapshot(1), lambda folder, seconds: heard.put("announced"))
    assert "cannot be saved" in str(heard.get(timeout=30))
    assert out.finish(30)
    assert isinstance(heard.get(timeout=1), OSError)
    assert versions_in(out.checkpoints) == []


def state(seed: int) -> Any:
    policy = create_policy(hidden_sizes=(8,))
    randomise(policy, seed)
    return {name: tensor.clone() for name, tensor in policy.state_dict().items()}


def export(out: Path, states: dict[str, Any], seats: list[str], **settings: Any) -> None:
    blank = create_policy(hidden_sizes=(8,))
    export_policies(
        out,
        states,
        blank,
        OnnxPatcher(create_policy(hidden_sizes=(8,), **settings)),
        describe(),
        seats=seats,
        policy_version=7,
        training={"run_id": "run-1"},
    )


def value_of(model: Path) -> Any:
    session = onnxruntime.InferenceSession(model.read_bytes(), providers=["CPUExecutionProvider"])
    inputs = {"obs": observations_for(create_policy(hidden_sizes=(8,)), 4)["obs"].numpy()}
    return session.run(["value"], inputs)[0].tolist()


def test_a_sole_policy_is_policy_onnx_with_its_document(tmp_path: Path):
    export(tmp_path / "out", {"main": state(1)}, ["main"])
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["policy.json", "policy.onnx"]
    document = json.loads((tmp_path / "out" / "policy.json").read_text())
    assert document["policy_version"] == 7
    assert "policy_id" not in document


def test_several_policies_have_files_of_their_own_and_one_document_says_who_plays_whom(tmp_path: Path):
    export(tmp_path, {"scout": state(1), "keeper": state(2)}, ["scout", "keeper", "keeper"])
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["keeper.onnx", "policy.json", "scout.onnx"]
    text = (tmp_path / "policy.json").read_text()
    assert '"scout"' in text
    assert '"keeper"' in text
    assert value_of(tmp_path / "scout.onnx") != value_of(tmp_path / "keeper.onnx")
    export(tmp_path / "alone", {"main": state(1)}, ["main"])
    assert value_of(tmp_path / "alone" / "policy.onnx") == value_of(tmp_path / "scout.onnx")


def test_C9_a_model_that_does_not_compute_what_torch_does_is_not_written(tmp_path: Path):
    # The same tensors in a graph of another activation.
    with pytest.raises(PolicyError):
        export(tmp_path / "out", {"main": state(1)}, ["main"], activation="relu")
    assert not (tmp_path / "out").exists()


def stepped(steps: int, *, groups: bool = False) -> tuple[nn.Linear, Adam]:
    """A layer after so many steps of Adam on gradients of 1; `groups`: the bias in one of its own, first."""
    layer = nn.Linear(2, 1)
    with torch.no_grad():
        layer.weight.zero_()
        layer.bias.zero_()
    parts = [{"params": [layer.bias]}, {"params": [layer.weight]}] if groups else layer.parameters()
    optimizer = Adam(parts, lr=0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        layer(torch.ones(1, 2)).sum().backward()
        optimizer.step()
    return layer, optimizer


def test_adams_state_is_named_by_parameter_and_empty_before_the_first_step():
    assert adam_tensors(*reversed(stepped(0))) == {}
    layer, optimizer = stepped(2)
    tensors = adam_tensors(optimizer, layer)
    assert sorted(tensors) == [
        f"{name}/{key}" for name in ("bias", "weight") for key in ("exp_avg", "exp_avg_sq", "step")
    ]
    assert float(tensors["weight/step"]) == 2.0
    # Moments of gradients of 1 after two steps: 1 - 0.9^2 and 1 - 0.999^2.
    assert tensors["bias/exp_avg"].tolist() == pytest.approx([0.19])
    assert tensors["bias/exp_avg_sq"].tolist() == pytest.approx([0.001999])


@pytest.mark.parametrize("groups", [False, True])
def test_D2_a_restored_optimizer_goes_on_as_the_one_it_came_from(groups):
    layer, optimizer = stepped(2, groups=groups)
    saved = {name: tensor.clone() for name, tensor in adam_tensors(optimizer, layer).items()}
    other, others = stepped(0, groups=groups)
    other.load_state_dict(layer.state_dict())
    restore_adam(others, other, saved)
    for module, its in ((layer, optimizer), (other, others)):
        its.zero_grad()
        (module(torch.ones(1, 2)).sum() * 3).backward()
        its.step()
    assert torch.equal(layer.weight, other.weight)
    assert torch.equal(layer.bias, other.bias)
    assert float(saved["weight/step"]) == 2.0, "what was saved is not shared"


def test_nothing_saved_is_an_optimizer_that_has_not_begun():
    layer, optimizer = stepped(2)
    restore_adam(optimizer, layer, {})
    assert adam_tensors(optimizer, layer) == {}


def test_half_of_a_parameters_state_is_refused():
    layer, optimizer = stepped(1)
    tensors = adam_tensors(optimizer, layer)
    del tensors["weight/exp_avg"]
    with pytest.raises(KeyError, match="weight/exp_avg"):
        restore_adam(optimizer, layer, tensors)


def test_P7_moments_come_back_as_they_were():
    moments = RunningMoments(
        3.0, torch.tensor([1.0, 2.0], dtype=torch.float64), torch.tensor([4.0, 5.0], dtype=torch.float64)
    )
    tensors = moments_tensors("statistics.obs", moments)
    assert sorted(tensors) == [
        "statistics.obs.count",
        "statistics.obs.mean",
        "statistics.obs.squared_deviations",
    ]
    again = moments_of("statistics.obs", tensors)
    assert again is not None
    assert (again.count, again.mean.tolist(), again.squared_deviations.tolist()) == (3.0, [1, 2], [4, 5])
    del tensors["statistics.obs.mean"]
    assert moments_of("statistics.obs", tensors) is None
    assert moments_of("statistics", tensors) is None


def test_tensors_of_one_part_are_named_without_it():
    one = torch.zeros(1)
    assert within({"slots.a": one, "slots.slots.b": one, "other": one}, "slots.") == {
        "a": one,
        "slots.b": one,
    }


def test_a_sole_policys_names_stay_plain():
    assert with_prefixes({"main": {"a": 1, "b": 2}}) == {"a": 1, "b": 2}
    assert strip_prefix({"a": 1, "b": 2}, "main", ["main"]) == {"a": 1, "b": 2}


def test_several_policies_names_stand_behind_their_ids_and_come_back():
    parts = {"scout": {"a": 1}, "scout2": {"a": 2, "scout/a": 3}}
    whole = with_prefixes(parts)
    assert whole == {"scout/a": 1, "scout2/a": 2, "scout2/scout/a": 3}
    for policy_id, part in parts.items():
        assert strip_prefix(whole, policy_id, list(parts)) == part
    assert strip_prefix(whole, "keeper", ["scout", "keeper"]) == {}


def test_what_comes_back_is_a_copy():
    whole = {"a": 1}
    strip_prefix(whole, "main", ["main"])["b"] = 2
    with_prefixes({"main": whole})["c"] = 3
    assert whole == {"a": 1}
