import asyncio
from typing import Any

import pytest

from attract.errors import LearnerError
from attract.processes.children import LearnerLink
from attract.processes.learner_supervisor import MAX_DEATHS, LearnerSupervisor
from attract.schema.learner import Begin, Dropped, Export, Published, Ready, Trained
from fake_learner import FakeLearner
from socket_fleet import DESCRIPTION
from waiting import WAIT_SECONDS


class Owner:
    """Records what it is told."""

    def __init__(self) -> None:
        self.calls: asyncio.Queue[Any] = asyncio.Queue()

    async def learner_ready(self, ready: Ready) -> None:
        self.calls.put_nowait(ready)

    async def update_moved(self, message: Trained | Published | Dropped) -> None:
        self.calls.put_nowait(message)

    def learner_lost(self) -> None:
        self.calls.put_nowait("lost")

    def learner_failed(self, why: str) -> None:
        self.calls.put_nowait(f"failed: {why}")

    async def next(self) -> Any:
        return await asyncio.wait_for(self.calls.get(), WAIT_SECONDS)


def begin_in(run_dir: Any) -> Begin:
    return Begin(
        run_id="r",
        run_dir=str(run_dir),
        store_path="none",
        description=DESCRIPTION,
        settings={"seed": 1},
    )


async def test_a_learner_that_dies_is_replaced_and_begun_anew(tmp_path: Any):
    learner, owner = FakeLearner(), Owner()
    supervisor = LearnerSupervisor(learner.start, owner)
    await supervisor.start()
    supervisor.begin(lambda: begin_in(tmp_path))
    assert isinstance(await owner.next(), Ready)
    await learner.die()
    assert await owner.next() == "lost"
    assert isinstance(await owner.next(), Ready)
    assert learner.lives == 2
    await supervisor.close()


async def test_after_three_deaths_without_an_update_there_is_no_other(tmp_path: Any):
    learner, owner = FakeLearner(), Owner()
    learner.fail_begin = True
    supervisor = LearnerSupervisor(learner.start, owner)
    await supervisor.start()
    supervisor.begin(lambda: begin_in(tmp_path))
    calls = [await owner.next() for _ in range(MAX_DEATHS + 1)]
    assert calls[:MAX_DEATHS] == ["lost"] * MAX_DEATHS
    assert "no such thing" in calls[-1]
    assert learner.lives == MAX_DEATHS
    assert not supervisor.is_alive
    await supervisor.close()


async def test_no_other_is_started_where_it_would_fail_in_the_same_way(tmp_path: Any):
    learner, owner = FakeLearner(), Owner()
    learner.fail_begin = learner.failure_is_final = True
    supervisor = LearnerSupervisor(learner.start, owner)
    await supervisor.start()
    supervisor.begin(lambda: begin_in(tmp_path))
    calls = [await owner.next(), await owner.next()]
    assert calls[0] == "lost"
    assert "cannot continue: ValueError: no such thing" in calls[1]
    assert learner.lives == 1
    await supervisor.close()


async def test_when_no_other_can_be_started_the_owner_is_told(tmp_path: Any):
    learner, owner = FakeLearner(), Owner()

    async def start() -> LearnerLink:
        if learner.lives:
            raise OSError("out of memory")
        return await learner.start()

    supervisor = LearnerSupervisor(start, owner)
    await supervisor.start()
    await learner.die()
    assert [await owner.next(), await owner.next()] == [
        "lost",
        "failed: no learner could be started: out of memory",
    ]
    await supervisor.close()


async def test_an_export_under_way_fails_with_its_learner(tmp_path: Any):
    learner, owner = FakeLearner(), Owner()
    supervisor = LearnerSupervisor(learner.start, owner)
    await supervisor.start()
    exporting = asyncio.create_task(supervisor.export(Export(out_dir=str(tmp_path))))
    await asyncio.sleep(0)
    await learner.die()
    with pytest.raises(LearnerError):
        await asyncio.wait_for(exporting, WAIT_SECONDS)
    await supervisor.close()
    with pytest.raises(LearnerError, match="no learner"):
        await supervisor.export(Export(out_dir=str(tmp_path)))


async def test_closing_is_no_death():
    learner, owner = FakeLearner(), Owner()
    supervisor = LearnerSupervisor(learner.start, owner)
    await supervisor.start()
    await supervisor.close()
    await supervisor.close(at_once=True)
    assert owner.calls.empty()
