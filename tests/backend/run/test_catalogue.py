"""Runs are listed, labelled, deleted and restored; what goes on is left alone."""

from pathlib import Path

import pytest

from attract.errors import RunActiveError, UnknownRunError
from attract.games.library import GameLibrary
from attract.run.archive import RunArchive
from attract.run.catalogue import RunCatalogue
from attract.runs.directory import RunDirectory
from attract.runs.labels import LABELS
from attract.schema.run_list import EditLabels
from indexed_runs import run_on_disk


@pytest.fixture
def catalogue(tmp_path: Path) -> RunCatalogue:
    run_on_disk(tmp_path, "a", settings={"ppo": {"gamma": 0.9}}, evaluation={"return_mean": 4.5})
    run_on_disk(tmp_path, "b", [5.0], game="cartpole", title="CartPole")
    return another(tmp_path)


def another(runs_dir: Path) -> RunCatalogue:
    return RunCatalogue(RunArchive(runs_dir), GameLibrary(runs_dir, runs_dir / "web"), lambda: None)


def test_runs_are_listed_with_what_their_folders_say(catalogue: RunCatalogue):
    listed = catalogue.list("game:snake")
    (row,) = listed.runs
    assert (row.run_id, row.sparkline, row.return_best, row.return_eval) == ("a", [1.0, 3.0, 2.0], 3.0, 4.5)
    assert (row.changed, row.settings) == (["ppo.gamma"], {"ppo.gamma": 0.9})


def test_labels_change_one_by_one_and_go_with_the_folder(catalogue: RunCatalogue, tmp_path: Path):
    catalogue.edit("a", EditLabels(name="  Best  ", tags=["x", "y", "x"]))
    row = catalogue.edit("a", EditLabels(starred=True, note="why"))
    assert (row.name, row.tags, row.starred, row.note) == ("Best", ["x", "y"], True, "why")
    assert catalogue.edit("a", EditLabels(note="")).note == ""
    (tmp_path / "a").rename(tmp_path / "copied")
    found = {run.run_id: run.name for run in another(tmp_path).list().runs}
    assert found == {"copied": "Best", "b": ""}


def test_labels_that_cannot_be_read_are_written_anew(catalogue: RunCatalogue, tmp_path: Path):
    (tmp_path / "a" / LABELS).write_bytes(b"\xff{")
    row = catalogue.edit("a", EditLabels(name="New"))
    assert (row.name, row.error) == ("New", None)


def test_a_deleted_run_is_in_the_trash_until_it_is_restored(catalogue: RunCatalogue, tmp_path: Path):
    catalogue.edit("a", EditLabels(name="Best"))
    deleted = catalogue.delete("a")
    assert [run.run_id for run in catalogue.list().runs] == ["b"]
    assert (tmp_path / ".trash" / deleted.trash_id / "config.yaml").is_file()
    row = catalogue.restore(deleted.trash_id)
    assert (row.run_id, row.name, row.return_best) == ("a", "Best", 3.0)
    assert {run.run_id for run in catalogue.list().runs} == {"a", "b"}
    with pytest.raises(UnknownRunError, match="trash"):
        catalogue.restore(deleted.trash_id)


def test_deleted_runs_are_listed_apart_from_the_others_and_erased(catalogue: RunCatalogue, tmp_path: Path):
    catalogue.edit("a", EditLabels(archived=True))
    first = catalogue.delete("a").trash_id
    run_on_disk(tmp_path, "a", [8.0])
    second = catalogue.delete("a").trash_id
    assert {(row.run_id, row.is_deleted) for row in catalogue.list("is:deleted").runs} == {
        (first, True),
        (second, True),
    }
    assert [row.run_id for row in catalogue.list("is:deleted best>5").runs] == [second]
    assert [(row.run_id, row.is_deleted) for row in catalogue.list("is:all").runs] == [("b", False)]
    assert [row.run_id for row in catalogue.list("is:all -is:deleted").runs] == ["b"]
    assert catalogue.erase(first).run_id == "a"
    assert [row.run_id for row in catalogue.list("is:deleted").runs] == [second]
    assert not (tmp_path / ".trash" / first).exists()
    with pytest.raises(UnknownRunError, match="trash"):
        catalogue.erase(first)


def test_a_run_is_not_restored_over_another(catalogue: RunCatalogue, tmp_path: Path):
    deleted = catalogue.delete("a")
    run_on_disk(tmp_path, "a", [8.0])
    with pytest.raises(UnknownRunError, match="exists again"):
        catalogue.restore(deleted.trash_id)
    assert catalogue.list("game:snake").runs[0].return_best == 8.0


def test_a_run_that_some_process_writes_is_not_deleted(catalogue: RunCatalogue, tmp_path: Path):
    held = RunDirectory.open_locked(tmp_path, "a")
    with pytest.raises(RunActiveError, match="before you delete it"):
        catalogue.delete("a")
    held.close()
    catalogue.delete("a")


@pytest.mark.parametrize("run_id", ["gone", "..", ".trash", "a/../b", ""])
def test_hostile_ids_that_are_no_runs_are_unknown(catalogue: RunCatalogue, run_id: str):
    for call in (lambda: catalogue.edit(run_id, EditLabels(name="x")), lambda: catalogue.delete(run_id)):
        with pytest.raises(UnknownRunError):
            call()
    for call in (catalogue.restore, catalogue.erase):
        with pytest.raises(UnknownRunError):
            call(run_id)
    assert {run.run_id for run in catalogue.list().runs} == {"a", "b"}
