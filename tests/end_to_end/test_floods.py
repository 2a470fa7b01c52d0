"""Floods of sockets beside an honest fleet: no 5xx, bounded memory, training goes on as fast."""

import asyncio
import contextlib
import json
import statistics
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import psutil
import pytest
import websockets
from tests.end_to_end import flooder as flooder_script
from tests.end_to_end.flooder import STATUS_SECONDS

from attract.schema import close_codes
from gateway_world import gateway
from killed_trainer import STEPS, start_trainer
from mutants_of_frames import golden_frames, mutants
from socket_fleet import SocketFleet

SEED = 20261122
MAX_MORE_BYTES = 64 << 20
MIN_SHARE = 0.9
"""Share of the honest fleet's throughput without the flood."""


@dataclass
class Window:
    """What happened in a few seconds."""

    seconds: float
    blocks: int
    """Accepted from the honest fleet."""
    gateway_seconds: float
    """Processor time."""
    flooder_seconds: float = 0.0
    num_sent: int = 0
    """The flood's messages."""

    @property
    def blocks_per_second(self) -> float:
        return self.blocks / self.seconds


@dataclass
class Flooded:
    """Windows in three states of the machine, and what the flood costs the gateway."""

    quiet: list[Window]
    flood: list[Window]
    control: list[Window]
    """Without a flood, but with as much processor time burnt beside the gateway as the flooder takes."""
    messages_per_second: float
    """Rate of the flood when nothing limits it."""

    @property
    def share_left(self) -> float:
        """What the flood leaves of the gateway's one core to honest work, whatever else the machine does.

        Its processor time beyond what its blocks cost in quiet, for each of the flood's messages, times so
        many messages as the flood sends in a second: on a machine that is busy it sends fewer.
        """
        quiet, flood = _sum(self.quiet), _sum(self.flood)
        a_block = quiet.gateway_seconds / quiet.blocks
        for_flood = flood.gateway_seconds - flood.blocks * a_block
        return 1 - for_flood / flood.num_sent * self.messages_per_second

    @property
    def share_of_control(self) -> float:
        """Throughput in the flood, of that with a burner in its place."""
        return _median(self.flood) / _median(self.control)


async def flooded(
    folder: Path, *, idle: int, active: int, slow: int, deaf: int, windows: int, seconds: float
) -> Flooded:
    """Run an honest fleet in quiet, beside a flood, beside a burner, and in quiet again."""
    trainer = await asyncio.to_thread(start_trainer, folder, {"total_steps": STEPS})
    origin = f"http://127.0.0.1:{trainer.port}"
    fleet = SocketFleet(
        url=f"ws://127.0.0.1:{trainer.port}/ws", token=trainer.token, origin=origin, plays=True
    )
    gateway = psutil.Process(trainer.pid)
    async with fleet.joined():
        await _versions(fleet, 20)
        quiet = [await _window(fleet, gateway, seconds) for _ in range(windows)]
        before = _own_bytes(gateway)
        numbers = tuple(map(str, (idle, active, slow, deaf)))
        async with _beside(str(trainer.port), trainer.token, *numbers) as flooder:
            await _versions(fleet, 5)
            flood = [await _window(fleet, gateway, seconds, flooder) for _ in range(windows)]
            last = await _asked(flooder)
            more = _own_bytes(gateway) - before
        share = _sum(flood).flooder_seconds / _sum(flood).seconds
        async with _beside("burn", f"{min(share, 1):.3f}"):
            control = [await _window(fleet, gateway, seconds) for _ in range(windows)]
        quiet += [await _window(fleet, gateway, seconds) for _ in range(windows)]
        trainer.kill()
    seen = Flooded(quiet, flood, control, active / STATUS_SECONDS)
    print(
        f"{idle} idle, {active} active, {slow} slow, {deaf} that never read: {last['open']} open at the end, "
        f"statuses {last['statuses']}, {more / 2**20:+.1f} MiB; blocks a second: {_median(flood):.1f} of "
        f"{_median(quiet):.1f} in quiet, {_median(control):.1f} beside a burner of {share:.2f} cores; the "
        f"flood ({_sum(flood).num_sent / _sum(flood).seconds:.0f} messages/s) leaves {seen.share_left:.1%} "
        "of the gateway"
    )
    assert last["statuses"].get("200", 0) > 0
    assert not [status for status in last["statuses"] if int(status) >= 500]
    assert last["open"] >= idle + active, "sockets that keep to the rules stay open"
    assert more <= MAX_MORE_BYTES
    return seen


