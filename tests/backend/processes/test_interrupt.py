"""Ctrl-C once and twice."""

import asyncio
import os
import signal

import pytest

from attract.processes.interrupt import Interruption, Interrupts, Terminated


class Clock:
    """Seconds that pass between two looks at it: `step` each time."""

    def __init__(self, step: float = 2.0) -> None:
        self.step, self.now = step, 0.0

    def __call__(self) -> float:
        self.now += self.step
        return self.now


async def test_two_signals_that_arrive_together_are_one() -> None:
    # `timeout` signals its child and then the whole group; npm and uv pass on what the terminal sent already.
    asked: list[str] = []
    clock = Clock(0.1)
    interrupts = Interrupts(lambda: asked.append("end"), clock)
    for number in (signal.SIGTERM, signal.SIGTERM, signal.SIGINT):
        interrupts.count(number)
    assert (asked, interrupts.second.is_set(), interrupts.exit_code) == (["end"], False, 143)
    clock.step = 1.0
    interrupts.count(signal.SIGTERM)
    assert interrupts.second.is_set()


def test_a_signal_before_there_is_a_loop_ends_a_command_once() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with Interruption().noticed() as interruption:
        with pytest.raises(Terminated):
            os.kill(os.getpid(), signal.SIGTERM)
        assert interruption.has_come
        os.kill(os.getpid(), signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) is before


async def test_the_first_asks_and_the_second_insists() -> None:
    asked: list[str] = []
    with Interrupts(lambda: asked.append("end"), Clock()).listening() as interrupts:
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
    with Interrupts(clock=Clock()).listening() as interrupts:
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
