"""Deleted runs wait in the trash, and come back under their old ids."""

from pathlib import Path

import pytest

from attract.errors import ConfigurationError
from attract.runs.directory import RunDirectory
from attract.runs.lock import is_locked
from attract.runs.trash import TRASH, TRASH_ID, delete_run, deleted_runs, erase, move_to_trash, restore


def run(runs_dir: Path, run_id: str) -> Path:
    directory = RunDirectory.create(runs_dir, run_id)
    directory.write_config("g", {"seed": 1})
    directory.close()
    return directory.path


@pytest.mark.parametrize("run_id", ["a", "a-20260101-000000-abcd", "x" * 120])
def test_a_deleted_run_comes_back_whole(tmp_path: Path, run_id: str):
    path = run(tmp_path, run_id)
    trash_id = delete_run(path)
    assert not path.exists()
    assert TRASH_ID.fullmatch(trash_id)
    assert restore(tmp_path, trash_id) == run_id
    assert RunDirectory.view(tmp_path, run_id).read_config()["settings"] == {"seed": 1}
    assert not is_locked(path)
    assert list((tmp_path / TRASH).iterdir()) == []


def test_an_erased_run_is_gone_and_no_other(tmp_path: Path):
    gone, kept = delete_run(run(tmp_path, "a")), delete_run(run(tmp_path, "a"))
    assert set(deleted_runs(tmp_path)) == {gone, kept}
    assert erase(tmp_path, gone) == "a"
    assert deleted_runs(tmp_path) == [kept]
    assert not (tmp_path / TRASH / gone).exists()


def test_two_runs_of_one_name_do_not_meet(tmp_path: Path):
    places = {move_to_trash(run(tmp_path, "a")) for _ in range(3)}
    assert len(places) == 3


def test_hostile_what_is_no_run_in_the_trash_is_not_restored(tmp_path: Path):
    trash = tmp_path / TRASH
    trash.mkdir()
    outside = run(tmp_path, "outside")
    (trash / "link-20260101-000000-abcd").symlink_to(outside)
    (trash / "empty-20260101-000000-abcd").mkdir()
    for trash_id in ("link-20260101-000000-abcd", "empty-20260101-000000-abcd", "..", "a", "../outside", ""):
        for call in (restore, erase):
            with pytest.raises(ConfigurationError, match="in the trash"):
                call(tmp_path, trash_id)
    assert deleted_runs(tmp_path) == []
    assert outside.is_dir()


def test_hostile_a_trash_that_is_a_link_gives_nothing(tmp_path: Path):
    elsewhere, runs_dir = tmp_path / "elsewhere", tmp_path / "runs"
    elsewhere.mkdir()
    runs_dir.mkdir()
    run(elsewhere, "a-20260101-000000-abcd")
    (runs_dir / TRASH).symlink_to(elsewhere)
    for call in (restore, erase):
        with pytest.raises(ConfigurationError, match="in the trash"):
            call(runs_dir, "a-20260101-000000-abcd")
    assert deleted_runs(runs_dir) == []
    assert (elsewhere / "a-20260101-000000-abcd").is_dir()


def test_a_run_that_is_written_is_not_deleted(tmp_path: Path):
    path = run(tmp_path, "a")
    held = RunDirectory.open_locked(tmp_path, "a")
    with pytest.raises(ConfigurationError, match="D3"):
        delete_run(path)
    held.close()
    assert path.is_dir()
