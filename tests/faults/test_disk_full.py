"""A real run on a real small disk that fills up: it pauses, says so, keeps what is good, and goes on."""

import contextlib
import json
import queue
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from attract.learner.checkpoints.checkpoint import find_newest
from attract_command import AttractCommand

DISK_BYTES = 24 * 1024 * 1024
WAIT_SECONDS = 120.0

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or subprocess.run(["unshare", "-rm", "true"], check=False).returncode != 0,
    reason="needs Linux's mount namespaces",
)


class SmallDisk:
    """`attract train` in a mount namespace of its own, where the runs folder is a disk of a few MiB."""

    def __init__(self, runs_dir: Path) -> None:
        runs_dir.mkdir()
        script = f'mount -t tmpfs -o size={DISK_BYTES} tmpfs "$0" && exec "$@"'
        self._prefix = ["unshare", "-rm", "sh", "-c", script, str(runs_dir)]
        self._runs_dir = runs_dir

    def start(self, *arguments: str) -> AttractCommand:
        return AttractCommand(*arguments, runs_dir=self._runs_dir, prefix=self._prefix)

    def seen_by(self, command: AttractCommand) -> Path:
        """The runs folder as that process sees it."""
        return Path(f"/proc/{command.process.pid}/root") / self._runs_dir.relative_to("/")


def fill(folder: Path) -> Path:
    """A file that takes all the room there is."""
    ballast = folder / "ballast"
    with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        for size in (1 << 20, 4096, 1):
            with contextlib.suppress(OSError):
                while True:
                    file.write(b"x" * size)
    return ballast


@pytest.fixture
def command(tmp_path: Path) -> Iterator[tuple[AttractCommand, Path]]:
    disk = SmallDisk(tmp_path / "runs")
    running = disk.start(
        "train", "cartpole", "--headless", "--workers", "1", "--run-id", "small", "--total-steps", "120000"
    )
    try:
        yield running, disk.seen_by(running)
    finally:
        running.kill()


def lines_of(command: AttractCommand) -> "queue.SimpleQueue[str]":
    """What the command prints on stdout, line by line as it comes."""
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()
    stdout = command.process.stdout
    assert stdout is not None
    threading.Thread(target=lambda: [lines.put(line) for line in stdout], daemon=True).start()
    return lines


def until(lines: "queue.SimpleQueue[str]", words: str) -> list[str]:
    """All lines up to the first that holds `words`."""
    deadline, seen = time.monotonic() + WAIT_SECONDS, list[str]()
    while not seen or words not in seen[-1]:
        try:
            seen.append(lines.get(timeout=max(0.0, deadline - time.monotonic())))
        except queue.Empty:
            raise AssertionError(f"no {words!r} among\n{''.join(seen)}") from None
    return seen


def latest_of(runs: Path, *, at_least: int = 0) -> int:
    """The version that the run's `latest` names, once it is this one."""
    deadline, link = time.monotonic() + WAIT_SECONDS, runs / "small" / "latest"
    while not link.is_symlink() or int(link.readlink().name) < at_least:
        assert time.monotonic() < deadline, f"no version {at_least} in time"
        time.sleep(0.05)
    return int(link.readlink().name)


# `make test` fills the disk of a simulated run in backend/run/test_disk_watch.py and test_simulation.py.
@pytest.mark.long
def test_a_full_disk_pauses_the_run_keeps_the_last_good_version_and_goes_on_with_room(
    command: tuple[AttractCommand, Path], tmp_path: Path
) -> None:
    process, runs = command
    lines = lines_of(process)
    until(lines, "update 1 ")
    latest_of(runs, at_least=5)
    ballast = fill(runs)
    line = until(lines, "paused until the disk takes writes again")[-1]
    assert "No space left" in line or "full" in line
    # Whatever was announced is whole, with the disk as full as it is.
    newest, notes = find_newest(runs / "small" / "checkpoints")
    assert newest is not None and notes == []
    assert newest.policy_version >= 5
    assert newest.policy_version - latest_of(runs) in (0, 1)
    assert shutil.disk_usage(runs).free < 64 * 1024
    ballast.unlink()
    until(lines, "continuing")
    seen = until(lines, "policy: ")
    assert any(line.startswith("finished: ") for line in seen)
    document = json.loads((runs / "small" / "latest" / "checkpoint.json").read_text())
    assert document["counters"]["agent_steps"] >= 120_000
    assert process.process.wait(60) == 0
