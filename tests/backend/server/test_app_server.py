"""The gateway in this process: its server, and its memory."""

import asyncio
import os
import signal
import socket
import subprocess
import sys

import pytest

from attract.errors import ConfigurationError
from attract.processes.interrupt import Terminated
from attract.server.app_server import listen, run_async
from attract.server.in_process import running_gateway
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


async def test_what_is_written_goes_at_once_on_a_loop_that_is_not_uvloop() -> None:
    told: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def tell(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        found: socket.socket = writer.get_extra_info("socket")
        told.set_result(found.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()

    listening = listen("127.0.0.1", 0, port_is_fixed=True)
    async with await asyncio.start_server(tell, sock=listening):
        _, writer = await asyncio.open_connection(*listening.getsockname())
        assert await told != 0
        writer.close()


PROGRAM = """
import gc
from attract_benchmarks.harness.played_blocks import CARTPOLE, played_block
from attract.schema.frames import decode_from_browser, encode
from attract.server.app_server import settle_memory

frame = encode(played_block("run", list(range(96)), 64, CARTPOLE))
looks = []
gc.callbacks.append(lambda phase, info: phase == "start" and looks.append(info["generation"]))

def looks_at(num_blocks):
    looks.clear()
    kept = [decode_from_browser(frame) for _ in range(num_blocks)]
    return len(looks)

before = looks_at(100)
settle_memory()
print(before, looks_at(100), gc.get_freeze_count())
"""


def test_the_collector_does_not_look_while_blocks_come():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    before, after, frozen = (int(word) for word in done.stdout.split())
    assert before > 10
    assert after == 0
    assert frozen > 10_000
