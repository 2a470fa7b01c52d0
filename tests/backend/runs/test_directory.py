import json
import os
import shutil
from contextlib import closing
from pathlib import Path

import pytest

from attract.errors import ConfigurationError, DamagedRunError, FileError
from attract.runs.checkpoint_document import DOCUMENT_FILE, sealed
from attract.runs.directory import (
    RunDirectory,
    discard_unused,
    find_run,
    list_run_ids,
)
from attract.runs.disk import is_locked
from attract.schema.game import GameReference


def test_a_run_that_exists_is_refused_and_named_fixes_work(tmp_path: Path):
    first = RunDirectory.create(tmp_path, "a")
    first.write_config("cartpole", {"seed": 1})
    first.close()
    with pytest.raises(ConfigurationError, match="--force"):
        RunDirectory.create(tmp_path, "a")
    assert RunDirectory.view(tmp_path, "a").read_config()["settings"] == {"seed": 1}


@pytest.mark.parametrize("num_folders", [0, 1, 3])
def test_what_a_start_left_that_was_killed_before_its_config_is_no_run(tmp_path: Path, num_folders: int):
    path = tmp_path / "a"
    path.mkdir()
    for name in ("checkpoints", "logs", "export")[:num_folders]:
        (path / name).mkdir()
        (path / ".lock").touch()
    if num_folders == 3:
        (path / ".config.yaml.1234abcd").write_text("half")
    assert list_run_ids(tmp_path) == []
    with pytest.raises(ConfigurationError, match="there is no run a"):
        RunDirectory.view(tmp_path, "a")
    directory = RunDirectory.create(tmp_path, "a")
    directory.write_config("cartpole", {"seed": 1})
    assert is_locked(path) and directory.checkpoints.is_dir() and directory.versions() == []
    directory.close()
    with pytest.raises(ConfigurationError, match="--force"):
        RunDirectory.create(tmp_path, "a")


@pytest.mark.parametrize("theirs", ["notes.txt", "logs/gateway.log", "src/"])
def test_a_folder_with_anything_else_in_it_is_not_taken_over(tmp_path: Path, theirs: str):
    path = tmp_path / "a" / theirs
    path.parent.mkdir(parents=True)
    path.mkdir() if theirs.endswith("/") else path.write_text("mine")
    with pytest.raises(ConfigurationError, match="--force"):
        RunDirectory.create(tmp_path, "a")
    assert path.exists()


def test_force_moves_the_old_run_to_the_trash_and_deletes_nothing(tmp_path: Path):
    old = RunDirectory.create(tmp_path, "a")
    old.write_config("cartpole", {"seed": 1})
    old.close()
    new = RunDirectory.create(tmp_path, "a", force=True)
    assert not (new.path / "config.yaml").exists()
    (kept,) = (tmp_path / ".trash").iterdir()
    assert "seed: 1" in (kept / "config.yaml").read_text()
    new.close()


def test_D3_a_second_writer_is_refused_until_the_first_is_done(tmp_path: Path):
    first = RunDirectory.create(tmp_path, "a")
    first.write_config("cartpole", {})
    assert is_locked(first.path)
    for attempt in (
        lambda: RunDirectory.open_locked(tmp_path, "a"),
        lambda: RunDirectory.create(tmp_path, "a", force=True),
    ):
        with pytest.raises(ConfigurationError, match="D3"):
            attempt()
    assert first.read_config()["game"] == "cartpole"
    first.close()
    assert not is_locked(first.path)
    RunDirectory.open_locked(tmp_path, "a").close()


def test_D3_the_lock_of_a_killed_process_is_free(tmp_path: Path):
    RunDirectory.create(tmp_path, "a").close()
    (tmp_path / "a" / "config.yaml").write_text("game: cartpole\n")
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        RunDirectory.open_locked(tmp_path, "a")
        os.write(writer, b"x")
        os._exit(0) if os.read(reader, 0) else os.kill(os.getpid(), 9)
    assert os.waitpid(child, 0)[1] == 9
    RunDirectory.open_locked(tmp_path, "a").close()
    os.close(reader)
    os.close(writer)


def test_a_missing_run_names_those_that_are_there(tmp_path: Path):
    there = RunDirectory.create(tmp_path, "there")
    there.write_config("cartpole", {})
    there.close()
    with pytest.raises(ConfigurationError, match="there"):
        RunDirectory.view(tmp_path, "gone")


