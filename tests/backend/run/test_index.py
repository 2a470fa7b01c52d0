"""The list of runs opens a database only when something was written to it."""

from pathlib import Path

import pytest

from attract.run.index import RunIndex
from attract.run.record import VIEW, RunArchive
from attract.runs.directory import RunDirectory
from attract.runs.metrics import MetricsStore
from attract.schema.api import RunSummary, RunView


class CountingArchive(RunArchive):
    """Says which runs' databases were opened."""

    def __init__(self, runs_dir: Path) -> None:
        super().__init__(runs_dir)
        self.opened: list[str] = []

    def kept_view(self, directory: RunDirectory):
        self.opened.append(directory.run_id)
        return super().kept_view(directory)


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
    index = RunIndex(archive, str.title)
    assert {summary.run_id: summary.agent_steps for summary in index.summaries()} == {
        "a": 100,
        "b": 200,
        "c": 300,
    }
    assert sorted(archive.opened) == ["a", "b", "c"]
    archive.opened.clear()
    index.summaries()
    assert archive.opened == []
    write(runs_dir / "b", 999)
    assert {summary.run_id: summary.agent_steps for summary in index.summaries()} == {
        "a": 100,
        "b": 999,
        "c": 300,
    }
    assert archive.opened == ["b"]


def test_a_row_that_is_still_in_the_log_of_an_open_database_is_seen(runs_dir: Path):
    index = RunIndex(RunArchive(runs_dir), str.title)
    index.summaries()
    store = MetricsStore(runs_dir / "a" / "metrics.db")
    data = store.fact(VIEW)
    store.put_fact(VIEW, {**data, "agent_steps": 777})
    assert {summary.run_id: summary.agent_steps for summary in index.summaries()}["a"] == 777
    store.close()


def test_a_run_that_was_kept_without_a_title_has_its_games(runs_dir: Path):
    assert {summary.title for summary in RunIndex(RunArchive(runs_dir), str.title).summaries()} == {"G"}


def test_the_active_run_stands_as_it_does_now(runs_dir: Path):
    index = RunIndex(RunArchive(runs_dir), str.title)
    kept = next(summary for summary in index.summaries() if summary.run_id == "b")
    now = RunView.model_validate({**kept.model_dump(), "agent_steps": 5555, "state": "running"})
    listed = {summary.run_id: summary for summary in index.summaries(now)}
    assert (listed["b"].agent_steps, listed["b"].state, listed["a"].agent_steps) == (5555, "running", 100)
    assert type(listed["b"]) is RunSummary


def test_runs_come_and_go(runs_dir: Path):
    index = RunIndex(RunArchive(runs_dir), str.title)
    index.summaries()
    (runs_dir / "c").rename(runs_dir / "d")
    (runs_dir / "a" / "config.yaml").unlink()
    assert {summary.run_id for summary in index.summaries()} == {"b", "d"}


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
    index = RunIndex(RunArchive(runs_dir), str.title)
    for _ in range(2):
        listed = {summary.run_id: summary for summary in index.summaries()}
        assert (listed["a"].agent_steps, listed["c"].agent_steps) == (100, 300)
        assert listed["b"].state == "damaged"
        assert "metrics.db" in str(listed["b"].error)


def test_a_run_whose_process_died_is_stopped_however_often_it_is_listed(runs_dir: Path):
    write(runs_dir / "a", 1, state="running")
    index = RunIndex(RunArchive(runs_dir), str.title)
    held = RunDirectory.open_locked(runs_dir, "a")
    assert {summary.run_id: summary.state for summary in index.summaries()}["a"] == "running"
    held.close()
    assert {summary.run_id: summary.state for summary in index.summaries()}["a"] == "stopped"


def test_a_run_without_a_database_is_left_out(runs_dir: Path):
    directory = RunDirectory.create(runs_dir, "new")
    directory.write_config("g", {})
    assert "new" not in {summary.run_id for summary in RunIndex(RunArchive(runs_dir), str.title).summaries()}
    directory.close()
