from pathlib import Path

from attract.benchmarks.harness.measure import BenchOptions
from attract.benchmarks.speed.whole_update import WHOLE_UPDATE


def test_the_whole_path_is_measured_and_leaves_nothing_behind() -> None:
    shared = Path("/dev/shm")
    before = set(shared.glob("attract-bench-*")) if shared.is_dir() else set()
    (figure,) = WHOLE_UPDATE.run(BenchOptions(rounds=1, quick=True)).values()
    assert figure.ratio is not None and 0.05 < figure.ratio < 2
    assert all(figure.detail[f"{part}_ms"] > 0 for part in ("load", "update", "checkpoint"))
    # Four passes over 8,192 steps: what the learner says an update took is about what the rate says.
    milliseconds = 1e3 * 4 * 8192 / figure.value
    assert figure.detail["update_ms"] + figure.detail["load_ms"] < 3 * milliseconds
    if shared.is_dir():
        assert set(shared.glob("attract-bench-*")) <= before