@contextlib.asynccontextmanager
async def _beside(*arguments: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """A process of `flooder.py`, once it says that it is up, until the block ends."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, flooder_script.__file__, *arguments),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        assert await asyncio.wait_for(process.stdout.readline(), 400) == b"up\n"
        yield process
    finally:
        process.kill()
        await process.wait()


async def _asked(flooder: asyncio.subprocess.Process) -> dict[str, Any]:
    assert flooder.stdin is not None and flooder.stdout is not None
    flooder.stdin.write(b"\n")
    return json.loads(await asyncio.wait_for(flooder.stdout.readline(), 60))


async def _window(
    fleet: SocketFleet,
    gateway: psutil.Process,
    seconds: float,
    flooder: asyncio.subprocess.Process | None = None,
) -> Window:
    async def counts() -> tuple[float, int, float, float, int]:
        sent = 0 if flooder is None else int((await _asked(flooder))["sent"])
        burnt = 0.0 if flooder is None else _processor_seconds(psutil.Process(flooder.pid))
        return time.monotonic(), len(fleet.accepted), _processor_seconds(gateway), burnt, sent

    before = await counts()
    await asyncio.sleep(seconds)
    after = await counts()
    return Window(
        seconds=after[0] - before[0],
        blocks=after[1] - before[1],
        gateway_seconds=after[2] - before[2],
        flooder_seconds=after[3] - before[3],
        num_sent=after[4] - before[4],
    )


def _sum(windows: list[Window]) -> Window:
    return Window(*(sum(getattr(window, field.name) for window in windows) for field in fields(Window)))


def _median(windows: list[Window]) -> float:
    return statistics.median(window.blocks_per_second for window in windows)


def _processor_seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system


def _own_bytes(process: psutil.Process) -> int:
    """What it holds itself: pages of libraries that it came to touch are not the flood's."""
    memory = process.memory_info()
    return memory.rss - memory.shared


async def _versions(fleet: SocketFleet, number: int) -> None:
    """Wait until a worker has been given so many more versions: the honest go on."""
    wanted = max(fleet.policies, default=-1) + number
    async with asyncio.timeout(120), fleet.changed:
        await fleet.changed.wait_for(lambda: max(fleet.policies, default=-1) >= wanted)


@pytest.mark.long
@pytest.mark.timeout(600)
async def test_a_flood_of_sockets_costs_no_5xx_and_little_memory(tmp_path: Path) -> None:
    await flooded(tmp_path, idle=100, active=50, slow=10, deaf=5, windows=1, seconds=1.0)


@pytest.mark.soak
@pytest.mark.timeout(1800)
async def test_1000_idle_and_500_active_sockets_cost_no_5xx_and_no_speed(tmp_path: Path) -> None:
    seen = await flooded(tmp_path, idle=1000, active=500, slow=100, deaf=30, windows=7, seconds=3.0)
    assert seen.share_left >= MIN_SHARE
    assert seen.share_of_control >= MIN_SHARE


async def mutated(folder: Path, number: int) -> None:
    """Damaged frames through sockets, each sender anew once it was thrown out, beside an honest fleet."""
    codes: Counter[int | None] = Counter()
    async with gateway(folder) as world, world.fleet().joined() as fleet:
        view = await world.start(total_steps=STEPS)
        await _versions(fleet, 2)
        damaged = mutants(golden_frames(), number, SEED)
        flood = flooder_script.Flood(world.port, world.guard.issue("worker"))

        async def send() -> None:
            """Until there are no more."""
            while True:
                socket = await flood.join()
                try:
                    for data in damaged:
                        await socket.send(data)
                        # Given the time to be thrown out, else one sender would send all into a closed ear.
                        await asyncio.sleep(0)
                    return
                except websockets.ConnectionClosed:
                    codes[socket.close_code] += 1
                finally:
                    await socket.close()

        await asyncio.gather(*(send() for _ in range(16)))
        before = max(fleet.policies)
        await _versions(fleet, 3)
        assert (await world.client.get("/healthz")).status_code == 200
        assert world.service.view(view.run_id).state == "running", "no frame ends the run"
        assert fleet.refused == [] and max(fleet.policies) > before
        await world.service.abort()
    print(f"{number} damaged frames: {dict(codes)}")
    assert codes[close_codes.MALFORMED] > 0


# `make test` decodes damaged frames of every kind in contract/test_mutated_frames.py, and sends some through
# sockets in backend/server/test_sockets.py.
@pytest.mark.long
@pytest.mark.timeout(600)
async def test_damaged_frames_through_sockets_cost_their_senders_alone(tmp_path: Path) -> None:
    await mutated(tmp_path, 1000)


@pytest.mark.soak
@pytest.mark.timeout(7200)
async def test_100_000_damaged_frames_through_sockets_cost_their_senders_alone(tmp_path: Path) -> None:
    await mutated(tmp_path, 100_000)
