"""Tasks with a beginning and an end."""

import asyncio

from attract.run.background import BackgroundTasks


async def test_a_task_that_breaks_is_told_of_and_one_that_is_cancelled_is_not():
    broken: list[BaseException] = []
    tasks = BackgroundTasks(broken.append)
    waits = asyncio.Event()

    async def breaks() -> None:
        raise ValueError("no")

    async def wait() -> None:
        await waits.wait()

    tasks.spawn(breaks())
    tasks.spawn(wait())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert [str(error) for error in broken] == ["no"]
    tasks.cancel_others()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert len(broken) == 1
    assert not tasks._tasks


async def test_the_task_that_cancels_the_others_goes_on():
    done: list[str] = []
    tasks = BackgroundTasks(lambda error: done.append(repr(error)))

    async def other() -> None:
        await asyncio.Event().wait()
        done.append("other")

    async def ends_all() -> None:
        tasks.cancel_others()
        await asyncio.sleep(0)
        done.append("self")

    tasks.spawn(other())
    tasks.spawn(ends_all())
    for _ in range(4):
        await asyncio.sleep(0)
    assert done == ["self"]
