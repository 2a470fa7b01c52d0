"""The list of runs opens a database only when something was written to it."""

import os
import shutil
import sqlite3
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from attract.runs.archive import VIEW, RunArchive
from attract.runs.directory import RunDirectory
from attract.runs.index import INDEX, MIN_READ, IndexFile, RunIndex, write_labels
from attract.runs.metrics import MetricsStore
from attract.schema.api import RunSummary, RunView
from attract.schema.run_list import RunLabels


def listed_of(index: RunIndex, active: RunView | None = None) -> list[RunSummary]:
    return [run.summary for run in index.runs(active).runs]


class CountingArchive(RunArchive):
    """Says which runs' databases were opened."""

    def __init__(self, runs_dir: Path) -> None:
        super().__init__(runs_dir)
        self.names: list[str] = []

    def opened(self, directory: RunDirectory):
        self.names.append(directory.run_id)
        return super().opened(directory)


def write(path: Path, agent_steps: int, state: str = "finished") -> None:
    summary = RunSummary(
        run_id=path.name, game="g", state=state, created="", seed=1, policy_version=1,
        agent_steps=agent_steps,
        collected_steps=0, updates=0, episodes=0, elapsed_seconds=0.0, steps_per_second=0.0,
        episode_return_mean=None, goal=None, total_steps=None,
    )  # fmt: skip
    store = MetricsStore(path / "metrics.db")
    store.put_fact(VIEW, {**summary.model_dump(mode="json"), "settings": {"seed": 1}})
    store.close()


@pytest.fixture
def runs_dir(tmp_path: Path) -> Path:
    for number, name in enumerate(("a", "b", "c"), 1):
        directory = RunDirectory.create(tmp_path, name)
        directory.write_config("g", {})
        directory.close()
        write(directory.path, 100 * number)
    return tmp_path


def test_a_database_is_opened_once_and_again_when_it_has_changed(runs_dir: Path):
    archive = CountingArchive(runs_dir)
    index = RunIndex(archive)
    assert {summary.run_id: summary.agent_steps for summary in listed_of(index)} == {
        "a": 100,
        "b": 200,
        "c": 300,
    }
    assert sorted(archive.names) == ["a", "b", "c"]
    archive.names.clear()
    index.runs()
    assert archive.names == []
    write(runs_dir / "b", 999)
    assert {summary.run_id: summary.agent_steps for summary in listed_of(index)} == {
        "a": 100,
        "b": 999,
        "c": 300,
    }
    assert archive.names == ["b"]


def test_a_row_that_is_still_in_the_log_of_an_open_database_is_seen(runs_dir: Path):
    index = RunIndex(RunArchive(runs_dir))
    index.runs()
    store = MetricsStore(runs_dir / "a" / "metrics.db")
    data = store.fact(VIEW)
    store.put_fact(VIEW, {**data, "agent_steps": 777})
    assert {summary.run_id: summary.agent_steps for summary in listed_of(index)}["a"] == 777
    store.close()


def test_the_active_run_stands_as_it_does_now(runs_dir: Path):
    index = RunIndex(RunArchive(runs_dir))
    kept = next(summary for summary in listed_of(index) if summary.run_id == "b")
    now = RunView.model_validate({**kept.model_dump(), "agent_steps": 5555, "state": "running"})
    listed = {summary.run_id: summary for summary in listed_of(index, now)}
    assert (listed["b"].agent_steps, listed["b"].state, listed["a"].agent_steps) == (5555, "running", 100)


def test_runs_come_and_go(runs_dir: Path):
    index = RunIndex(RunArchive(runs_dir))
    index.runs()
    (runs_dir / "c").rename(runs_dir / "d")
    (runs_dir / "a" / "config.yaml").unlink()
    assert {summary.run_id for summary in listed_of(index)} == {"b", "d"}


DAMAGE = {
    "garbage": lambda path: (path / "metrics.db").write_bytes(b"garbage" * 1000),
    "cut": lambda path: (path / "metrics.db").write_bytes((path / "metrics.db").read_bytes()[:5000]),
    "a fact that is a list": lambda path: put(path, [1, 2]),
    "a count that is a text": lambda path: put(path, {"agent_steps": "many"}),
    "a link out": lambda path: (
        (path / "metrics.db").rename(path.parent / "moved.db"),
        (path / "metrics.db").symlink_to(path.parent / "moved.db"),
    ),
}


def put(path: Path, fact: object) -> None:
    store = MetricsStore(path / "metrics.db")
    store.put_fact(VIEW, fact)  # type: ignore[arg-type]
    store.close()


