import asyncio
import errno

import pytest

from attract.server import disk_watch
from attract.server.disk_watch import DiskWatch

FULL = OSError(errno.ENOSPC, "No space left on device")


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


async def test_what_the_disk_refuses_is_tried_again_until_it_is_taken(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(disk_watch, "RETRY_SECONDS", 0)
    watch, disk, heard = DiskWatch(), Disk(), list[str | None]()
    watch.listen(heard.append)
    writing = asyncio.create_task(watch.patiently("row 3", disk.write))
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
        await watch.patiently("row 3", write)
    assert heard == []


async def test_two_who_wait_are_one_wait():
    watch, heard = DiskWatch(), list[str | None]()
    watch.listen(heard.append)
    watch.tell("a", "a is full")
    watch.tell("b", "b is full")
    watch.tell("a", None)
    assert watch.reason == "b is full"
    watch.tell("b", None)
    watch.tell("b", None)
    assert heard == ["a is full", None]


async def test_nobody_waits_for_an_event_that_the_disk_holds_up():
    watch, event = DiskWatch(), asyncio.Event()
    waiting = asyncio.create_task(watch.allows(event))
    await asyncio.sleep(0)
    watch.tell("a", "a is full")
    assert await waiting is False
    watch.tell("a", None)
    event.set()
    assert await watch.allows(event) is True
