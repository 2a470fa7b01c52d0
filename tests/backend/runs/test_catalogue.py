"""Runs are listed, labelled, deleted and restored; what goes on is left alone."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest

from attract.errors import ConfigurationError, QueryError, RunActiveError, UnknownRunError
from attract.runs.archive import RunArchive
from attract.runs.catalogue import KEEP_SECONDS, OwnSettings, RunCatalogue, differing, list_runs
from attract.runs.directory import RunDirectory
from attract.runs.index import LABELS, Indexed
from attract.runs.indexed_run import IndexedRun
from attract.schema.run_list import EditLabels, RunLabels, RunList, SettingValue
from attract.settings.given import Layer, LayeredSettings, join_layers
from known_runs import indexed, run_on_disk


@pytest.fixture
def catalogue(tmp_path: Path) -> RunCatalogue:
    run_on_disk(tmp_path, "a", settings={"ppo": {"gamma": 0.9}}, evaluation={"return_mean": 4.5})
    run_on_disk(tmp_path, "b", [5.0], game="cartpole", title="CartPole")
    return another(tmp_path)


def another(runs_dir: Path) -> RunCatalogue:
    return RunCatalogue(RunArchive(runs_dir), lambda _game: join_layers(Layer({})))


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


RUNS = [
    indexed("a", created="2026-11-20", episode_return_mean=2.0, settings={"ppo.gamma": 0.9, "seed": 1}),
    indexed("b", created="2026-11-22", episode_return_mean=None, settings={"ppo.gamma": 0.9, "seed": 2}),
    indexed("c", created="2026-11-21", episode_return_mean=9.0, settings={"ppo.target_kl": 0.02}),
    indexed("d", created="2026-11-23", episode_return_mean=5.0, labels=RunLabels(archived=True)),
    indexed("e", created="2026-11-24", updates=0, state="stopped"),
]


def listed(query: str = "", own: Mapping[str, SettingValue] | None = None, **options: object) -> RunList:
    return list_runs(Indexed(RUNS, 7), lambda _game: own or {}, query=query, **options)  # type: ignore[arg-type]


def ids(page: RunList) -> list[str]:
    return [run.run_id for run in page.runs]


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        ("-created", ["b", "c", "a"]),
        ("created", ["a", "c", "b"]),
        ("-return", ["c", "a", "b"]),
        ("return", ["a", "c", "b"]),
        ("id", ["a", "b", "c"]),
        ("-gamma", ["c", "b", "a"]),
        ("target_kl", ["c", "b", "a"]),
    ],
)
def test_runs_are_sorted_and_those_without_a_value_come_last(sort: str, order: list[str]):
    assert ids(listed(sort=sort)) == order


def test_any_metric_is_a_column_and_sorts():
    runs = [indexed("a", metrics={"train/loss": 0.5, "time/fps": 9.0}), indexed("b")]
    runs.append(indexed("c", metrics={"train/loss": 0.25}))
    page = list_runs(Indexed(runs, 0), lambda _game: {}, sort="-train/loss", metrics=["train/loss", "x/y"])
    assert ids(page) == ["a", "c", "b"]
    assert [run.metrics for run in page.runs] == [{"train/loss": 0.5}, {"train/loss": 0.25}, {}]
    assert page.metrics == ["time/fps", "train/loss"]


def test_hostile_an_integer_larger_than_any_float_is_sorted():
    runs = [indexed("a", settings={"seed": 1}), indexed("b", settings={"ppo.learning_rate": 10**400})]
    found = list_runs(Indexed(runs, 0), lambda _game: {}, query="lr>0", sort="-lr")
    assert ids(found) == ["b", "a"]


def test_runs_are_sorted_by_tags_and_those_without_come_last():
    tags = {"a": [], "b": ["Old"], "c": ["good", "new"]}
    runs = [indexed(name, labels=RunLabels(tags=own)) for name, own in tags.items()]
    assert ids(list_runs(Indexed(runs, 0), lambda _game: {}, sort="tag")) == ["c", "b", "a"]


def test_a_page_has_the_rows_after_the_last_and_counts_all():
    first = listed(limit=2)
    assert (ids(first), first.next, first.num_found, first.num_unread) == (["b", "c"], "c", 3, 7)
    second = listed(limit=2, after=first.next)
    assert (ids(second), second.next) == (["a"], None)
    assert listed(limit=3).next is None
    with pytest.raises(QueryError, match=r"after: there is no row 'gone' in this list\n.*first page"):
        listed(after="gone")


def test_archived_and_empty_runs_are_counted_and_shown_when_asked_for():
    assert listed().num_hidden == 2
    assert ids(listed("is:archived")) == ["d"]
    assert ids(listed("is:empty")) == ["e"]
    assert ids(listed("is:all")) == ["e", "d", "b", "c", "a"]
    # Hidden runs that the search does not find are not counted.
    assert listed("return>4").num_hidden == 1


def test_columns_are_the_settings_that_differ_among_all_that_is_found():
    page = listed(limit=1)
    assert page.settings == ["ppo.gamma", "ppo.target_kl"]
    # The default of a run that has none of its own.
    assert page.runs[0].settings == {"ppo.gamma": 0.9, "ppo.target_kl": 0.03}
    assert listed("id:a").settings == []
    assert listed("gamma:0.9").settings == []
    assert differing([]) == []


def test_what_a_game_comes_with_is_no_change_and_taking_it_away_is_one():
    own: dict[str, SettingValue] = {"ppo.gamma": 0.9, "seed": 5}
    changed = {run.run_id: run.changed for run in listed(own=own).runs}
    assert changed == {"a": [], "b": [], "c": ["ppo.target_kl", "ppo.gamma"]}
    (row,) = listed("id:c", own=own).runs
    assert row.settings == {"ppo.target_kl": 0.02, "ppo.gamma": 0.99}


def test_own_settings_are_read_once_in_a_while_and_a_game_that_is_gone_has_none():
    asked: list[str] = []
    now = [0.0]

    def settings_of(game: str) -> LayeredSettings:
        asked.append(game)
        if game == "gone":
            raise ConfigurationError("no such game")
        if game == "\0":
            raise ValueError("embedded null byte")
        return join_layers(Layer({"ppo": {"gamma": 0.9}}))

    own = OwnSettings(settings_of, lambda: now[0])
    assert (own("snake"), own("snake"), own("gone"), own("\0")) == (
        {"ppo.gamma": 0.9},
        {"ppo.gamma": 0.9},
        {},
        {},
    )
    now[0] = KEEP_SECONDS + 1
    own("snake")
    assert asked == ["snake", "gone", "\0", "snake"]


def test_a_row_has_labels_numbers_and_progress():
    run: IndexedRun = indexed(
        "a",
        labels=RunLabels(name="N", note="x", tags=["t"], starred=True),
        return_best=6.0,
        sparkline=[1.0, 2.0],
    )
    (row,) = list_runs(Indexed([run], 0), lambda _game: {}).runs
    assert (row.name, row.note, row.tags, row.starred, row.archived) == ("N", "x", ["t"], True, False)
    assert (row.progress, row.return_best, row.sparkline, row.episode_return_mean) == (
        0.5,
        6.0,
        [1.0, 2.0],
        4.0,
    )


def test_a_failed_run_is_listed_without_an_update_and_comes_first_for_a_day() -> None:
    now = datetime(2026, 11, 20, 12, tzinfo=UTC)
    failed = {"state": "failed", "updates": 0}
    runs = [
        indexed("old", created="2026-11-01T10:00:00+00:00", **failed),
        indexed("late", created="2026-11-19T11:00:00+00:00", elapsed_seconds=7200.0, **failed),
        indexed("odd", created="yesterday", **failed),
        indexed("fine", created="2026-11-20T11:00:00+00:00"),
        indexed("empty", state="stopped", updates=0),
    ]
    found = list_runs(Indexed(runs, 0), lambda _game: {}, now=now)
    assert (ids(found), found.num_hidden) == (["late", "odd", "fine", "old"], 1)
    assert ids(list_runs(Indexed(runs, 0), lambda _game: {}, query="state:failed", sort="id", now=now)) == [
        "late",
        "odd",
        "old",
    ]
    # What a term asks for is not hidden; what it rules out may be.
    assert ids(list_runs(Indexed(runs, 0), lambda _game: {}, query="state:stopped", now=now)) == ["empty"]
    assert ids(list_runs(Indexed(runs, 0), lambda _game: {}, query="-state:failed", now=now)) == ["fine"]
