import itertools
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from attract.runs import trackers
from attract.runs.trackers import TensorBoardTracker
from event_files import drawn_by_marks, drawn_by_steps, read_scalars


def test_every_value_is_a_scalar_under_its_own_name_at_its_agent_steps(tmp_path: Path):
    tracker = TensorBoardTracker(tmp_path)
    tracker.write(1000, {"rollout/ep_rew_mean": 21.5, "time/fps": 3.0})
    tracker.write(2000, {"rollout/ep_rew_mean": 40.0})
    tracker.close()
    (path,) = tmp_path.glob("events.out.tfevents.*")
    assert read_scalars(path) == [
        ("rollout/ep_rew_mean", 1000, 21.5),
        ("time/fps", 1000, 3.0),
        ("rollout/ep_rew_mean", 2000, 40.0),
    ]


@pytest.mark.parametrize("read_drawn", [drawn_by_marks, drawn_by_steps])
def test_a_resumed_run_is_one_curve_without_what_was_done_anew(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    read_drawn: Callable[[Path, str], list[tuple[int, float]]],
):
    first = TensorBoardTracker(tmp_path)
    first.restart({})
    for step in (1000, 2000, 3000):
        first.write(step, {"time/fps": 1.0})
        if step != 2000:
            first.write(step, {"eval/mean_reward": step / 1000}, always=True)
    first.close()
    # Taken back to a version of 2,000 steps, it goes on with larger updates.
    monkeypatch.setattr(trackers.time, "time", lambda: 4e9)
    second = TensorBoardTracker(tmp_path)
    second.restart({"time/fps": (2000, 1.0), "eval/mean_reward": (1000, 1.0)})
    for step in (4000, 5000):
        second.write(step, {"time/fps": 2.0})
    # Its learner dies, and starts again from the version before.
    second.restart({"time/fps": (4000, 2.0), "eval/mean_reward": (1000, 1.0)})
    second.write(6000, {"time/fps": 3.0})
    second.close()
    assert read_drawn(tmp_path, "time/fps") == [(1000, 1.0), (2000, 1.0), (4000, 2.0), (6000, 3.0)]
    assert set(read_drawn(tmp_path, "eval/mean_reward")) == {(1000, 1.0)}


def test_the_process_that_writes_events_does_not_import_torch(tmp_path: Path):
    code = (
        "import pathlib, sys\n"
        "from attract.runs.trackers import TensorBoardTracker\n"
        "tracker = TensorBoardTracker(pathlib.Path(sys.argv[1]))\n"
        "tracker.write(1, {'time/fps': 2.5})\n"
        "tracker.close()\n"
        "assert 'torch' not in sys.modules\n"
        "import torch\n"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True, timeout=120)
    (path,) = tmp_path.glob("events.out.tfevents.*")
    assert read_scalars(path) == [("time/fps", 1, 2.5)]


def test_a_row_the_disk_has_no_room_for_leaves_a_file_that_can_be_read_and_gone_on_with(tmp_path: Path):
    tracker = TensorBoardTracker(tmp_path)
    tracker.write(1, {"time/fps": 1.0})
    (path,) = tmp_path.glob("events.out.tfevents.*")
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    # A quota of ten bytes more: the next record is cut short by it.
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 10, limit[1]))
    try:
        with pytest.raises(OSError):
            tracker.write(2, {"time/fps": 2.0})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        signal.signal(signal.SIGXFSZ, handler)
    tracker.write(3, {"time/fps": 3.0})
    tracker.close()
    assert read_scalars(path) == [("time/fps", 1, 1.0), ("time/fps", 3, 3.0)]


def test_watched_a_long_runs_copies_grow_ever_slower_and_every_evaluation_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(trackers, "STAGE_BYTES", 4000)
    tracker = TensorBoardTracker(tmp_path)
    for update in range(1, 5001):
        tracker.write(update, {"time/fps": float(update)})
        if update % 1000 == 999:
            tracker.write(update, {"eval/return": 1.0}, always=True)
    tracker.close()
    (path,) = tmp_path.glob("events.out.tfevents.*")
    # About 53 bytes a row: 75 rows of each stage stand for 75, 150, 300, 600, 1,200, 2,400, ... updates.
    assert path.stat().st_size < 7 * 4000
    scalars = read_scalars(path)
    steps = [step for name, step, _ in scalars if name == "time/fps"]
    assert steps[:50] == list(range(1, 51))
    gaps = [after - before for before, after in itertools.pairwise(steps)]
    assert gaps[-1] in (32, 64)
    assert [step for name, step, _ in scalars if name == "eval/return"] == [999, 1999, 2999, 3999, 4999]
