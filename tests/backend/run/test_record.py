"""What a run leaves behind, when nobody waits for it and when it ends."""

import asyncio
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from attract.run.events import EventHub
from attract.run.record import COPY_SECONDS, RunRecord
from attract.runs import background_trackers
from attract.runs.archive import RunArchive
from attract.runs.directory import RunDirectory
from attract.runs.metrics import UpdateRow
from attract.schema.api import RunView
from event_files import drawn_by_marks, drawn_by_steps, read_scalars

VIEW = RunView(
    run_id="r",
    game="g",
    state="running",
    created="",
    seed=1,
    policy_version=1,
    agent_steps=0,
    collected_steps=0,
    updates=0,
    episodes=0,
    elapsed_seconds=0.0,
    steps_per_second=0.0,
    episode_return_mean=None,
    goal=None,
    total_steps=None,
)


def row(update: int) -> UpdateRow:
    """The row of an update; its one metric is its number."""
    return UpdateRow(update, 100 * update, 100 * update, 1.0, update, "c", "", {"train/loss": float(update)})


def scalars(path: Path) -> list[tuple[str, int, float]]:
    (events,) = path.glob("events.out.tfevents.*")
    return read_scalars(events)


async def test_rows_are_copied_for_other_tools_a_moment_after_their_version_is_out(tmp_path: Path):
    directory = RunDirectory.create(tmp_path, "r")
    record = RunRecord(directory, EventHub())
    await record.commit_update(row(1), VIEW)
    assert directory.marked("latest") == 1
    assert not list(directory.path.glob("events.out.tfevents.*")) or not scalars(directory.path)
    await asyncio.sleep(4 * COPY_SECONDS)
    await record.commit_update(row(2), VIEW)
    await record.close()
    assert scalars(directory.path) == [("train/loss", 100, 1.0), ("train/loss", 200, 2.0)]


async def test_a_run_that_ends_at_once_has_copied_all_its_rows_in_order(tmp_path: Path):
    directory = RunDirectory.create(tmp_path, "r")
    record = RunRecord(directory, EventHub())
    for update in (1, 2, 3):
        await record.commit_update(row(update), VIEW)
    await record.close()
    assert [step for _, step, _ in scalars(directory.path)] == [100, 200, 300]


async def test_what_is_done_anew_stands_once_in_the_copies(tmp_path: Path):
    directory = RunDirectory.create(tmp_path, "r")
    record = RunRecord(directory, EventHub())
    await record.rewind(0)
    for update in (1, 2, 3):
        await record.commit_update(row(update), VIEW)
    # The third was not copied yet when its learner died, and it is made again, of more steps.
    await record.rewind(2)
    await record.commit_update(replace(row(3), agent_steps=350), VIEW)
    await record.close()
    for drawn in (drawn_by_marks, drawn_by_steps):
        assert drawn(directory.path, "train/loss") == [(100, 1.0), (200, 2.0), (350, 3.0)]


async def test_a_tracker_that_cannot_be_opened_costs_no_row_and_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    # As if it had been removed since the server started: with this entry the import fails.
    monkeypatch.setitem(sys.modules, "wandb", None)
    directory = RunDirectory.create(tmp_path, "r")
    directory.write_config("g", {"seed": 1})
    record = RunRecord(directory, EventHub(), trackers=("wandb",))
    for update in (1, 2):
        await record.commit_update(row(update), VIEW)
    await record.add_evaluation(2, 200, {"eval/mean_reward": 4.0})
    await record.close()
    assert ("eval/mean_reward", 200, 4.0) in scalars(directory.path)
    assert [step for name, step, _ in scalars(directory.path) if name == "train/loss"] == [100, 200]
    (line,) = [text for text in caplog.messages if "wandb" in text]
    assert line.startswith("wandb gets no more metrics of this run: ModuleNotFoundError")


async def test_tools_are_closed_side_by_side(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    # Each ends when both are asked to.
    both = threading.Barrier(2)

    class Waiting:
        def log(self, agent_steps: int, values: dict[str, float]) -> None: ...

        def close(self) -> None:
            both.wait(20)

    monkeypatch.setattr(background_trackers, "CLOSE_SECONDS", 5.0)
    for name in ("wandb", "trackio"):
        monkeypatch.setitem(background_trackers.SINKS, name, lambda run: Waiting())  # type: ignore[arg-type]
    directory = RunDirectory.create(tmp_path, "r")
    directory.write_config("g", {"seed": 1})
    record = RunRecord(directory, EventHub(), trackers=("wandb", "trackio"))
    await record.commit_update(row(1), VIEW)
    await record.close()
    assert not [text for text in caplog.messages if "did not finish" in text or "gets no more" in text]
    assert ("train/loss", 100, 1.0) in scalars(directory.path)


async def test_a_run_that_is_only_looked_at_has_no_trackers(tmp_path: Path):
    directory = RunDirectory.create(tmp_path, "r")
    record = RunRecord(directory, EventHub(), track=False, trackers=("wandb",))
    await record.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("tracker-")]


async def test_the_time_of_the_first_row_of_each_session_is_kept(tmp_path: Path):
    directory = RunDirectory.create(tmp_path, "r")
    directory.write_config("g", {"collection": {}})
    before = time.time()
    for session in (1, 2):
        record = RunRecord(directory, EventHub())
        for update in (2 * session - 1, 2 * session):
            await record.commit_update(replace(row(update), seconds=float(update)), VIEW)
        await record.close()
    view = RunArchive(tmp_path).metrics("r", None)
    assert [start.seconds for start in view.clock] == [1.0, 3.0]
    assert before <= view.clock[0].unix_seconds <= view.clock[1].unix_seconds <= time.time()
