"""Ctrl-C once and twice."""

import os
import signal

from attract.commands.interrupt import Interrupts


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
