"""Floods of sockets beside an honest fleet: no 5xx, bounded memory, training goes on as fast."""

import asyncio
import json
import statistics
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import psutil
import pytest
import websockets

import flooder
from attract.schema import close_codes
from gateway_world import gateway
from killed_trainer import STEPS
from mutants_of_frames import golden_frames, mutants
from socket_fleet import SocketFleet
from trainer_zygote import Trainer, TrainerZygote

SEED = 20261122
MAX_MORE_BYTES = 64 << 20
MIN_SHARE = 0.9
"""Of the honest fleet's throughput without the flood."""


async def flooded(
    folder: Path, *, idle: int, active: int, slow: int, deaf: int, windows: int, seconds: float
) -> tuple[float, float]:
    """Median blocks a second of the honest fleet: with the flood, and before and after it."""
    with TrainerZygote() as zygote:
        trainer = await asyncio.to_thread(zygote.start, folder, {"total_steps": STEPS})
        origin = f"http://127.0.0.1:{trainer.port}"
        fleet = SocketFleet(
            url=f"ws://127.0.0.1:{trainer.port}/ws", token=trainer.token, origin=origin, plays=True
        )
        gateway = psutil.Process(trainer.pid)
        async with fleet.joined():
            await _versions(fleet, 20)
            quiet = await _speeds(fleet, windows, seconds)
            before = gateway.memory_info().rss
            told = await _flood(trainer, fleet, (idle, active, slow, deaf), windows, seconds)
            more = gateway.memory_info().rss - before
            quiet += await _speeds(fleet, windows, seconds)
            trainer.kill()
    during = told["speeds"]
    print(
        f"{idle} idle, {active} active, {slow} slow, {deaf} that never read: {told['open']} open at the end, "
        f"statuses {told['statuses']}, {more / 2**20:+.1f} MiB, "
        f"{statistics.median(during):.0f} of {statistics.median(quiet):.0f} blocks a second"
    )
    assert told["statuses"].get("200", 0) > 0
    assert not [status for status in told["statuses"] if int(status) >= 500]
    assert told["open"] >= idle + active, "sockets that keep to the rules stay open"
    assert more <= MAX_MORE_BYTES
    return statistics.median(during), statistics.median(quiet)


async def _flood(
    trainer: Trainer, fleet: SocketFleet, numbers: tuple[int, ...], windows: int, seconds: float
) -> dict[str, Any]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, flooder.__file__, str(trainer.port), trainer.token, *map(str, numbers)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None and process.stdout is not None
    try:
        assert await asyncio.wait_for(process.stdout.readline(), 240) == b"up\n"
        await _versions(fleet, 5)
        speeds = await _speeds(fleet, windows, seconds)
        process.stdin.close()
        return {**json.loads(await asyncio.wait_for(process.stdout.readline(), 60)), "speeds": speeds}
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def _versions(fleet: SocketFleet, number: int) -> None:
    """Wait until a worker has been given so many more versions: the honest go on."""
    wanted = max(fleet.policies, default=-1) + number
    async with asyncio.timeout(120), fleet.changed:
        await fleet.changed.wait_for(lambda: max(fleet.policies, default=-1) >= wanted)


async def _speeds(fleet: SocketFleet, windows: int, seconds: float) -> list[float]:
    """Accepted blocks a second in each of so many windows."""
    speeds: list[float] = []
    for _ in range(windows):
        before = len(fleet.accepted)
        await asyncio.sleep(seconds)
        speeds.append((len(fleet.accepted) - before) / seconds)
    return speeds


@pytest.mark.timeout(600)
async def test_a_flood_of_sockets_costs_no_5xx_and_little_memory(tmp_path: Path) -> None:
    await flooded(tmp_path, idle=100, active=50, slow=10, deaf=5, windows=1, seconds=1.0)


@pytest.mark.soak
@pytest.mark.timeout(1800)
async def test_1000_idle_and_500_active_sockets_cost_no_5xx_and_no_speed(tmp_path: Path) -> None:
    during, quiet = await flooded(tmp_path, idle=1000, active=500, slow=100, deaf=30, windows=7, seconds=3.0)
    assert during >= MIN_SHARE * quiet


async def mutated(folder: Path, number: int) -> None:
    """Damaged frames through sockets, each sender anew once it was thrown out, beside an honest fleet."""
    codes: Counter[int | None] = Counter()
    async with gateway(folder) as world, world.fleet().joined() as fleet:
        view = await world.start(total_steps=STEPS)
        await _versions(fleet, 2)
        damaged = mutants(golden_frames(), number, SEED)
        flood = flooder.Flood(world.port, world.guard.issue("worker"))

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


@pytest.mark.timeout(600)
async def test_damaged_frames_through_sockets_cost_their_senders_alone(tmp_path: Path) -> None:
    await mutated(tmp_path, 1000)


@pytest.mark.soak
@pytest.mark.timeout(7200)
async def test_100_000_damaged_frames_through_sockets_cost_their_senders_alone(tmp_path: Path) -> None:
    await mutated(tmp_path, 100_000)
