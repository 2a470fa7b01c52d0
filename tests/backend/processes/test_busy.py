"""Limits of time on a busy machine."""

import asyncio

import pytest

from attract.commands.look import LateError, slowdown, within


async def test_what_is_done_in_time_is_returned_and_its_error_raised() -> None:
    async def fails() -> None:
        raise ValueError("own")

    assert await within(1.0, asyncio.sleep(0, "done")) == "done"
    with pytest.raises(ValueError, match="own"):
        await within(1.0, fails())


async def test_a_late_one_is_cancelled_and_the_machine_named_only_where_it_is_busy() -> None:
    ended = asyncio.Event()

    async def hangs() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()

    with pytest.raises(LateError) as caught:
        await within(0.05, hangs(), lambda: 1.0)
    assert caught.value.busy == ""
    await asyncio.wait_for(ended.wait(), 5)
    with pytest.raises(LateError) as caught:
        await within(0.05, asyncio.sleep(60), lambda: 4.0)
    assert caught.value.seconds >= 0.2
    assert caught.value.busy == ", on a machine so busy that a thread takes 4.0 times as long"


async def test_a_busy_machine_has_as_much_longer() -> None:
    assert await within(0.05, asyncio.sleep(0.15, "done"), lambda: 20.0) == "done"


def test_a_thread_is_never_faster_than_by_itself() -> None:
    assert 1.0 <= slowdown() <= 20.0
