"""Every write, fsync and rename of an update, of gateway and learner: killed there once, refused once."""

import asyncio
import contextlib
import math
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

from killed_trainer import KilledTrainer, Trainer
from socket_fleet import SocketFleet

CALLS = ("write", "pwrite64", "fsync", "fdatasync", "rename", "symlink", "mkdir", "ftruncate")
LINE = re.compile(r"^(\w+)\((?:\d+<([^>]*)>)?")
"""A call as strace writes it, and the path of its file where it takes a descriptor."""
COUNTED_UPDATES = 5
WAIT_SECONDS = 120.0
Outcome = Literal["SIGKILL", "ENOSPC", "EIO"]
OUTCOMES: tuple[Outcome, ...] = ("SIGKILL", "ENOSPC", "EIO")
Process = Literal["gateway", "learner"]
PROCESSES: tuple[Process, ...] = ("gateway", "learner")


def can_trace() -> bool:
    """Whether strace is there and may look into processes of ours that it did not start."""
    if shutil.which("strace") is None:
        return False
    with subprocess.Popen(["sleep", "30"]) as victim:
        try:
            tracer = subprocess.Popen(["strace", "-p", str(victim.pid)], stderr=subprocess.PIPE, text=True)
            assert tracer.stderr is not None
            attached = "attached" in tracer.stderr.readline()
            tracer.terminate()
            tracer.communicate()
            return attached
        finally:
            victim.kill()


pytestmark = pytest.mark.skipif(not can_trace(), reason="needs strace, and the right to attach it")


@dataclass(frozen=True)
class Call:
    """The `number`-th call of one kind that one thread makes within an update."""

    process: Process
    thread: int
    """Place among the process's threads, in the order of their start."""
    name: str
    number: int


class TracedUpdates:
    """The course of one life: a version is made, then updates go by under strace.

    Counting begins anywhere in an update. The n-th calls from there, for each n that an update has, are all
    of an update's.
    """

    def __init__(self, run: KilledTrainer, log: Path, call: Call | None, outcome: Outcome | None) -> None:
        self._run = run
        self._log = log
        self._call = call
        self._outcome = outcome
        self.calls: list[Call] = []
        """Without a call to break: all that an update makes."""

    async def __call__(self, trainer: Trainer, fleet: SocketFleet) -> None:
        await self._run.versions(fleet, 1)
        if self._call is None:
            await self._count(trainer, fleet)
        else:
            await self._break(trainer, fleet, self._call)

    async def _count(self, trainer: Trainer, fleet: SocketFleet) -> None:
        for process in PROCESSES:
            for thread in range(len(_threads(trainer, process))):
                async with self._traced(trainer, process, thread, []):
                    await _versions_more(fleet, COUNTED_UPDATES)
                self.calls += self._made(process, thread)

    async def _break(self, trainer: Trainer, fleet: SocketFleet, call: Call) -> None:
        how = "signal=SIGKILL" if self._outcome == "SIGKILL" else f"error={self._outcome}"
        inject = ["-e", f"inject={call.name}:{how}:when={call.number}"]
        async with self._traced(trainer, call.process, call.thread, inject), asyncio.timeout(WAIT_SECONDS):
            while not re.search(r"INJECTED|killed by SIGKILL", self._log.read_text()):  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        if self._outcome != "SIGKILL":
            # Refused once, it goes on by itself.
            await _versions_more(fleet, 2)

    @contextlib.asynccontextmanager
    async def _traced(
        self, trainer: Trainer, process: Process, thread: int, inject: list[str]
    ) -> AsyncIterator[None]:
        tid = _threads(trainer, process)[thread]
        self._log.write_text("")
        options = ["-y", "-p", str(tid), "-o", str(self._log), "-e", f"trace={','.join(CALLS)}", *inject]
        tracer = await asyncio.create_subprocess_exec("strace", *options, stderr=asyncio.subprocess.PIPE)
        assert tracer.stderr is not None
        assert b"attached" in await tracer.stderr.readline()
        try:
            yield
        finally:
            with contextlib.suppress(ProcessLookupError):
                tracer.terminate()
            await tracer.communicate()

    def _made(self, process: Process, thread: int) -> list[Call]:
        """The calls of the log that touch files, as many of each kind as one update has."""
        made = Counter[str]()
        for line in self._log.read_text().splitlines():
            match = LINE.match(line)
            if match is not None and (match[2] is None or match[2].startswith("/")):
                made[match[1]] += 1
        return [
            Call(process, thread, name, number)
            for name in sorted(made)
            for number in range(1, math.ceil(made[name] / COUNTED_UPDATES) + 1)
        ]


def _threads(trainer: Trainer, process: Process) -> list[int]:
    pid = trainer.pid if process == "gateway" else trainer.learner_pid
    return sorted(int(entry.name) for entry in Path(f"/proc/{pid}/task").iterdir())


async def _versions_more(fleet: SocketFleet, number: int) -> None:
    wanted = max(fleet.policies) + number
    async with asyncio.timeout(WAIT_SECONDS), fleet.changed:
        await fleet.changed.wait_for(lambda: max(fleet.policies) >= wanted)


async def broken_everywhere(
    folder: Path, choose: Callable[[list[Call]], Iterable[tuple[Call, Outcome]]]
) -> None:
    """Break the calls of an update that `choose` picks of all, each in a life of its own."""
    run = KilledTrainer(folder)

    async def life(call: Call | None, outcome: Outcome | None) -> list[Call]:
        course = TracedUpdates(run, folder / "strace.log", call, outcome)
        await run.life(course)
        return course.calls

    calls = await life(None, None)
    print(*calls, sep="\n")
    assert {"fsync", "rename"} <= {call.name for call in calls if call.process == "learner"}
    assert "pwrite64" in {call.name for call in calls if call.process == "gateway"}
    broken = list(choose(calls))
    for call, outcome in broken:
        print(call, outcome, flush=True)
        await life(call, outcome)
    await run.life(lambda _trainer, fleet: run.versions(fleet, 1))
    run.judge()
    print(f"{len(calls)} calls of an update, {len(broken)} times one of them was killed or refused")


def one_of_each_kind(calls: list[Call]) -> Iterator[tuple[Call, Outcome]]:
    """Killed at the last of each kind of call, and two of them refused."""
    last = {(call.process, call.name): call for call in calls}
    for call in last.values():
        yield call, "SIGKILL"
    yield last["learner", "fsync"], "EIO"
    yield last["gateway", "pwrite64"], "ENOSPC"


def all_in_every_way(calls: list[Call]) -> Iterator[tuple[Call, Outcome]]:
    for call in calls:
        for outcome in OUTCOMES:
            yield call, outcome


# `make test` kills a learner at each of its writes in backend/learner/process/test_main.py, whole trainers in
# end_to_end/test_trainer_killed.py.
@pytest.mark.long
@pytest.mark.timeout(900)
async def test_D1_hostile_15_each_kind_of_write_killed_or_refused_loses_nothing(tmp_path: Path) -> None:
    await broken_everywhere(tmp_path, one_of_each_kind)


@pytest.mark.soak
@pytest.mark.timeout(7200)
async def test_D1_hostile_15_every_write_killed_and_refused_loses_nothing(tmp_path: Path) -> None:
    await broken_everywhere(tmp_path, all_in_every_way)
