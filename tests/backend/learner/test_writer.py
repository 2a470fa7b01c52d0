import threading
from pathlib import Path

import torch

from attract.learner.checkpoint import Snapshot, load_checkpoint
from attract.learner.writer import CheckpointWriter


def snapshot(version: int) -> Snapshot:
    return Snapshot.take(version, {"weight": torch.tensor([float(version)])}, {}, {})


def test_D1_a_version_is_announced_after_it_is_on_disk_and_in_order(tmp_path: Path):
    announced: list[tuple[int, float]] = []

    def announce(folder: Path, seconds: float) -> None:
        # What was just announced must be whole at this instant.
        announced.append((load_checkpoint(folder).policy_version, seconds))

    writer = CheckpointWriter(tmp_path, lambda error: announced.append((-1, 0.0)))
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

    writer = CheckpointWriter(tmp_path, lambda error: None)
    for version in range(3):  # one being announced, two waiting
        writer.submit(snapshot(version), announce)
    assert announced == []
    gate.set()
    assert writer.finish(30)
    assert [folder.name for folder in announced] == ["0", "1", "2"]


def test_D1_after_a_failure_nothing_more_is_written_or_announced(tmp_path: Path):
    failures: list[Exception] = []
    announced: list[Path] = []
    writer = CheckpointWriter(tmp_path, failures.append)
    (tmp_path / "checkpoints").write_text("a file where the folder should be")
    for version in range(4):
        writer.submit(snapshot(version), lambda folder, seconds: announced.append(folder))
    assert writer.finish(30)
    assert len(failures) == 1 and isinstance(failures[0], OSError)
    assert announced == []
