"""SIGTERM where a command does not listen for it: it closes what it opened, and says so."""

import asyncio
import os
import signal

import pytest

from attract.processes.interrupt import Terminated
from attract.server.app_server import run_async


def test_a_terminated_command_closes_what_it_opened() -> None:
    closed: list[str] = []

    async def command() -> int:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            await asyncio.sleep(60)
        finally:
            closed.append("browser")
        return 0

    with pytest.raises(Terminated):
        run_async(command())
    assert closed == ["browser"]


def test_an_answer_is_passed_on() -> None:
    async def command() -> str:
        return "answer"

    assert run_async(command()) == "answer"