def test_runs_are_listed_newest_first_and_the_trash_is_not_one(tmp_path: Path):
    for age, name in ((200, "old"), (100, "new")):
        directory = RunDirectory.create(tmp_path, name)
        directory.write_config("cartpole", {})
        directory.close()
        os.utime(directory.path / "config.yaml", (1e9 - age, 1e9 - age))
    RunDirectory.create(tmp_path, "old", force=True).close()
    assert list_run_ids(tmp_path) == ["new"]


def test_a_run_that_was_copied_with_its_links_followed_has_its_marks(tmp_path: Path):
    directory = RunDirectory.create(tmp_path, "a")
    for version in (3, 4):
        folder = directory.checkpoints / str(version)
        folder.mkdir()
        (folder / DOCUMENT_FILE).write_text(json.dumps(sealed(version, {})))
    directory.mark("latest", 4)
    directory.mark("best", 4)
    directory.keep(4)
    shutil.copytree(directory.path, tmp_path / "b")  # follows links
    copied = RunDirectory(tmp_path / "b", None)
    assert not (copied.path / "latest").is_symlink()
    assert (copied.marked("latest"), copied.marked("best"), copied.kept()) == (4, 4, [4])
    copied.keep(4)
    assert copied.roll_back(3) == 3
    assert (copied.marked("latest"), copied.marked("best"), copied.kept()) == (3, None, [])
    (copied.path / "best").mkdir()
    assert copied.marked("best") is None, "no checkpoint at all"


def test_latest_and_best_point_at_versions_and_are_replaced(tmp_path: Path):
    directory = RunDirectory.create(tmp_path, "a")
    assert directory.marked("latest") is None
    for version in (3, 4):
        directory.mark("latest", version)
    directory.mark("best", 3)
    assert (directory.marked("latest"), directory.marked("best")) == (4, 3)
    assert (directory.path / "latest").readlink() == Path("checkpoints/4")
    assert not list(directory.path.glob(".latest.*"))
    directory.close()


def test_pruning_keeps_the_last_20_some_of_the_whole_run_latest_and_best(tmp_path: Path):
    directory = RunDirectory.create(tmp_path, "a")
    for version in range(131):
        (directory.checkpoints / str(version)).mkdir()
    (directory.checkpoints / ".tmp-7").mkdir()
    directory.mark("best", 57)
    directory.mark("latest", 130)
    directory.prune()
    # 130 needs parts of 4: with parts of 2 there were 66 of them.
    assert directory.versions() == sorted({57, *range(0, 131, 4), *range(111, 131)})
    assert (directory.checkpoints / ".tmp-7").exists()
    directory.close()


def test_a_version_that_is_kept_is_never_pruned(tmp_path: Path):
    directory = RunDirectory.create(tmp_path, "a")
    assert directory.kept() == []
    for version in range(40):
        (directory.checkpoints / str(version)).mkdir()
    directory.keep(7)
    directory.keep(3)
    directory.keep(7)
    for version in range(40, 100):
        (directory.checkpoints / str(version)).mkdir()
    directory.prune()
    # Parts of 4: neither 3 nor 7 is the first of one.
    assert directory.versions() == sorted({3, 7, *range(0, 100, 4), *range(80, 100)})
    assert directory.kept() == [3, 7]
    assert (directory.path / "kept" / "3").resolve() == (directory.checkpoints / "3").resolve()
    directory.close()


def test_a_config_written_anew_keeps_the_time_of_creation(tmp_path: Path):
    directory = RunDirectory.create(tmp_path, "a")
    (directory.path / "config.yaml").write_text("game: old\ncreated: '2001-02-03'\nsettings: {}\n")
    directory.write_config("new", {"seed": 2})
    assert directory.read_config() == {"game": "new", "created": "2001-02-03", "settings": {"seed": 2}}
    directory.close()


def test_game_and_description_come_back(tmp_path: Path):
    directory = RunDirectory.create(tmp_path, "a")
    assert directory.read_game() == (None, None)
    reference = GameReference(name="cartpole", sha256="a" * 64, url="games/x.js")
    directory.write_game(reference, None)
    assert directory.read_game() == (reference, None)
    directory.close()


def _run(runs_dir: Path, name: str, *, version: int | None, seconds: float = 1e9) -> RunDirectory:
    directory = RunDirectory.create(runs_dir, name)
    directory.write_config("cartpole", {})
    if version is not None:
        (directory.checkpoints / str(version)).mkdir()
        directory.mark("latest", version)
    directory.close()
    os.utime(directory.path / "config.yaml", (seconds, seconds))
    return directory


