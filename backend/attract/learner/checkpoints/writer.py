"""Writes checkpoints on a thread of its own, so that the next update need not wait for the disk (rule D1)."""

import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from attract.learner.checkpoints.checkpoint import Snapshot, write_checkpoint
from attract.runs.disk import refusal

MAX_PENDING = 2
"""Snapshots that may wait; past that `submit` blocks: the learner waits for the disk, nothing is dropped."""
RETRY_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class _Job:
    snapshot: Snapshot
    announce: Callable[[Path, float], None]


class CheckpointWriter:
    """Writes `checkpoints/` of one run directory; the learner's thread submits, in order of version.

    Old versions are deleted by the gateway, which owns `latest` and `best`.

    Args:
        run_dir: the run directory.
        on_failure: called on the writer's thread when a checkpoint could not be written or announced; nothing
            is written after that.
        on_stall: called on the writer's thread with the reason when the disk refuses, which is tried again
            every second, and with None once it took the version.
    """

    def __init__(
        self,
        run_dir: Path,
        on_failure: Callable[[Exception], None],
        on_stall: Callable[[str | None], None],
    ) -> None:
        self._run_dir = run_dir
        self._on_failure = on_failure
        self._on_stall = on_stall
        self._finishing = threading.Event()
        self._jobs: queue.Queue[_Job | None] = queue.Queue(MAX_PENDING)
        self._thread = threading.Thread(target=self._work, name="checkpoint-writer", daemon=True)
        self._thread.start()

    @property
    def checkpoints(self) -> Path:
        """Folder of all versions."""
        return self._run_dir / "checkpoints"

    def submit(self, snapshot: Snapshot, announce: Callable[[Path, float], None]) -> None:
        """Write the snapshot soon; once durable, `announce(folder, seconds)` runs on the writer's thread."""
        self._jobs.put(_Job(snapshot, announce))

    def finish(self, timeout_seconds: float | None = None) -> bool:
        """Let what was submitted be written, then end the thread; True if it ended in time."""
        self._finishing.set()
        if self._thread.is_alive():
            self._jobs.put(None)
        self._thread.join(timeout_seconds)
        return not self._thread.is_alive()

    def _work(self) -> None:
        failed = False
        while (job := self._jobs.get()) is not None:
            if failed:
                continue
            try:
                started = time.perf_counter()
                folder = self._write(job.snapshot)
                job.announce(folder, time.perf_counter() - started)
            except Exception as error:
                failed = True
                self._on_failure(error)

    def _write(self, snapshot: Snapshot) -> Path:
        """Write until the disk takes it; the folder. Raises: OSError: another, or the end came first."""
        stalled = False
        while True:
            try:
                folder = write_checkpoint(self.checkpoints, snapshot)
            except OSError as error:
                reason = refusal(error)
                if reason is None or self._finishing.is_set():
                    raise
                if not stalled:
                    self._on_stall(f"version {snapshot.policy_version} cannot be saved: {reason}")
                stalled = True
                self._finishing.wait(RETRY_SECONDS)
            else:
                if stalled:
                    self._on_stall(None)
                return folder
