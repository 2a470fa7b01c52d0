import errno
import queue
import threading
from pathlib import Path

import pytest
import torch

from attract.learner.checkpoints import checkpoint, writer
from attract.learner.checkpoints.checkpoint import Snapshot, load_checkpoint, versions_in
from attract.learner.checkpoints.writer import CheckpointWriter


def snapshot(version: int) -> Snapshot:
    return Snapshot.take(version, {"weight": torch.tensor([float(version)])}, {}, {})


def test_D1_a_version_is_announced_after_it_is_on_disk_and_in_order(tmp_path: Path):
    announced: list[tuple[int, float]] = []

    def announce(folder: Path, seconds: float) -> None:
        # What was just announced must be whole at this instant.
        announced.append((load_checkpoint(folder).policy_version, seconds))

    writer = CheckpointWriter(tmp_path, lambda error: announced.append((-1, 0.0)), print)
    for version in range(5):
        writer.submit(snapshot(version), announce)
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
        writer.submit(snapshot(version), announce)
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
        writer.submit(snapshot(version), lambda folder, seconds: announced.append(folder))
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
            snapshot(version), lambda folder, seconds: heard.put(load_checkpoint(folder).policy_version)
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