@pytest.mark.parametrize("kind", DAMAGE)
def test_hostile_10_a_damaged_run_is_listed_with_the_reason_and_hides_no_other(runs_dir: Path, kind: str):
    for path in runs_dir.glob("b/metrics.db-*"):
        path.unlink()
    DAMAGE[kind](runs_dir / "b")
    index = RunIndex(RunArchive(runs_dir))
    for _ in range(2):
        listed = {summary.run_id: summary for summary in listed_of(index)}
        assert (listed["a"].agent_steps, listed["c"].agent_steps) == (100, 300)
        assert listed["b"].state == "damaged"
        assert "metrics.db" in str(listed["b"].error)


def test_a_run_whose_process_died_is_stopped_however_often_it_is_listed(runs_dir: Path):
    write(runs_dir / "a", 1, state="running")
    index = RunIndex(RunArchive(runs_dir))
    held = RunDirectory.open_locked(runs_dir, "a")
    assert {summary.run_id: summary.state for summary in listed_of(index)}["a"] == "running"
    held.close()
    assert {summary.run_id: summary.state for summary in listed_of(index)}["a"] == "stopped"


def test_a_run_without_a_database_is_left_out(runs_dir: Path):
    directory = RunDirectory.create(runs_dir, "new")
    directory.write_config("g", {})
    assert "new" not in {summary.run_id for summary in listed_of(RunIndex(RunArchive(runs_dir)))}
    directory.close()


def test_a_server_that_starts_opens_no_database_of_a_run_that_has_not_changed(runs_dir: Path):
    RunIndex(RunArchive(runs_dir)).runs()
    write(runs_dir / "b", 999)
    archive = CountingArchive(runs_dir)
    index = RunIndex(archive)
    assert {run.run_id: run.agent_steps for run in listed_of(index)} == {"a": 100, "b": 999, "c": 300}
    assert archive.names == ["b"]


def test_a_run_that_goes_on_is_not_written_to_the_file(runs_dir: Path):
    held = RunDirectory.open_locked(runs_dir, "a")
    write(runs_dir / "a", 1, state="running")
    RunIndex(RunArchive(runs_dir)).runs()
    assert set(IndexFile(runs_dir).read()) == {"b", "c"}
    held.close()


def test_a_run_that_was_deleted_leaves_the_file(runs_dir: Path):
    index = RunIndex(RunArchive(runs_dir))
    index.runs()
    shutil.rmtree(runs_dir / "c")
    index.runs()
    assert set(IndexFile(runs_dir).read()) == {"a", "b"}


def test_a_row_of_the_file_that_is_no_run_is_read_anew(runs_dir: Path):
    RunIndex(RunArchive(runs_dir)).runs()
    file = IndexFile(runs_dir)
    stamp, text = file.read()["a"]
    file.write({"a": (stamp, text.replace('"agent_steps":100', '"agent_steps":-1'))}, [])
    listed = listed_of(RunIndex(RunArchive(runs_dir)))
    assert {run.run_id: run.agent_steps for run in listed} == {"a": 100, "b": 200, "c": 300}


def test_labels_are_read_again_when_they_change(runs_dir: Path):
    index = RunIndex(RunArchive(runs_dir))
    index.runs()
    write_labels(RunDirectory.view(runs_dir, "b"), RunLabels(name="Best", tags=["good"]))
    found = {run.summary.run_id: run.labels for run in index.runs().runs}
    assert (found["b"].name, found["b"].tags, found["a"]) == ("Best", ["good"], RunLabels())


def test_hostile_damaged_labels_are_named_in_the_row_and_hide_no_run(runs_dir: Path):
    (runs_dir / "b" / "labels.json").write_text('{"name": 1}')
    runs = {run.summary.run_id: run for run in RunIndex(RunArchive(runs_dir)).runs().runs}
    assert (runs["b"].summary.state, runs["b"].labels) == ("finished", RunLabels())
    assert "labels.json" in str(runs["b"].summary.error)
    assert runs["a"].summary.error is None


def test_an_answer_waits_no_longer_than_it_may_and_the_next_goes_on(tmp_path: Path):
    for number in range(MIN_READ + 3):
        directory = RunDirectory.create(tmp_path, f"run-{number}")
        directory.write_config("g", {})
        directory.close()
        write(directory.path, number)
    seconds = iter(range(1000))
    index = RunIndex(RunArchive(tmp_path), clock=lambda: float(next(seconds)))
    first = index.runs(seconds=0.5)
    assert (len(first.runs), first.num_unread) == (MIN_READ, 3)
    second = index.runs(seconds=0.5)
    assert (len(second.runs), second.num_unread) == (MIN_READ + 3, 0)
    assert len(IndexFile(tmp_path).read()) == MIN_READ + 3


