"""SIGTERM where a command does not listen for it: it closes what it opened, and says so."""

import asyncio
import os
import signal
import socket

import pytest

from attract.errors import ConfigurationError
from attract.processes.interrupt import Terminated
from attract.server.in_process import run_async, running_gateway
from attract.settings.run import ServerSettings


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


async def test_a_busy_port_that_was_asked_for_is_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as busy:
        settings = ServerSettings(port=busy.getsockname()[1])
        with pytest.raises(ConfigurationError, match="--port") as caught:
            async with running_gateway(settings, port_is_fixed=True):
                pass
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("host", ["nohost.invalid", "192.0.2.1"])
async def test_a_host_that_is_not_this_machine_is_named_as_the_host(host: str) -> None:
    settings = ServerSettings(host=host, lan=True, port=0)
    with pytest.raises(ConfigurationError, match=f"^host: cannot listen on {host}:0: "):
        async with running_gateway(settings, port_is_fixed=True):
            pass
