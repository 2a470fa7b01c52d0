"""Ctrl-C once and twice."""

import asyncio
import os
import signal

import pytest

from attract.processes.interrupt import Interrupts


async def test_the_first_asks_and_the_second_insists() -> None:
    asked: list[str] = []
    with Interrupts(lambda: asked.append("end")).listening() as interrupts:
        os.kill(os.getpid(), signal.SIGINT)
        await interrupts.first.wait()
        assert not interrupts.second.is_set()
        os.kill(os.getpid(), signal.SIGINT)
        await interrupts.second.wait()
    assert asked == ["end"]


async def test_the_handlers_are_gone_afterwards() -> None:
    before = signal.getsignal(signal.SIGINT)
    with Interrupts().listening():
        pass
    assert signal.getsignal(signal.SIGINT) in (before, signal.default_int_handler)


@pytest.mark.parametrize(
    ("numbers", "code"),
    [
        ([signal.SIGINT], 130),
        ([signal.SIGTERM], 143),
        ([signal.SIGTERM, signal.SIGINT], 143),
        ([signal.SIGINT, signal.SIGTERM], 130),
    ],
)
async def test_the_exit_code_is_that_of_the_first(numbers: list[int], code: int) -> None:
    with Interrupts().listening() as interrupts:
        assert interrupts.exit_code is None
        for number in numbers:
            os.kill(os.getpid(), number)
            await asyncio.wait_for(
                (interrupts.first if number == numbers[0] else interrupts.second).wait(), 5
            )
    assert interrupts.exit_code == code


async def test_what_counts_as_a_signal_asks_for_the_end_too() -> None:
    asked: list[str] = []
    interrupts = Interrupts(lambda: asked.append("end"))
    interrupts.count(signal.SIGPIPE)
    assert interrupts.first.is_set() and asked == ["end"]
    assert interrupts.exit_code == 141