def test_latest_is_the_newest_run_that_has_a_policy(tmp_path: Path):
    _run(tmp_path, "old", version=3, seconds=1e9)
    _run(tmp_path, "new", version=0, seconds=1e9 + 1)
    _run(tmp_path, "empty", version=None, seconds=1e9 + 2)
    assert find_run(tmp_path, "latest") == "new"
    assert find_run(tmp_path, "old") == "old"
    assert find_run(tmp_path, "empty") == "empty"


def test_without_a_policy_there_is_no_latest_run(tmp_path: Path):
    for folder in (tmp_path / "gone", tmp_path):
        with pytest.raises(ConfigurationError, match=r"none in .* has a policy yet"):
            find_run(folder, "latest")
    _run(tmp_path, "empty", version=None)
    with pytest.raises(ConfigurationError, match=r"none in .* has a policy yet"):
        find_run(tmp_path, "latest")


def test_a_run_with_a_link_out_of_its_folder_is_not_opened_for_writing(tmp_path: Path):
    directory = RunDirectory.create(tmp_path / "runs", "a")
    directory.write_config("g", {})
    (directory.checkpoints / "3").mkdir()
    directory.mark("latest", 3)
    directory.keep(3)
    directory.close()
    RunDirectory.open_locked(tmp_path / "runs", "a").close()
    (tmp_path / "theirs").write_text("")
    (directory.logs / "gateway.log").symlink_to(tmp_path / "theirs")
    with pytest.raises(ConfigurationError, match=r"gateway\.log: is a link"):
        RunDirectory.open_locked(tmp_path / "runs", "a")


def test_a_mark_that_is_no_versions_counts_as_none(tmp_path: Path):
    directory = RunDirectory.create(tmp_path / "runs", "a")
    (directory.path / "latest").symlink_to("/etc/passwd")
    assert directory.marked("latest") is None
    directory.close()


def test_no_run_may_be_called_latest(tmp_path: Path):
    with pytest.raises(ConfigurationError, match="choose another name"):
        RunDirectory.create(tmp_path, "latest")
    assert not (tmp_path / "latest").exists()


def test_only_runs_with_a_policy_are_proposed(tmp_path: Path):
    _run(tmp_path, "whole", version=1)
    _run(tmp_path, "empty", version=None)
    with pytest.raises(ConfigurationError) as caught:
        find_run(tmp_path, "gone")
    assert "newest runs there: whole" in str(caught.value)
    assert "empty" not in str(caught.value)


def test_a_run_that_never_had_a_policy_is_taken_away_and_any_other_is_not(tmp_path: Path):
    whole, empty, failed = (
        _run(tmp_path, name, version=version) for name, version in (("a", 1), ("b", None), ("c", None))
    )
    (failed.logs / "gateway.log").write_text("why")
    assert discard_unused(tmp_path, "a", keep_logs=False) is None
    assert discard_unused(tmp_path, "b", keep_logs=False) is None
    kept = discard_unused(tmp_path, "c", keep_logs=True)
    assert whole.path.is_dir() and not empty.path.exists() and not failed.path.exists()
    assert kept is not None and kept.parent == tmp_path / ".trash"
    assert (kept / "logs" / "gateway.log").read_text() == "why"
    assert discard_unused(tmp_path, "b", keep_logs=True) is None


def test_a_run_that_somebody_writes_is_not_taken_away(tmp_path: Path):
    directory = RunDirectory.create(tmp_path, "a")
    assert discard_unused(tmp_path, "a", keep_logs=False) is None
    assert directory.path.is_dir()
    directory.close()


def test_a_folder_where_nothing_can_be_written_is_refused(tmp_path: Path):
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "runs"):
        with pytest.raises(ConfigurationError, match="--runs-dir or ATTRACT_RUNS_DIR"):
            RunDirectory.create(folder, "a")