def test_hostile_damaged_runs_keep_no_other_from_being_read(tmp_path: Path):
    for number in range(MIN_READ + 3):
        directory = RunDirectory.create(tmp_path, f"run-{number}")
        directory.write_config("g", {})
        directory.close()
        (directory.path / "metrics.db").write_bytes(b"garbage" * 1000)
    directory = RunDirectory.create(tmp_path, "sound")
    directory.write_config("g", {})
    directory.close()
    write(directory.path, 7)
    # The oldest, and so the last in the list.
    os.utime(directory.path / "config.yaml", (1, 1))
    seconds = iter(range(1000))
    index = RunIndex(RunArchive(tmp_path), clock=lambda: float(next(seconds)))
    first = index.runs(seconds=0.5)
    assert (len(first.runs), first.num_unread) == (MIN_READ, 4)
    second = index.runs(seconds=0.5)
    # All were read once: no page needs to ask again, though damaged ones are looked at each time.
    assert (len(second.runs), second.num_unread) == (MIN_READ + 4, 0)
    assert second.runs[-1].summary.run_id == "sound"
    assert index.runs(seconds=0.5).num_unread == 0


def test_hostile_a_damaged_file_of_a_year_without_a_date_hides_no_run(tmp_path: Path):
    memory = Path("/dev/shm")
    # ext4 knows no such times, Linux's file system in memory does.
    with TemporaryDirectory(dir=memory if memory.is_dir() else tmp_path) as folder:
        directory = RunDirectory.create(Path(folder), "a")
        directory.write_config("g", {})
        directory.close()
        (directory.path / "metrics.db").write_bytes(b"garbage" * 1000)
        os.utime(directory.path / "metrics.db", (1 << 40, 1 << 40))
        (listed,) = listed_of(RunIndex(RunArchive(Path(folder))))
    assert (listed.run_id, listed.state) == ("a", "damaged")


def test_one_run_is_looked_up_without_opening_the_others(runs_dir: Path):
    archive = CountingArchive(runs_dir)
    index = RunIndex(archive)
    found = index.run("b")
    assert found is not None and found.summary.agent_steps == 200
    assert archive.names == ["b"]
    index.runs()
    archive.names.clear()
    assert index.run("b") == next(run for run in index.runs().runs if run.summary.run_id == "b")
    assert archive.names == []
    assert index.run("gone") is None


ROWS = {"a": ("1 2", "{}"), "b": ("3 4", '{"x": 1}')}


def test_rows_come_back_as_they_were_written_and_go_when_their_run_has(tmp_path: Path):
    file = IndexFile(tmp_path)
    assert file.read() == {}
    file.write(ROWS, [])
    file.write({"a": ("5 6", "{}")}, ["b", "never"])
    assert IndexFile(tmp_path).read() == {"a": ("5 6", "{}")}


def execute(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path)
    with connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()


FILE_DAMAGE = {
    "garbage": lambda path: path.write_bytes(b"garbage" * 1000),
    "cut": lambda path: path.write_bytes(path.read_bytes()[:5000]),
    "another version": lambda path: execute(path, "UPDATE form SET form = 'old'"),
    "a trigger": lambda path: execute(path, "CREATE TRIGGER t AFTER INSERT ON runs BEGIN SELECT 1; END"),
    "no table": lambda path: execute(path, "DROP TABLE runs"),
    "text that is no UTF-8": lambda path: execute(
        path, "INSERT INTO runs VALUES ('c', CAST(x'ff' AS TEXT), '')"
    ),
    "a link": lambda path: (path.rename(path.with_name("moved")), path.symlink_to(path.with_name("moved"))),
}


@pytest.mark.parametrize("kind", FILE_DAMAGE)
def test_hostile_a_file_that_cannot_be_used_is_made_anew(tmp_path: Path, kind: str):
    IndexFile(tmp_path).write(ROWS, [])
    FILE_DAMAGE[kind](tmp_path / INDEX)
    file = IndexFile(tmp_path)
    assert file.read() == {}
    file.write({"a": ("7 8", "{}")}, [])
    assert IndexFile(tmp_path).read() == {"a": ("7 8", "{}")}
    assert not (tmp_path / INDEX).is_symlink()


def test_a_folder_or_a_pipe_in_its_place_is_left_alone(tmp_path: Path):
    for name, make in (("folder", Path.mkdir), ("pipe", os.mkfifo)):
        runs_dir = tmp_path / name
        runs_dir.mkdir()
        make(runs_dir / INDEX)
        file = IndexFile(runs_dir)
        file.write(ROWS, [])
        assert file.read() == {}
        assert (runs_dir / INDEX).exists() and not (runs_dir / INDEX).is_file()


def test_a_lock_of_another_process_loses_no_row(tmp_path: Path):
    IndexFile(tmp_path).write(ROWS, [])
    other = sqlite3.connect(tmp_path / INDEX, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    file = IndexFile(tmp_path, busy_seconds=0.0)
    file.write({"c": ("9", "{}")}, [])
    assert file.read() == {}
    other.execute("ROLLBACK")
    other.close()
    assert IndexFile(tmp_path).read() == ROWS
