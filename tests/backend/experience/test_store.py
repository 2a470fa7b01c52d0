import fcntl
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from attract.experience.layout import PolicyLayout, StoreLayout
from attract.experience.store import (
    HEADER,
    NAME_PREFIX,
    SHARED_MEMORY,
    SegmentStore,
    StoreError,
    choose_path,
    remove_stale,
)
from attract.experience.validate import check_block
from blocks import played_block
from fake_worker import counting_description

LAYOUT = StoreLayout.for_run(counting_description(), PolicyLayout(), 4, 8)


def written(path: Path, rows: list[int], first_step: int = 4) -> SegmentStore:
    """A store whose `rows` hold the segments of slots 0, 1, 2 from `first_step` on."""
    store = SegmentStore.create(path, LAYOUT)
    arrays = check_block(played_block(num_slots=3, horizon=4, first_step=first_step), LAYOUT)
    store.write_block(np.array(rows), arrays | {"worker_id": 5})
    return store


@pytest.mark.parametrize("rows", [[2, 3, 4], [6, 0, 3], [3, 0, 5], [4, 3, 2]])
def test_S1_rows_hold_one_slot_each_wherever_they_lie(tmp_path: Path, rows: list[int]) -> None:
    written(tmp_path / "s", rows)
    store = SegmentStore.open(tmp_path / "s")
    # the observation of slot s at its step t is 1000 s + t
    for slot, row in enumerate(rows):
        assert store["obs.obs"][:, row, 0].tolist() == [1000 * slot + t for t in (4, 5, 6, 7)]
        assert store["bootstrap_obs.obs"][row].tolist() == [1000 * slot + 8] * 2
        assert store["slot_id"][row] == slot
        assert store["first_step"][row] == 4
        assert store["worker_id"][row] == 5
        # episodes of 7 steps: the own step 6 is truncated, step 2 of the segment
        assert store["truncated"][:, row].tolist() == [False, False, True, False]
        assert store["final_count"][row] == 1
        assert store["final_step"][0, row] == 2
        assert store["final_obs.obs"][0, row].tolist() == [-(1000 * slot + 6)] * 2
        assert store["final_value"][0, row] == 0.5
    untouched = [row for row in range(8) if row not in rows]
    assert not store["obs.obs"][:, untouched].any()
    assert not store["final_count"][untouched].any()


def test_a_row_written_again_keeps_nothing_of_before(tmp_path: Path) -> None:
    store = written(tmp_path / "s", [2, 3, 4])
    arrays = check_block(played_block(num_slots=3, horizon=4, first_step=0), LAYOUT)
    store.write_block(np.array([4, 3, 2]), arrays | {"worker_id": 6})
    # steps 0 to 3 end no episode of 7 steps
    assert not store["final_count"].any()
    assert store["obs.obs"][0, 4, 0] == 0
    assert store["obs.obs"][0, 2, 0] == 2000


def test_several_truncations_of_one_segment_keep_their_own_observations(tmp_path: Path) -> None:
    store = SegmentStore.create(tmp_path / "s", LAYOUT)
    arrays = check_block(played_block(num_slots=2, horizon=4, first_step=0, episode_steps=2), LAYOUT)
    store.write_block(np.array([7, 1]), arrays | {"worker_id": 0})
    for slot, row in ((0, 7), (1, 1)):
        assert store["final_count"][row] == 2
        assert store["final_step"][:2, row].tolist() == [1, 3]
        assert store["final_obs.obs"][:2, row, 0].tolist() == [-(1000 * slot + 1), -(1000 * slot + 3)]


def test_what_one_process_writes_another_reads(tmp_path: Path) -> None:
    written(tmp_path / "s", [2, 3, 4])
    code = (
        "import sys; from pathlib import Path; from attract.experience.store import SegmentStore;"
        "print(SegmentStore.open(Path(sys.argv[1]))['obs.obs'][:, 4, 1].tolist())"
    )
    out = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "s")], capture_output=True, text=True, check=True
    )
    assert out.stdout.strip() == "[2004.0, 2005.0, 2006.0, 2007.0]"