def test_C10_a_run_rolled_back_has_no_later_version_and_streams_that_never_were(tmp_path: Path):
    directory = RunDirectory.create(tmp_path, "a")
    with pytest.raises(ConfigurationError, match="no version"):
        directory.roll_back(3)
    for version in (4, 7, 8, 9):
        (directory.checkpoints / str(version)).mkdir()
    directory.mark("latest", 9)
    directory.mark("best", 8)
    directory.keep(9)
    before = directory.resumed_from()
    assert directory.roll_back(7) == 7
    assert directory.versions() == [4, 7]
    assert (directory.marked("latest"), directory.marked("best"), directory.kept()) == (7, None, [])
    assert directory.resumed_from() not in (before, "7.0")
    # Version 6 was pruned: the next older one. Of 2 and all before it nothing is left but what is newer.
    assert directory.roll_back(6) == 4
    assert directory.roll_back(2) == 4
    directory.close()


def test_a_kill_while_a_version_is_pruned_leaves_no_half_of_it_among_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    directory = RunDirectory.create(tmp_path, "a")
    for version in range(50):
        (directory.checkpoints / str(version)).mkdir()
    stays = sorted({*range(0, 50, 2), *range(30, 50)})

    def killed(_folder: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(shutil, "rmtree", killed)
    with pytest.raises(KeyboardInterrupt):
        directory.prune()
    monkeypatch.undo()
    assert directory.versions() == stays
    directory.prune()
    assert sorted(path.name for path in directory.checkpoints.iterdir()) == sorted(map(str, stays))
    directory.close()


@pytest.mark.parametrize("num_renames", range(6))
def test_a_kill_between_two_removals_loses_no_version_that_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, num_renames: int
):
    directory = RunDirectory.create(tmp_path, "a")
    for version in range(45):
        (directory.checkpoints / str(version)).mkdir()
    directory.mark("latest", 44)
    directory.mark("best", 7)
    left = iter(range(num_renames))
    rename = Path.rename

    def rename_until_killed(self: Path, target: Path) -> Path:
        if next(left, None) is None:
            raise KeyboardInterrupt
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", rename_until_killed)
    with pytest.raises(KeyboardInterrupt):
        directory.prune()
    monkeypatch.undo()
    # A new version comes before it is tried again, as in a run that is resumed.
    (directory.checkpoints / "45").mkdir()
    stays = {7, *range(0, 45, 2), *range(25, 46)}
    assert stays <= set(directory.versions())
    directory.prune()
    assert directory.versions() == sorted(stays - {25})
    directory.close()


def test_nothing_but_files_and_folders_of_its_own_is_opened_for_writing(tmp_path: Path):
    directory = RunDirectory.create(tmp_path / "runs", "a")
    directory.write_config("snake", {})
    directory.close()
    outside = tmp_path / "outside.log"
    outside.write_text("theirs")
    log, stored = directory.logs / "gateway.log", directory.checkpoints / "stored"
    # A backup keeps what did not change as hard links: what is only read may be one.
    stored.hardlink_to(outside)
    RunDirectory.open_locked(tmp_path / "runs", "a").close()
    log.hardlink_to(outside)
    with pytest.raises(FileError, match=r"gateway\.log: is a hard link"):
        RunDirectory.open_locked(tmp_path / "runs", "a")
    log.unlink()
    os.mkfifo(log)
    with pytest.raises(FileError, match=r"gateway\.log: is a pipe"):
        RunDirectory.open_locked(tmp_path / "runs", "a")


def test_a_folder_with_links_is_not_taken_over_as_one_that_a_killed_start_left(tmp_path: Path):
    path = tmp_path / "runs" / "a"
    path.mkdir(parents=True)
    (path / "logs").symlink_to(tmp_path)
    with pytest.raises(ConfigurationError, match="run a exists"):
        RunDirectory.create(tmp_path / "runs", "a")


def test_a_damaged_config_names_the_run_and_the_file(tmp_path: Path):
    directory = RunDirectory.create(tmp_path, "a")
    (directory.path / "config.yaml").write_text("")
    directory.close()
    with pytest.raises(DamagedRunError, match=r"run a is damaged: config\.yaml: is empty"):
        directory.read_settings()


def test_a_run_that_another_process_writes_is_refused_by_its_lock_whatever_comes_and_goes(tmp_path: Path):
    with closing(RunDirectory.create(tmp_path, "run-1")) as directory:
        directory.write_config("cartpole", {})
        # What the writer is about to rename may look like anything.
        (directory.checkpoints / ".writing-1").symlink_to("/etc")
        with pytest.raises(ConfigurationError, match="is being written by another process"):
            RunDirectory.open_locked(tmp_path, "run-1")
    with pytest.raises(FileError, match="leads out of"):
        RunDirectory.open_locked(tmp_path, "run-1")
    assert not is_locked(tmp_path / "run-1")
