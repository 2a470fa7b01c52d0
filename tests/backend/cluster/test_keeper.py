"""One process after another: what it writes, how it ends, and that none is left."""

import asyncio
import signal
import socket
from pathlib import Path

import pytest

from attract import __version__
from attract.cluster import keeper as module
from attract.cluster.keeper import Line, ProcessKeeper, Said
from attract.cluster.plan import ChildOrder


async def end_of(keeper: ProcessKeeper) -> tuple[list[Line], int]:
    lines: list[Line] = []
    while True:
        said = await asyncio.wait_for(keeper.read(), 60)
        lines += said.lines
        if said.code is not None:
            return lines, said.code


async def test_what_a_command_writes_is_handed_on_with_its_exit_code(tmp_path: Path):
    keeper = ProcessKeeper()
    assert await keeper.read() == Said(is_there=False)
    await keeper.start(ChildOrder(("--version",), {}, str(tmp_path)))
    assert await end_of(keeper) == ([("stdout", __version__)], 0)
    # It stays so until the next one is started.
    assert (await keeper.read()).code == 0
    await keeper.start(ChildOrder(("join", "-"), {}, str(tmp_path), "nowhere\n"))
    lines, code = await end_of(keeper)
    assert code == 2 and lines[0] == ("stderr", "error: URL: 'nowhere' is not an http address")


async def test_a_command_hears_ctrl_c_though_its_keeper_does_not(tmp_path: Path):
    """Ray's workers block SIGINT, and what they start inherits that."""
    keeper = ProcessKeeper()
    waiting = ("join", "-", "--until-gone", "100")
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        await keeper.start(ChildOrder(waiting, {}, str(tmp_path), "http://127.0.0.1:9/#token=t\n"))
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
    said = Said()
    while not said.lines:
        said = await keeper.read()
    assert "trainer away, waiting" in said.lines[0][1]
    await keeper.signal(signal.SIGINT)
    assert (await end_of(keeper))[1] == 130


async def test_what_takes_too_long_to_end_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "END_SECONDS", 0.1)
    keeper = ProcessKeeper()
    await keeper.start(ChildOrder(("--version",), {}, str(tmp_path)))
    process = keeper._process
    assert process is not None
    process.send_signal(signal.SIGSTOP)
    await keeper.stop()
    assert process.returncode == -signal.SIGKILL
    assert await keeper.read() == Said(is_there=False)


async def test_ports_are_those_that_were_had_where_they_are_free():
    keeper = ProcessKeeper("10.0.0.7")
    place = await keeper.place(())
    assert place.address == "10.0.0.7" and place.port != place.master_port
    again = await keeper.place((place.port, place.master_port))
    assert again == place
    with socket.socket() as taken:
        taken.bind(("", 0))
        taken.listen()
        busy = taken.getsockname()[1]
        moved = await keeper.place((busy, place.master_port))
        assert busy not in (moved.port, moved.master_port)
