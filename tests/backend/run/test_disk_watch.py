import asyncio
import errno
from pathlib import Path
from typing import Any

import pytest

from attract.run import disk_watch
from attract.run.disk_watch import DiskWatch
from attract.runs.metrics import MetricsStore
from attract.schema.api import MetricsRow, RunView
from fake_learner import FakeLearner
from gateway_world import GatewayWorld, gateway
from waiting import WAIT_SECONDS

FULL = OSError(errno.ENOSPC, "No space left on device")
ROOM, NO_ROOM = 1 << 30, 1


class Disk:
    """Takes writes while `takes` is set."""

    def __init__(self) -> None:
        self.takes = asyncio.Event()
        self.attempts = 0
        self.tried_five_times = asyncio.Event()

    async def write(self) -> str:
        self.attempts += 1
        if self.attempts == 5:
            self.tried_five_times.set()
        if not self.takes.is_set():
            raise FULL
        return "written"


@pytest.fixture(autouse=True)
def retry_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_watch, "RETRY_SECONDS", 0.01)


async def test_what_the_disk_refuses_is_tried_again_until_it_is_taken():
    watch, disk, heard = DiskWatch(), Disk(), list[str | None]()
    watch.listen(heard.append)
    writing = asyncio.create_task(watch.retry_while_full("row 3", disk.write))
    await disk.tried_five_times.wait()
    assert heard == ["row 3 cannot be saved: No space left on device"] == [watch.reason]
    disk.takes.set()
    assert await writing == "written"
    assert heard[1:] == [None] == [watch.reason]


async def test_another_error_is_not_the_disks():
    async def write() -> None:
        raise FileNotFoundError(errno.ENOENT, "No such file or directory")

    watch, heard = DiskWatch(), list[str | None]()
    watch.listen(heard.append)
    with pytest.raises(FileNotFoundError):
        await watch.retry_while_full("row 3", write)
    assert heard == []


async def test_two_who_wait_are_one_wait():
    watch, heard = DiskWatch(), list[str | None]()
    watch.listen(heard.append)
    watch.report("a", "a is full")
    watch.report("b", "b is full")
    watch.report("a", None)
    assert watch.reason == "b is full"
    watch.report("b", None)
    watch.report("b", None)
    assert heard == ["a is full", None]


async def test_nobody_waits_for_an_event_that_the_disk_holds_up():
    watch, event = DiskWatch(), asyncio.Event()
    waiting = asyncio.create_task(watch.wait_unless_full(event))
    await asyncio.sleep(0)
    watch.report("a", "a is full")
    assert await waiting is False
    watch.report("a", None)
    event.set()
    assert await watch.wait_unless_full(event) is True


def limit_pages(world: GatewayWorld, num_pages: int) -> None:
    """Have SQLite refuse to let the run's database grow beyond so many pages, or those that it has."""
    run: Any = world.service.active
    for connection in run._record._store._connections:
        connection.execute(f"PRAGMA max_page_count={num_pages}").close()


async def until(world: GatewayWorld, is_it: Any) -> Any:
    """The first event from now on that is."""
    found: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    def hear(kind: str, body: Any) -> None:
        if not found.done() and is_it(body):
            found.set_result(body)

    unsubscribe = world.service.subscribe(hear)
    try:
        return await asyncio.wait_for(found, WAIT_SECONDS)
    finally:
        unsubscribe()


def is_paused(body: Any) -> bool:
    return isinstance(body, RunView) and body.state == "paused"


async def test_a_row_without_room_pauses_the_run_which_goes_on_when_there_is_some(tmp_path: Path):
    async with gateway(tmp_path) as world, world.fleet().joined():
        view = await world.start(total_steps=64 * 40)
        await until(world, lambda body: isinstance(body, MetricsRow) and body.update >= 2)
        limit_pages(world, NO_ROOM)
        paused: RunView = await until(world, is_paused)
        assert paused.error is not None
        assert "cannot be saved" in paused.error and "full" in paused.error
        version = paused.policy_version
        # The last good version stays the newest, for pages and on disk.
        assert (world.runs_dir / view.run_id / "latest").readlink().name == str(version)
        limit_pages(world, ROOM)
        running: RunView = await until(
            world, lambda body: isinstance(body, RunView) and body.state == "running"
        )
        assert running.error is None
        result = await asyncio.wait_for(world.service.wait_finished(), WAIT_SECONDS)
        assert (result.state, result.error) == ("finished", None)
        # What was collected during the wait trains as larger batches, as many as there were; no step is lost.
        assert 30 <= result.updates <= 40
        assert 64 * 40 <= result.agent_steps < 64 * 44
        store = MetricsStore(world.runs_dir / view.run_id / "metrics.db")
        (series,) = store.query(view.run_id, ["train/loss"]).series
        store.close()
        assert series.values == [float(update) for update in range(1, result.updates + 1)]


async def test_a_version_that_the_learner_cannot_save_pauses_the_run_too(tmp_path: Path):
    learner = FakeLearner()
    async with gateway(tmp_path, learner) as world, world.fleet().joined():
        await world.start(total_steps=64 * 5)
        learner.stall = "version 1 cannot be saved: No space left on device"
        learner.hold.clear()
        paused: RunView = await until(world, is_paused)
        assert paused.error is not None and learner.stall in paused.error
        learner.hold.set()
        result = await asyncio.wait_for(world.service.wait_finished(), WAIT_SECONDS)
        assert (result.state, result.error) == ("finished", None)
        # As above: what was collected during the wait may train as fewer, larger batches.
        assert result.updates <= 5 <= result.agent_steps // 64


async def test_a_run_that_a_person_paused_stays_so_when_there_is_room(tmp_path: Path):
    async with gateway(tmp_path) as world, world.fleet().joined():
        view = await world.start()
        await until(world, lambda body: isinstance(body, MetricsRow))
        await world.service.pause(view.run_id)
        run: Any = world.service.active
        run._record.disk.report("a row", "no room")
        news: RunView = await until(world, lambda body: isinstance(body, RunView))
        assert news.state == "paused" and "no room" in str(news.error)
        run._record.disk.report("a row", None)
        news = await until(world, lambda body: isinstance(body, RunView))
        assert (news.state, news.error) == ("paused", None)


async def test_a_run_is_ended_without_waiting_for_room(tmp_path: Path):
    async with gateway(tmp_path) as world, world.fleet().joined():
        view = await world.start()
        await until(world, lambda body: isinstance(body, MetricsRow) and body.update >= 2)
        limit_pages(world, NO_ROOM)
        await until(world, is_paused)
        ended = await asyncio.wait_for(world.service.stop(view.run_id), WAIT_SECONDS)
        assert ended.state == "failed"
        assert ended.error is not None and "could not be saved" in ended.error