def test_the_store_needs_no_torch() -> None:
    code = "import sys, attract.experience.store, attract.experience.validate; print('torch' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "False"


def test_foreign_damaged_and_short_files_are_refused(tmp_path: Path) -> None:
    store = written(tmp_path / "good", [0, 1, 2])
    good = (tmp_path / "good").read_bytes()
    store.close()
    cases = {
        "is not a segment store": b"PNG" + good[3:],
        "has format 1": good[:8] + b"\x01" + good[9:],
        "has a damaged header": good[: HEADER.size + 5] + b"\xff" + good[HEADER.size + 6 :],
        "its header says": good[:-1],
        "is not a segment store ": b"",
    }
    for why, data in cases.items():
        path = tmp_path / "bad"
        path.write_bytes(data)
        with pytest.raises(StoreError, match=why.strip()):
            SegmentStore.open(path)
    with pytest.raises(StoreError, match="cannot be opened"):
        SegmentStore.open(tmp_path / "missing")


def test_creating_never_overwrites_and_leaves_nothing_when_there_is_no_room(tmp_path: Path) -> None:
    (tmp_path / "s").write_text("mine")
    with pytest.raises(StoreError, match="exists"):
        SegmentStore.create(tmp_path / "s", LAYOUT)
    assert (tmp_path / "s").read_text() == "mine"
    huge = StoreLayout.for_run(counting_description(), PolicyLayout(), 65_536, 1 << 40)
    with pytest.raises(StoreError, match="no room"):
        SegmentStore.create(tmp_path / "huge", huge)
    assert not (tmp_path / "huge").exists()


def test_shared_memory_is_chosen_when_it_fits_and_the_run_folder_else(tmp_path: Path) -> None:
    chosen = choose_path(tmp_path, "run-1", LAYOUT)
    assert chosen.parent == (SHARED_MEMORY if SHARED_MEMORY.is_dir() else tmp_path)
    huge = StoreLayout.for_run(counting_description(), PolicyLayout(), 65_536, 1 << 30)
    assert choose_path(tmp_path, "run-1", huge).parent == tmp_path


def test_only_abandoned_stores_are_removed(tmp_path: Path) -> None:
    used = SegmentStore.create(tmp_path / f"{NAME_PREFIX}a.bin", LAYOUT)
    abandoned = SegmentStore.create(tmp_path / f"{NAME_PREFIX}b.bin", LAYOUT)
    abandoned.close()
    (tmp_path / "other.bin").write_text("not ours")
    assert remove_stale(tmp_path) == [tmp_path / f"{NAME_PREFIX}b.bin"]
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"{NAME_PREFIX}a.bin", "other.bin"]
    used.close(unlink=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other.bin"]


def test_a_missing_field_is_an_error(tmp_path: Path) -> None:
    store = SegmentStore.create(tmp_path / "s", LAYOUT)
    arrays = check_block(played_block(num_slots=3, horizon=4, first_step=0), LAYOUT)
    with pytest.raises(KeyError, match="worker_id"):
        store.write_block(np.array([0, 1, 2]), arrays)


def test_a_file_that_is_taken_for_stale_before_it_is_locked_is_created_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"{NAME_PREFIX}a.bin"
    lock, removed = fcntl.flock, list[Path]()

    def flock(file: int, operation: int) -> None:
        if operation == fcntl.LOCK_SH and not removed:
            # Another process comes between the file's creation and its lock.
            removed.extend(remove_stale(tmp_path))
        lock(file, operation)

    monkeypatch.setattr(fcntl, "flock", flock)
    written(path, [2, 3, 4])
    assert removed == [path]
    assert SegmentStore.open(path)["obs.obs"][:, 2, 0].tolist() == [4, 5, 6, 7]
    assert remove_stale(tmp_path) == []
